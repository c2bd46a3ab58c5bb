package request

import (
	"context"
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// One user has a few parts computed at once; more of them wait, those of others do not.
func TestPartsOfOneUserWaitForOneAnother(t *testing.T) {
	k := sim.New(sim.Config{Seed: 1})
	p := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
	var parts Parts
	left := 3 * atOnce
	var reached, others int
	for range left {
		p.Go("one of many", func(task *sim.Task) {
			defer parts.begin(task, "jane")()
			reached = max(reached, parts.busy["jane"])
			task.Sleep(time.Second)
			left--
		})
	}
	p.Go("somebody else", func(task *sim.Task) {
		defer k.Stop()
		task.Sleep(time.Millisecond)
		parts.begin(task, "joe")()
		others = left
		for left > 0 {
			task.Sleep(time.Second)
		}
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if reached != atOnce {
		t.Errorf("%d parts at once, want %d", reached, atOnce)
	}
	if others != 3*atOnce {
		t.Error("another user had to wait")
	}
	if len(parts.busy) != 0 || parts.Begun() != 3*atOnce+1 {
		t.Errorf("%v are left, %d begun", parts.busy, parts.Begun())
	}
}
