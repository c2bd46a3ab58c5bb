// Package menu makes the lists and pages that open over the panes: the palette, the help,
// the glossary, the causes of an event, breakpoints and so on. Each is built from its
// arguments and answers with actions; none looks at the explorer.
//
// Start reading at palette.go, the largest of them.
package menu

import (
	"strings"

	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/motion"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Everything is what the palette offers beside arrangements and themes.
type Everything struct {
	Pane       []keymap.Binding // the keys of the focused pane
	Keys       *keymap.Map
	Panes      []pane.Info
	Scenarios  []Scenario
	Recordings bool
	Lessons    []overlay.Item
}

// Palette finds any action by its name.
func Palette(e Everything) overlay.Overlay {
	p := &overlay.Picker{Title: "Do anything", Search: true}
	add := func(items ...overlay.Item) { p.Items = append(p.Items, items...) }
	for _, b := range e.Pane {
		add(overlay.Item{Label: b.Words(), Note: b.Means, Key: b.Labels(), Do: action.Pane(b.Action)})
	}
	for _, b := range e.Keys.All() {
		if !strings.HasPrefix(b.Action, "move.") && !focuses(b) && b.Action != keymap.Palette {
			add(overlay.Item{Label: b.Words(), Note: b.Means, Key: b.Labels(), Do: action.Key(b.Action)})
		}
	}
	for i, info := range e.Panes {
		add(overlay.Item{Label: "pane " + info.Name, Note: info.Title, Key: keymap.PaneKey(i), Do: action.Focus{Pane: info.Name}})
	}
	for i, l := range layout.Presets {
		add(overlay.Item{Label: "layout " + l.Name, Note: l.Means, Do: action.Layout(i)})
	}
	for _, t := range theme.Names() {
		add(overlay.Item{Label: "theme " + t, Do: action.Theme(t)})
	}
	for _, mode := range motion.Modes() {
		add(overlay.Item{Label: "motion " + mode, Note: motion.Mode(mode).Means(), Do: action.Motion(mode)})
	}
	for _, c := range Creations() {
		add(overlay.Item{Label: "create " + c.Kind, Note: c.Line, Do: action.Scenario(c.Line)})
	}
	add(overlay.Item{Label: "load", Note: "set what pods have to do, and what metrics say", Do: AskLoad()})
	for _, s := range e.Scenarios {
		add(overlay.Item{Label: "scenario " + s.Name, Note: s.Means, Do: s.do()})
	}
	if e.Recordings {
		add(overlay.Item{Label: "open a recording", Note: "leave this cluster and watch a run that was saved", Do: action.Recordings})
	}
	add(e.Lessons...)
	return p
}
