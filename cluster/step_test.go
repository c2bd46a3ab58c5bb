package cluster_test

import (
	"bytes"
	"slices"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// One write, message by message: between the leader's append and the commit the
// cluster stands several times, and nothing is committed before a follower has
// answered.
func TestStepThroughOneWrite(t *testing.T) {
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
		if err := c.Until(`event.kind == "api.stage" && event.payload.stage == "storage" && event.object.kind == "Namespace"`); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		exit := make(chan int, 1)
		go func() {
			exit <- c.Exec(ctx, "kubectl create namespace demo", control.Streams{Out: &out, Err: &out})
		}()
		stand(t, c, exit)
		from := standing(t, c)

		committed := func() bool {
			events, _, _ := c.Trace().Read(c.Trace().Search(trace.ID{Seq: from, Sub: 1}), 1<<16)
			return slices.ContainsFunc(events, func(e *trace.Event) bool { // a Lease may be under way beside it
				return e.Kind == trace.StoreCommit && e.Object.Kind == "Namespace"
			})
		}
		steps := 0
		for !committed() {
			if steps++; steps > 1000 {
				t.Fatalf("nothing is committed after %d steps", steps)
			}
			if err := c.Step(trace.GrainRaft); err != nil {
				t.Fatal(err)
			}
			// The step in which the write is committed ends at what a member does next, which
			// may belong to another write: the command may end in it.
			stand(t, c, nil)
		}
		if steps < 3 {
			t.Errorf("the write was done in %d steps, so its messages were not stepped one by one", steps)
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
		if code := <-exit; code != 0 {
			t.Fatalf("exit status %d\n%s", code, out.String())
		}
		// What members do is recorded as it comes in, so the order is looked at in the end.
		events, _, _ := c.Trace().Read(c.Trace().Search(trace.ID{Seq: from, Sub: 1}), 1<<16)
		var kinds []trace.Kind
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		if want := []trace.Kind{trace.RaftAppend, trace.RaftDeliver, trace.RaftReply, trace.RaftCommit}; !inOrder(kinds, want) {
			t.Errorf("the members' part of the write is not, in this order, %v", want)
		}
	})
}

// inOrder reports whether want stands in all, in order.
func inOrder[T comparable](all, want []T) bool {
	for _, k := range all {
		if len(want) > 0 && k == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
