package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "election", W: 76, H: 24, Kind: trace.RaftVote, N: 2},
		tuitest.Case{Name: "write", W: 76, H: 24, Kind: trace.RaftDurable, N: 8},
		tuitest.Case{Name: "end", W: 76, H: 40, Moves: []string{keymap.Down, keymap.Right}},
	)
}

// Every other view of the pane, at the sizes that every pane is looked at, after
// the store's own story.
func TestViews(t *testing.T) {
	h := tuitest.StoreStory().History()
	pod := "key//registry/pods/demo/web-7f9c-k2x9p"
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		for _, v := range New().Info().Views {
			name := v.Name
			if name == "picture" { // picture_test.go has it
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				p := New()
				p.ShowView(name)
				if name == "keys" {
					p.value = value{key: strings.TrimPrefix(pod, "key/")}
				}
				tuitest.Golden(t, fmt.Sprintf("view-%s-%d", name, size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
			})
		}
	}
	t.Run("bytes", func(t *testing.T) {
		p := New()
		p.ShowView("keys")
		p.value = value{key: strings.TrimPrefix(pod, "key/"), raw: true}
		g := tuitest.Pane(p, h, h.Latest(), 118, 38)
		tuitest.Golden(t, "view-bytes", tuitest.Planes(g))
		tuitest.Golden(t, "view-bytes-none", tuitest.Colourless(t, g))
		if !strings.Contains(g.Plane(), "6b 38 73 00") {
			t.Error("the bytes of a Pod do not begin with k8s and a zero byte")
		}
	})
}

// The chart with the leader's disk slow: what is below rises first. At the sizes that
// every pane is looked at, and with a coarser scale.
func TestCascade(t *testing.T) {
	h := tuitest.CascadeStory().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		p := New()
		g := tuitest.Pane(p, h, h.Latest(), size[0], size[1], "do store.cascade")
		tuitest.Golden(t, fmt.Sprintf("cascade-%d", size[0]), tuitest.Planes(g))
		if size[0] == 118 {
			tuitest.Golden(t, "cascade-118-none", tuitest.Colourless(t, g))
		}
		if strings.Count(g.Plane(), "╎") < 2 { // and once in the legend
			t.Error("that many keys were ready for a moment is not on the chart")
		}
		if !strings.Contains(g.Plane(), "▼ first high") {
			t.Error("the chart does not tell in which order the measures rose")
		}
		coarse := tuitest.Pane(p, h, h.Latest(), size[0], size[1], "do store.step")
		if !strings.Contains(coarse.Plane(), "each column 5s") {
			t.Error("S does not change the scale")
		}
		if back := tuitest.Pane(p, h, h.Latest(), size[0], size[1], "do store.cascade"); strings.Contains(back.Plane(), "queue depth") {
			t.Error("c does not lead back from the chart")
		}
	}
	var order []string
	for _, f := range h.Latest().Cascade(60, time.Second).Risen() {
		order = append(order, f.Name)
	}
	if got, want := strings.Join(order, ", "), "fsync p99, commit p99, API p99, timeouts, queue depth"; got != want {
		t.Errorf("they rose in the order %s; want %s", got, want)
	}
}
