package bench

import (
	"context"
	"runtime"
	"time"

	"kviz/cluster"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// IdleRow is what an idle cluster takes after some virtual time.
type IdleRow struct {
	Store  string
	After  time.Duration // virtual
	Events uint64        // that ever were
	Heap   float64       // MiB that are in use after a collection
	Own    float64       // MiB of memory that no file backs; 0 where the system does not tell
}

// idleLooks are the virtual times at which [Idle] looks.
var idleLooks = []time.Duration{time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour}

// Idle looks at the memory of a cluster of three nodes in which nothing happens but
// what always does, as fast as virtual time can pass, for so much of it.
func Idle(ctx context.Context, bare bool, long time.Duration, tell func(IdleRow)) error {
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Demand: true})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	row := IdleRow{Store: "raft"}
	if bare {
		row.Store = "mvcc"
	}
	p := c.Kernel().NewProcess(trace.Lane{Component: trace.CompSimulation})
	for _, at := range idleLooks {
		if at > long {
			break
		}
		if err := c.Kernel().Call(ctx, p, "idle", func(t *sim.Task) { t.Sleep(at - row.After) }); err != nil {
			return err
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		own, _, err := measured()
		if err != nil {
			return err
		}
		row.After, row.Events, row.Heap, row.Own = at, c.Trace().Len(), float64(m.HeapInuse)/(1<<20), float64(own.Own)/(1<<20)
		tell(row)
	}
	return nil
}
