package apipipe

import (
	"fmt"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// A lesson points at one stage of one request: the mark that is there says whether it passed.
func TestMarksOfStages(t *testing.T) {
	h := tuitest.Story().History()
	host := pane.NewHost(New(), "")
	g := grid.New(80, 24)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	requests := New().requests(&pane.Frame{S: h.Latest(), H: h})
	if len(requests) == 0 {
		t.Fatal("the story has no request")
	}
	last := -1
	for _, st := range trace.Stages() {
		r, whole := host.Find(requestID(requests[0]) + "#" + st)
		if !whole || r.X <= last+1 {
			t.Errorf("the mark of %s is at %v, right of column %d and with room for a ring", st, r, last)
		}
		last = r.X
	}
	if r, whole := host.Find("stages"); !whole || r.Y != 1 {
		t.Errorf("the names of the stages are at %v", r)
	}
}

// It points at all that a stage changed, too.
func TestMarksOfChanges(t *testing.T) {
	tape := tuitest.Story()
	tape.Request(tuitest.Call{Verb: "create", Resource: "pods", Client: "kubectl", Admission: []trace.FieldDiff{
		{Path: "spec.priority", To: "0"}, {Path: "spec.serviceAccountName", To: `"default"`},
	}})
	h := tape.History()
	host := pane.NewHost(New(), "")
	g := grid.New(80, 60)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	r := New().requests(&pane.Frame{S: h.Latest(), H: h})[0]
	for i, run := range r.Stages {
		at, whole := host.Find(fmt.Sprintf("%s/%d/changes", requestID(r), i))
		if want := 1 + len(run.Diff); !whole || at.H != want {
			t.Errorf("%s with its changes is at %v, whole=%v; it takes %d rows", run.Stage.Stage, at, whole, want)
		}
	}
}
