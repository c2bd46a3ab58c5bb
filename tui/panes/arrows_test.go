package panes_test

import (
	"testing"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/pane/clustermap"
	"kviz/tui/pane/store"
	"kviz/tui/tuitest"
)

// An arrow goes to what stands in its direction, by place: from a member down to the members below it, from the store left to the
// API server.
func TestArrowsGoByPlace(t *testing.T) {
	h := tuitest.Calm(3, 3).History()
	for _, c := range []struct {
		pane      func() pane.Pane
		w, h      int
		from, key string
		to        []string
	}{
		{func() pane.Pane { return clustermap.New() }, 80, 18, "member/a", keymap.Down, []string{"member/b", "member/c"}},
		{func() pane.Pane { return clustermap.New() }, 80, 18, "member/c", keymap.Left, []string{"process/apiserver"}},
		{func() pane.Pane { return clustermap.New() }, 80, 18, "member/c", keymap.Right, []string{"member/b"}},
		{func() pane.Pane { return clustermap.New() }, 80, 18, "member/c", keymap.Up, []string{"member/a"}},
		{func() pane.Pane { return clustermap.New() }, 80, 18, "process/apiserver", keymap.Down, []string{"node/node-2", "node/node-1"}},
		{func() pane.Pane { return clustermap.New() }, 80, 18, "node/node-2", keymap.Right, []string{"node/node-3"}},
		{func() pane.Pane { return clustermap.New() }, 120, 33, "member/c", keymap.Left, []string{"process/apiserver"}},
		{func() pane.Pane { return clustermap.New() }, 120, 33, "member/a", keymap.Down, []string{"member/b", "member/c"}},
		{func() pane.Pane { return clustermap.New() }, 120, 33, "process/controller-manager", keymap.Down, []string{"process/scheduler"}},
		{func() pane.Pane { return clustermap.New() }, 120, 33, "process/scheduler", keymap.Right, []string{"process/apiserver"}},
		{func() pane.Pane { return clustermap.New() }, 200, 53, "member/b", keymap.Left, []string{"member/c"}},
		{func() pane.Pane { return store.New() }, 80, 18, "member/a", keymap.Down, []string{"link/a-c", "link/a-b", "member/b", "member/c"}},
	} {
		host := pane.NewHost(c.pane(), "1")
		f := pane.Frame{S: h.Latest(), H: h, W: c.w - 3, Rows: c.h - 2, Focused: true, Live: true}
		draw := func() { host.Draw(grid.New(c.w, c.h), grid.Rect{W: c.w, H: c.h}, f) }
		draw()
		host.Put(c.from)
		draw()
		host.Move(c.key, &f)
		draw()
		got, ok := host.Under().ID, false
		for _, to := range c.to {
			ok = ok || got == to
		}
		if !ok {
			t.Errorf("%dx%d: %s from %s leads to %s, want one of %v", c.w, c.h, c.key, c.from, got, c.to)
		}
	}
}
