package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Pause means pause: in the middle of an apply nothing moves however long one
// looks, not the trace, not the term; a step is one event; and when the cluster
// runs again the apply completes.
func TestPauseInTheMiddleOfAnApply(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		ctx := t.Context()
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 3, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Speed(1); err != nil {
			t.Fatal(err)
		}
		if err := c.Until(`event.kind == "api.stage" && event.payload.stage == "storage" && event.object.kind == "Deployment"`); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		exit := make(chan int, 1)
		go func() {
			exit <- c.Exec(ctx, "kubectl apply -f manifests/hello.yaml", control.Streams{Out: &out, Err: &out})
		}()

		stand(t, c, exit)
		before, term := standing(t, c), termOf(c)
		time.Sleep(time.Hour)
		if now := standing(t, c); now != before {
			t.Fatalf("the trace moved from #%d to #%d while the cluster stood", before, now)
		}
		if now := termOf(c); now != term {
			t.Fatalf("term %d became %d while the cluster stood", term, now)
		}

		for i := range 5 {
			if err := c.Step(trace.GrainStage); err != nil {
				t.Fatal(err)
			}
			stand(t, c, exit)
			now := standing(t, c)
			if coarse := since(c, before); coarse != 1 {
				t.Fatalf("step %d: %d events of the grain or coarser, want 1", i, coarse)
			}
			before = now
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
		if code := <-exit; code != 0 {
			t.Fatalf("exit status %d\n%s", code, out.String())
		}
	})
}

func termOf(c *cluster.Cluster) uint64 {
	var newest uint64
	for _, m := range c.Raft().Members() {
		newest = max(newest, m.Term)
	}
	return newest
}

// stand waits until the cluster stands.
func stand(t *testing.T, c *cluster.Cluster, exit <-chan int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			dump(t, c, 60)
		}
	}()
	steady.Until(t, "the cluster stands", func() bool {
		paused := false
		if err := c.Kernel().Do(func() { paused = c.Kernel().Paused() }); err != nil {
			t.Fatal(err)
		}
		if paused {
			return true
		}
		select {
		case code := <-exit:
			t.Fatalf("the command ended with exit status %d before the cluster stood", code)
		default:
		}
		return false
	})
}

// standing is the number of the newest control-plane event.
func standing(t *testing.T, c *cluster.Cluster) uint64 {
	t.Helper()
	var seq uint64
	if err := c.Kernel().Do(func() { seq = c.Kernel().Last().Seq }); err != nil {
		t.Fatal(err)
	}
	return seq
}

// since counts the control-plane events after seq at the grain of an API stage
// or coarser.
func since(c *cluster.Cluster, seq uint64) int {
	events, _, _ := c.Trace().Read(c.Trace().Search(trace.ID{Seq: seq + 1}), 1<<16)
	n := 0
	for _, e := range events {
		if !e.Outside() && e.Grain() >= trace.GrainStage {
			n++
		}
	}
	return n
}

// While the cluster stands, a fault that the store has to agree on waits, and whoever asked
// for it can stop waiting; it is done when the cluster goes on. One that needs nobody's
// agreement is done at once.
func TestFaultsOfAClusterThatStands(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, NoSync: true, Nodes: 1})
		for _, f := range []control.Fault{
			{Name: "compact", Target: "store"},
			{Name: "disarm", Target: "store"},
			{Name: "add-learner", Target: "store"},
		} {
			if err := c.Pause(); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
			if err := c.Fault(t.Context(), control.Fault{Name: "snapshot", Target: "member/a"}); err != nil {
				t.Errorf("snapshot: %v", err)
			}
			from := mark(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			if err := c.Fault(ctx, f); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s while the cluster stands: %v", f.Name, err)
			}
			cancel()
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
			done := func(e *trace.Event) bool {
				p, ok := e.Payload.(*trace.Fault)
				return ok && p.Fault == f.Name
			}
			steady.Until(t, f.Name+" is done", func() bool { return slices.ContainsFunc(after(t, c, from), done) })
		}
	})
}
