package clustermap_test

import (
	"fmt"
	"testing"
	"time"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/pane/clustermap"
	"kviz/tui/tuitest"
)

// sizes are the insides of the usual screens that the map has to itself.
var sizes = [][2]int{{80, 18}, {120, 33}, {200, 53}}

// moment compares the map of a state, and what moves on it, at every size with its golden
// files, the middle one without colour too.
func moment(t *testing.T, name string, f pane.Frame) {
	t.Helper()
	for _, size := range sizes {
		g := grid.New(size[0], size[1])
		f := f
		f.W, f.Rows, f.Focused, f.Live = size[0]-3, size[1]-2, true, true
		pane.NewHost(clustermap.New(), "1").Draw(g, grid.Rect{W: size[0], H: size[1]}, f)
		tuitest.Golden(t, fmt.Sprintf("moments/%s-%d", name, size[0]), tuitest.Planes(g))
		if size[0] == 120 {
			tuitest.Golden(t, fmt.Sprintf("moments/%s-%d-none", name, size[0]), tuitest.Colourless(t, g))
		}
	}
}

// What a cluster looks like in the moments that the map is there for.
func TestMoments(t *testing.T) {
	for name, tape := range map[string]*tuitest.Tape{
		"rest":           tuitest.Calm(3, 3),
		"leader-dead":    tuitest.LeaderDead(),
		"no-quorum-1s":   tuitest.QuorumLost(time.Second),
		"no-quorum-12s":  tuitest.QuorumLost(12 * time.Second),
		"no-quorum-60s":  tuitest.QuorumLost(60 * time.Second),
		"node-lost":      tuitest.NodeLost(),
		"node-dead":      tuitest.NodeDead(),
		"five-members":   tuitest.Calm(5, 3),
		"split":          tuitest.Split(),
		"thirty-nodes":   tuitest.Crowd(30),
		"thousand-nodes": tuitest.Crowd(1000),
	} {
		t.Run(name, func(t *testing.T) {
			h := tape.History()
			moment(t, name, pane.Frame{S: h.Latest(), H: h})
		})
	}
}
