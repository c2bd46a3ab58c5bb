package scheduler

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
		tuitest.Case{Name: "scores", W: 100, H: 24, Kind: trace.SchedDecision, N: 1},
		tuitest.Case{Name: "pending", W: 76, H: 24, Moves: []string{keymap.Down, keymap.Right}},
		tuitest.Case{Name: "narrow", W: 40, H: 20, Kind: trace.SchedDecision, N: 2},
	)
}
