package main

import (
	"path/filepath"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui"
)

// What is saved of a branch is the branch: the run up to where it left, and what it did since.
// Its recording can be forked as any other.
func TestABranchSavedAndOpenedAgainIsTheSame(t *testing.T) {
	first, err := cluster.Boot(t.Context(), cluster.Config{Seed: 5, Bare: true, Demand: true})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := first.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := func(c *cluster.Cluster, line string) {
		t.Helper()
		var out strings.Builder
		if code := c.Console().Exec(t.Context(), line, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
			t.Fatalf("%s: %d\n%s", line, code, out.String())
		}
	}
	run(first, "kubectl apply -f manifests/hello.yaml")
	run(first, "sleep 5")
	past := all(first)
	at := trace.ID{Seq: past[len(past)-1].ID.Seq}

	forks := &branches{}
	again, err := forks.Fork(t.Context(), tui.Fork{Past: past, Of: "first run", At: at, Speed: control.Fastest, Progress: func(control.ForkProgress) {}})
	if err != nil {
		t.Fatal(err)
	}
	c := again.Cluster.(*cluster.Cluster)
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	run(c, "kubectl scale deployment hello-deploy -n demo --replicas=3")
	run(c, "sleep 5")
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	steady.Until(t, "it stands", func() bool { return c.Clock().Paused })
	path := filepath.Join(t.TempDir(), "branch.kvrun")
	if err := again.Save(path); err != nil {
		t.Fatal(err)
	}
	want := all(c)
	h, got, err := trace.ReadAll(path)
	if err != nil || len(got) != len(want) || len(got) <= len(past) {
		t.Fatalf("%d events of %d are read, %v", len(got), len(want), err)
	}
	if h.Seed != 5 || len(h.Inputs) != 1 || h.Inputs[0] != "fork first run --at "+at.String() {
		t.Errorf("its header says %+v", h)
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Kind != want[i].Kind || got[i].At != want[i].At || view.Explain(got[i]) != view.Explain(want[i]) {
			t.Fatalf("event %d is #%s %s: %s\nwant #%s %s: %s", i, got[i].ID, got[i].Kind, view.Explain(got[i]), want[i].ID, want[i].Kind, view.Explain(want[i]))
		}
	}
	end := trace.ID{Seq: got[len(got)-1].ID.Seq}
	third, err := forks.Fork(t.Context(), tui.Fork{Past: got, Of: "branch.kvrun", At: end, Speed: 1, Progress: func(control.ForkProgress) {}})
	if err != nil {
		t.Fatalf("the recording of the branch cannot be forked: %v", err)
	}
	if o := third.Cluster.(*cluster.Cluster).Trace(); o.Get(0) == nil {
		t.Error("its branch has no events")
	}
	if err := forks.end(&strings.Builder{}); err != nil {
		t.Error(err)
	}
}

// all are the events of a cluster.
func all(c *cluster.Cluster) []*trace.Event {
	var out []*trace.Event
	for at := uint64(0); ; {
		events, next, _ := c.Trace().Read(at, 4096)
		if len(events) == 0 {
			return out
		}
		out, at = append(out, events...), next
	}
}
