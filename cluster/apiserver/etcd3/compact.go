package etcd3

import (
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/storage"
)

// Compact throws away the store's history, all but what is younger than one to two intervals,
// again and again, where leads says so: of several servers one does (apiserver
// pkg/storage/etcd3/compact.go). An interval of less than 0 is none.
func Compact(t *sim.Task, conn *storage.Conn, interval time.Duration, leads func() bool) {
	was := int64(0)
	for interval > 0 {
		now := conn.Revision()
		t.Sleep(interval)
		if now > was && leads() {
			if err := conn.Compact(t, now); err == nil {
				was = now
			}
		}
	}
}
