package store

import (
	"slices"
	"testing"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// What a lesson shows of the keys: names that have keys below them, keys with their numbers, one
// key with its value, and one that there is not.
func TestKeysOnTheStage(t *testing.T) {
	const pod = "/registry/pods/demo/web-7f9c-k2x9p"
	h := tuitest.StoreStory().History()
	for _, c := range []struct {
		name, path string
		marks      []string
	}{
		{"branches", "/registry", []string{"key//registry/pods", "revision"}},
		{"table", "/registry/pods/demo", []string{"key/" + pod, "key/" + pod + "#create", "key/" + pod + "#mod", "key/" + pod + "#version"}},
		{"key", pod, []string{"value", "create", "mod", "version", "lease"}},
		{"none", "/registry/pods/demo/nobody", []string{"value"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, host := onStage("keys/"+c.path, h.Latest(), 80, 14)
			for _, m := range c.marks {
				if r, whole := host.Find(m); !whole || r.X < 2 || r.X+r.W > 78 {
					t.Errorf("there is no room for a ring around %q, at %v; there are %q", m, r, host.Things())
				}
			}
			tuitest.Golden(t, "staged-keys-"+c.name, tuitest.Planes(g))
		})
	}
	if _, host := onStage("keys//registry", h.Latest(), 80, 14); slices.Contains(host.Things(), "value") {
		t.Error("there are keys below /registry, but it says that there are none")
	}
}

func onStage(show string, s *view.State, w, h int) (*grid.Grid, *pane.Host) {
	host := pane.NewHost(New(), "")
	host.ShowView(show)
	g := grid.New(w, h)
	host.Draw(g, g.Area().R, pane.Frame{S: s, Stage: true})
	return g, host
}
