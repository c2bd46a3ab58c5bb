package frame

import (
	"fmt"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/theme"
)

// drawTabs draws the names of all panes where not all are on the screen.
func (f *Frame) drawTabs(a grid.Area) {
	if a.H() == 0 {
		return
	}
	a.Clear()
	x := 0
	for i, t := range f.tabs(a.W()) {
		st, key := theme.Muted, theme.Key
		if f.out.Shows(f.panes[i].Name) {
			st = theme.Text
		}
		if f.panes[i].Name == f.in.Focus {
			st, key = theme.Title|grid.Selected, theme.Key|grid.Selected
		}
		a.Text(x, 0, t[:2], key)
		a.Text(x+2, 0, t[2:], st)
		x += len(t) + 1
	}
	if p := layout.Presets[f.in.Preset].Name; x+len(p)+10 < a.W() {
		a.Right(a.W()-1, 0, "layout "+p, theme.Muted)
	}
}

// tabs are the labels of the tabs, such as " 1map", in so many columns: the names are
// cut where they are too long together.
func (f *Frame) tabs(columns int) []string {
	label := func(most int) (all []string, width int) {
		for i, p := range f.panes {
			t := fmt.Sprintf("%2s", keymap.PaneKey(i)) + p.Name[:min(most, len(p.Name))]
			all, width = append(all, t), width+len(t)+1
		}
		return all, width
	}
	for most := 12; ; most-- {
		if all, width := label(most); width <= columns || most == 1 || most <= 5 && len(f.panes) <= 9 {
			return all
		}
	}
}

// TabAt is the pane whose tab is at a column of the screen, or "".
func (f *Frame) TabAt(col int) string {
	from := f.out.Tabs.X
	for i, t := range f.tabs(f.out.Tabs.W) {
		if col >= from && col <= from+len(t) {
			return f.panes[i].Name
		}
		from += len(t) + 1
	}
	return ""
}
