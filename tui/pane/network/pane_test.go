package network

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
		tuitest.Case{Name: "packet", W: 90, H: 34, Moves: []string{keymap.Down, keymap.Down, keymap.Down, keymap.Down}},
		tuitest.Case{Name: "diff", W: 90, H: 20, Kind: trace.ProxySync, N: 1, Moves: []string{"do net.part"}},
	)
}
