package cluster_test

import (
	"runtime"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A cluster at rest renews Leases, reports and compacts for ever. When its trace is as
// long as it may be, nothing else grows.
func TestAClusterAtRestDoesNotGrow(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Bare: true, Nodes: 1, Limit: 4096})
		p := c.Kernel().NewProcess(trace.Lane{Component: trace.CompSimulation})
		after := func(d time.Duration) uint64 {
			if err := c.Kernel().Call(t.Context(), p, "rest", func(tk *sim.Task) { tk.Sleep(d) }); err != nil {
				t.Fatal(err)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // what had finalizers
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := after(30 * time.Minute)
		if events := c.Trace().Len(); events < 3*4096 {
			t.Fatalf("only %d events in half an hour: the trace may not be full", events)
		}
		now := after(3 * time.Hour)
		if now > before+3<<20 {
			t.Errorf("%d KiB after half an hour, %d KiB three hours later", before>>10, now>>10)
		}
	})
}
