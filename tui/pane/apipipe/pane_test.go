package apipipe

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells, and at every size.
func TestPane(t *testing.T) {
	tuitest.Frames(t, func() pane.Pane { return New() },
		tuitest.Case{Name: "stage", W: 76, H: 30, Kind: trace.RequestStage, N: 60},
		tuitest.Case{Name: "refused", W: 110, H: 36, Moves: []string{keymap.Down, keymap.Down, keymap.Down, keymap.Down}},
	)
}
