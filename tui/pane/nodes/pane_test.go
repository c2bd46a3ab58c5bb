package nodes

import (
	"fmt"
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

// A node that is off and still said to be ready, and one that is cut off and said to be lost: both sides.
func TestBelief(t *testing.T) {
	for name, tape := range map[string]*tuitest.Tape{"dead": tuitest.NodeDead(), "lost": tuitest.NodeLost()} {
		h := tape.History()
		for _, size := range [][2]int{{78, 18}, {118, 34}} {
			p := New()
			f := &pane.Frame{S: h.Latest(), H: h}
			p.node.Next(h.Latest().Node("node-1"), f)
			tuitest.Golden(t, fmt.Sprintf("belief-%s-%d", name, size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
		}
	}
}

// The claims whose volumes are attached to the node are a row each.
func TestVolumes(t *testing.T) {
	h := tuitest.Disks().History()
	for _, w := range []int{78, 118} {
		tuitest.Golden(t, fmt.Sprintf("volumes-%d", w), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), w, 20)))
	}
}
