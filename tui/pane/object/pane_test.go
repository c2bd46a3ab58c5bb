package object

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// TestPane draws the pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	h := tuitest.Story().History()
	for _, c := range []struct {
		name  string
		w, h  int
		kind  trace.Kind
		n     int
		moves []string
	}{
		{"pod", 76, 30, "", 0, []string{}},
		{"yaml", 76, 30, "", 0, []string{"do object.part"}},
		{"deployment", 76, 30, trace.ReconcileAction, 1, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tuitest.Pane(New(), h, tuitest.When(h, c.kind, c.n), c.w, c.h, c.moves...)
			tuitest.Golden(t, c.name, tuitest.Planes(g))
		})
	}
}
