package clustermap_test

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/pane"
	"kviz/tui/trail"
	"kviz/tui/tuitest"
)

// along is the map of a history at a position, with the way of the newest command on it.
func along(t *testing.T, name string, h *view.History, to uint64) {
	t.Helper()
	var way trail.Trail
	way.Update(h.Stream(), h.Stream().Len(), h.Latest())
	s := h.At(to - 1)
	moment(t, name, pane.Frame{S: s, H: h, Path: way.Update(h.Stream(), to, s)})
}

// A command halfway, walked again: what it has passed, where it is, and what is to come.
func TestPathAhead(t *testing.T) {
	h := tuitest.Story().History()
	for to := uint64(0); to < h.Stream().Len(); to++ {
		if e := h.Stream().Get(to); e.Kind == trace.ReconcileAction && e.Lane.Component == "deployment-controller" {
			along(t, "path-ahead", h, to+1)
			return
		}
	}
	t.Fatal("in the story the deployment controller does nothing")
}

// A command whose last station was long ago says what holds it.
func TestPathHeld(t *testing.T) {
	h := tuitest.Unplaced().History()
	along(t, "path-held", h, h.Stream().Len())
}
