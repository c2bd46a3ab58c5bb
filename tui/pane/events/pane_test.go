package events

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
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
		{"narrow", 50, 20, "", 0, []string{}},
		{"lanes", 110, 24, trace.StoreCommit, 12, []string{keymap.Up, keymap.Up, keymap.Up}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tuitest.Pane(New(), h, tuitest.When(h, c.kind, c.n), c.w, c.h, c.moves...)
			tuitest.Golden(t, c.name, tuitest.Planes(g))
		})
	}
}
