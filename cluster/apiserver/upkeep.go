package apiserver

import (
	"time"

	"kviz/cluster/sim"
)

// compactEvery is kube-apiserver's --etcd-compaction-interval.
const compactEvery = 5 * time.Minute

// compact throws away the store's history, all but the last five to ten
// minutes (apiserver pkg/storage/etcd3/compact.go).
func (s *Server) compact(t *sim.Task) {
	was := int64(0)
	for {
		now := s.st.Revision()
		t.Sleep(compactEvery)
		if now > was && s.compacts() {
			if err := s.st.Compact(t, now); err == nil {
				was = now
			}
		}
	}
}
