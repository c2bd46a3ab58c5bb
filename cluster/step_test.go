package cluster_test

import (
	"bytes"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// One write, message by message: between the leader's append and the commit the
// cluster stands several times, and nothing is committed before a follower has
// answered.
func TestStepThroughOneWrite(t *testing.T) {
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

	var stands []trace.Kind // what was new in each stand, the last of it
	seen := uint64(0)
	committed := func() bool {
		events, _, _ := c.Trace().Read(c.Trace().Search(trace.ID{Seq: from, Sub: 1}), 1<<16)
		done := false
		for _, e := range events[min(seen, uint64(len(events))):] {
			if e.Kind == trace.RaftAppend || e.Kind == trace.RaftDeliver || e.Kind == trace.RaftReply || e.Kind == trace.RaftCommit || e.Kind == trace.StoreCommit {
				if n := len(stands); n == 0 || stands[n-1] != e.Kind {
					stands = append(stands, e.Kind)
				}
			}
			done = done || e.Kind == trace.StoreCommit
		}
		seen = uint64(len(events))
		return done
	}
	steps := 0
	for !committed() {
		if steps++; steps > 60 {
			t.Fatalf("nothing is committed after %d steps: %v", steps, stands)
		}
		if err := c.Step(trace.GrainRaft); err != nil {
			t.Fatal(err)
		}
		stand(t, c, exit)
		<-time.After(40 * time.Millisecond) // as a finger does: members act in real time
	}
	if steps < 3 {
		t.Errorf("the write was done in %d steps, so its messages were not stepped one by one", steps)
	}
	if want := []trace.Kind{trace.RaftAppend, trace.RaftDeliver, trace.RaftReply, trace.RaftCommit, trace.StoreCommit}; !inOrder(stands, want) {
		t.Errorf("the write went %v, want in this order %v", stands, want)
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	if code := <-exit; code != 0 {
		t.Fatalf("exit status %d\n%s", code, out.String())
	}
}

// inOrder reports whether want stands in all, in order.
func inOrder(all, want []trace.Kind) bool {
	for _, k := range all {
		if len(want) > 0 && k == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
