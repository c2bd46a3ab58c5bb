package events

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "narrow", W: 50, H: 20},
		tuitest.Case{Name: "lanes", W: 110, H: 24, Kind: trace.StoreCommit, N: 12, Moves: []string{keymap.Up, keymap.Up, keymap.Up}},
	)
}
