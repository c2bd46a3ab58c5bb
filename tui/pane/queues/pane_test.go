package queues

import (
	"fmt"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "taken", W: 76, H: 24, Kind: trace.QueueGet, N: 2},
		tuitest.Case{Name: "end", W: 76, H: 30, Moves: []string{keymap.Down}},
	)
}

// The caches that controllers decide by, beside what the store has.
func TestInformers(t *testing.T) {
	h := tuitest.WatchStory().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("informers-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do queues.part")))
	}
}
