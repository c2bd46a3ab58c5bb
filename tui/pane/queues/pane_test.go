package queues

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
		tuitest.Case{Name: "taken", W: 76, H: 24, Kind: trace.QueueGet, N: 2},
		tuitest.Case{Name: "end", W: 76, H: 30, Moves: []string{keymap.Down}},
	)
}
