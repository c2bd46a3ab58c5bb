package queues

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/grid"
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

// The flow at the top follows the cursor: each controller's caches, keys, worker, and what
// was asked of the API server.
func TestFlow(t *testing.T) {
	h := tuitest.Story().History()
	for _, size := range [][2]int{{78, 24}, {118, 38}} {
		first := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
		tuitest.Golden(t, fmt.Sprintf("flow-%d", size[0]), tuitest.Planes(first))
		for _, want := range []string{"watch ▶ cache", "queue ", "worker ▶ API server"} {
			if !strings.Contains(first.Plane(), want) {
				t.Errorf("%v: no %q", size, want)
			}
		}
		seen := map[string]bool{}
		for downs := range 12 {
			moves := make([]string, downs)
			for i := range moves {
				moves[i] = keymap.Down
			}
			g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1], moves...)
			head := strings.Split(g.Plane(), "\n")[1]
			seen[strings.Fields(head[strings.Index(head, "queue "):])[1]] = true
		}
		for _, want := range []string{"deployment", "endpointslice", "replicaset"} {
			if !seen[want] {
				t.Errorf("%v: the cursor never brought the flow of %s, but %v", size, want, seen)
			}
		}
	}
}

// A lesson can point at a run with all that it did.
func TestMarkOfARun(t *testing.T) {
	h := tuitest.Story().History()
	host := pane.NewHost(New(), "")
	g := grid.New(80, 60)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	const id = "run/replicaset/demo/web-7f9c"
	row, whole := host.Find(id)
	all, too := host.Find(id + "/actions")
	if !whole || !too || all.Y != row.Y || all.H <= row.H {
		t.Errorf("the run is at %v, with what it did at %v", row, all)
	}
}
