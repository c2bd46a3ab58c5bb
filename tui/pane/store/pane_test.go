package store

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
		tuitest.Case{Name: "election", W: 76, H: 24, Kind: trace.RaftVote, N: 2},
		tuitest.Case{Name: "write", W: 76, H: 24, Kind: trace.RaftDurable, N: 8},
		tuitest.Case{Name: "end", W: 76, H: 40, Moves: []string{keymap.Down, keymap.Right}},
	)
}
