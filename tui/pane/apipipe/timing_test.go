package apipipe

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// What the stages and the answer of a request took comes to what the request took, with nothing
// between them.
func TestStagesAreTheWholeTimeOfARequest(t *testing.T) {
	looked := 0
	for _, r := range tuitest.Story().History().Latest().Requests() {
		if len(r.Stages) == 0 {
			continue
		}
		looked++
		at := r.At
		for _, s := range r.Spans() {
			if s.From != at || s.To < s.From {
				t.Errorf("request %d: %s from %s to %s, after %s", r.Request.Request, s.What, s.From, s.To, at)
			}
			at = s.To
		}
		if at != r.At+r.Took {
			t.Errorf("request %d took %s, its stages %s", r.Request.Request, r.Took, at-r.At)
		}
	}
	if looked == 0 {
		t.Error("no request was looked at")
	}
}

// The detail is that of the request under the cursor; when one walks on to another request's
// event, it is that one's.
func TestTheDetailFollowsTheWalk(t *testing.T) {
	h := tuitest.Story().History()
	p := New()
	host := pane.NewHost(p, "")
	for n := 60; n < 160; n += 9 {
		s, g := tuitest.When(h, trace.RequestStage, n), grid.New(100, 30)
		want := s.Request(view.RequestOf(s.Event))
		host.Draw(g, grid.Rect{W: 100, H: 30}, pane.Frame{S: s, H: h, Focused: true})
		if got := p.chosen(&pane.Frame{S: s, H: h, Focused: true, Cursor: p.cursor}, s.Requests()); got != want {
			t.Errorf("after stage %d the detail is of %v, not of %v", n, got.Path, want.Path)
		}
	}
}
