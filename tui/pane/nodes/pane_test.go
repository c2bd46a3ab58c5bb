package nodes

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "starting", W: 76, H: 24, Kind: trace.CRICall, N: 2},
		tuitest.Case{Name: "crash", W: 110, H: 24},
	)
}
