package frame

import (
	"slices"

	"kviz/tui/action"
	"kviz/tui/layout"
)

// Zoom shows the focused pane alone, or all again.
func (f *Frame) Zoom() { f.in.Zoom, f.anew = !f.in.Zoom, true }

// Arrange puts the panes into an arrangement by its index.
func (f *Frame) Arrange(n int) action.Action {
	f.in.Preset, f.in.Zoom, f.in.Order, f.anew = n, false, nil, true
	if order := layout.Order(f.in); layout.Pictured(n) || !slices.Contains(order[:min(4, len(order))], f.in.Focus) {
		f.Focus(order[0])
	}
	p := layout.Presets[n]
	return action.Notice{Text: "layout: " + p.Name + ": " + p.Means}
}

// NextArrangement goes on to the next arrangement, or back.
func (f *Frame) NextArrangement(by int) action.Action {
	n := len(layout.Presets)
	return f.Arrange(((f.in.Preset+by)%n + n) % n)
}

// Put shows these panes before the others and gives the first of them the focus; none
// leaves the order to the arrangement.
func (f *Frame) Put(names []string) {
	f.in.Order = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return f.Pane(n) == nil })
	if len(f.in.Order) > 0 {
		f.in.Zoom = false
		f.Focus(f.in.Order[0])
	}
}

// Back takes back the filter of the focused pane, or else the zoom, and reports whether
// there was one.
func (f *Frame) Back() bool {
	switch {
	case f.Focused().Filter != "":
		f.SetFilter("")
	case f.in.Zoom:
		f.Zoom()
	default:
		return false
	}
	return true
}
