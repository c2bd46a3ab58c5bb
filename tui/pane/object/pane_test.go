package object

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells, and at every size.
func TestPane(t *testing.T) {
	tuitest.Frames(t, func() pane.Pane { return New() },
		tuitest.Case{Name: "pod", W: 76, H: 30},
		tuitest.Case{Name: "yaml", W: 76, H: 30, Moves: []string{"do object.part"}},
		tuitest.Case{Name: "deployment", W: 76, H: 30, Kind: trace.ReconcileAction, N: 1},
	)
}
