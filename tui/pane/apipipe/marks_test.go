package apipipe

import (
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
