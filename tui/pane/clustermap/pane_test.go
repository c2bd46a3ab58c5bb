package clustermap

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
		tuitest.Case{Name: "end", W: 60, H: 24},
		tuitest.Case{Name: "boot", W: 44, H: 14, Kind: trace.MemberRole, N: 4},
		tuitest.Case{Name: "cursor", W: 80, H: 20, Moves: []string{keymap.Down, keymap.Down, keymap.Down}},
	)
}
