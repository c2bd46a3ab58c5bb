package clustermap

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/tuitest"
)

// A click on a line puts the cursor on what went over it last, and enter opens the list in which
// that stands: requests, watches, the messages of members.
func TestALineIsClicked(t *testing.T) {
	for _, size := range [][2]int{{80, 18}, {120, 33}, {200, 53}, {62, 12}} {
		m := New()
		host, g, r := pane.NewHost(m, "1"), grid.New(size[0], size[1]), grid.Rect{W: size[0], H: size[1]}
		h := tuitest.Story().History()
		f := pane.Frame{S: h.Latest(), H: h, Focused: true, W: size[0] - 3, Rows: size[1] - 2}
		host.Draw(g, r, f)
		click := func(from, to string) (on pane.Subject, again bool) {
			t.Helper()
			i, _, ok := m.scene.Way(from, to)
			if !ok {
				t.Fatalf("%v: no line from %s to %s", size, from, to)
			}
			cells := m.scene.Edges[i].Cells
			c := cells[len(cells)/2]
			for _, alone := range cells { // where no other line lies on it, if there is such a cell
				if len(m.linesAt(alone.X, alone.Y)) == 1 {
					c = alone
				}
			}
			again = host.Click(c.X+1, c.Y+1, &f)
			host.Draw(g, r, f)
			return host.Under(), again
		}
		for _, line := range []struct {
			from, to, pane, do string
			kinds              []trace.Kind
		}{
			{scene.You, scene.APIServer, "api", pane.Requests, []trace.Kind{trace.RequestReceived, trace.RequestDone}},
			{scene.Controllers, scene.APIServer, "api", "", []trace.Kind{trace.RequestReceived, trace.RequestDone, trace.WatchDelivered}},
			{"member/a", "member/b", "store", pane.Members, nil},
		} {
			if _, _, ok := m.scene.Way(line.from, line.to); !ok || size[0] == 62 && line.do != pane.Members {
				continue // in the strip the lines of who asks are one
			}
			on, again := click(line.from, line.to)
			if !strings.HasPrefix(on.ID, "line/") || again {
				t.Errorf("%v: a click on the line from %s to %s finds %q, again %v", size, line.from, line.to, on.ID, again)
				continue
			}
			if e := h.Event(on.Event); line.kinds != nil && (e == nil || !has(line.kinds, e.Kind)) {
				t.Errorf("%v: the last over the line from %s to %s is %v", size, line.from, line.to, e)
			}
			to, _ := m.Do(keymap.Open, on, &f).(action.Focus)
			if to.Pane != line.pane || line.do != "" && to.Do != line.do {
				t.Errorf("%v: the line from %s to %s opens %+v", size, line.from, line.to, to)
			}
			if _, again := click(line.from, line.to); !again {
				t.Errorf("%v: a second click is the first once more", size)
			}
		}
		stops := len(host.Things())
		host.Put(scene.APIServer)
		host.Draw(g, r, f)
		if now := len(host.Things()); now >= stops {
			t.Errorf("%v: the line is still a stop after the cursor has left it", size)
		}
		host.Click(0, 0, &f)
		if host.Draw(g, r, f); strings.HasPrefix(host.Under().ID, "line/") {
			t.Errorf("%v: a click beside everything is on a line", size)
		}
	}
}

func has(kinds []trace.Kind, k trace.Kind) bool {
	for _, x := range kinds {
		if x == k {
			return true
		}
	}
	return false
}
