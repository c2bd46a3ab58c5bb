package apipipe

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
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
	for _, moved := range []bool{false, true} {
		p := New()
		host := pane.NewHost(p, "")
		for n := 60; n < 160; n += 9 {
			s := tuitest.When(h, trace.RequestStage, n)
			f := pane.Frame{S: s, H: h, Focused: true, W: 97, Rows: 28}
			host.Draw(grid.New(100, 30), grid.Rect{W: 100, H: 30}, f)
			f.Cursor, f.Placed = p.cursor, moved && n > 60
			if got, want := p.chosen(&f, s.Requests()), s.Request(view.RequestOf(s.Event)); got != want {
				t.Errorf("moved %t: after stage %d the detail is of %v, not of %v", moved, n, got.Path, want.Path)
			}
			if moved && n == 60 {
				host.Move(keymap.Down, &f)
				f.Placed = true
				host.Draw(grid.New(100, 30), grid.Rect{W: 100, H: 30}, f)
				f.Cursor = p.cursor
				if got := p.chosen(&f, s.Requests()); requestID(got) != p.cursor {
					t.Errorf("the cursor is on %s, the detail of %s", p.cursor, requestID(got))
				}
			}
		}
	}
}
