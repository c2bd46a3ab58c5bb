package menu

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Help is the page about a pane, and all keys. The pane has a key of its own, as have
// the others, from first to last.
func Help(info pane.Info, key string, keys *keymap.Map, panes int) overlay.Overlay {
	title := strings.TrimSpace(key + " " + info.Title)
	return &overlay.Page{Title: "Help · " + title, Rows: func(w int) []overlay.Row {
		rows := firstKeys(keys, w)
		for _, l := range overlay.Lines(info.Means, w) {
			rows = append(rows, overlay.Row{{Text: l}})
		}
		rows = append(rows, nil)
		for _, l := range info.Legend {
			rows = append(rows, hanging(l[0], 10, theme.Name, l[1], w)...)
		}
		if len(info.Legend) > 0 {
			rows = append(rows, nil)
		}
		if len(info.Keys) > 0 {
			rows = append(rows, overlay.Row{{Text: "Keys of this pane", Style: theme.Title}})
			for _, b := range info.Keys {
				rows = append(rows, keyRow(b, w)...)
			}
		}
		headings := [][2]string{
			{"clock", "The clock"},
			{"time", "Going through time"},
			{"ask", "Asking"},
			{"do", "Doing"},
			{"find", "Finding"},
			{"view", "The screen"},
			{"move", "Moving"},
			{"go", "Leaving"},
		}
		for _, g := range headings {
			rows = append(rows, nil, overlay.Row{{Text: g[1], Style: theme.Title}})
			for _, b := range keys.Group(g[0]) {
				if !focuses(b) {
					rows = append(rows, keyRow(b, w)...)
				}
			}
			if g[0] == "view" {
				rows = append(rows, hanging(keymap.PaneKey(0)+" … "+keymap.PaneKey(min(panes, 10)-1), 12, theme.Key, "Focus on the pane of that key.", w)...)
			}
		}
		return rows
	}}
}

// first are the keys with which one can do most, each with what it does in some words.
var first = [...]struct{ action, does string }{
	{keymap.Pause, "stand still, and go on"},
	{keymap.StepInto, "a step along your command"},
	{keymap.Back, "a step back in time"},
	{keymap.Why, "why is this so?"},
	{keymap.Console, "the console, with kubectl"},
	{keymap.Faults, "break this"},
	{keymap.Fork, "run again from this moment"},
	{keymap.Compare, "compare two runs"},
	{keymap.Palette, "do anything, by its name"},
	{keymap.Quit, "leave"},
}

// firstKeys are the ten keys that matter, two in a row where there is room.
func firstKeys(keys *keymap.Map, w int) []overlay.Row {
	rows := []overlay.Row{{{Text: "Ten keys to begin with", Style: theme.Title}}}
	columns := 1
	if w >= 2*(9+27) {
		columns = 2
	}
	half := (len(first) + columns - 1) / columns
	for i := range half {
		var row overlay.Row
		for k := i; k < len(first); k += half {
			b, ok := keys.Get(first[k].action)
			if !ok {
				continue
			}
			row = append(row, grid.Span{Text: "  " + overlay.Padded(b.Labels(), 7), Style: theme.Key}, grid.Span{Text: overlay.Padded(first[k].does, 27)})
		}
		rows = append(rows, row)
	}
	return append(rows, nil)
}

// focuses reports whether a key gives a pane the focus; those stand together.
func focuses(b keymap.Binding) bool {
	_, ok := keymap.FocusedBy(b.Action)
	return ok
}

func keyRow(b keymap.Binding, w int) []overlay.Row {
	return hanging(b.Labels(), 12, theme.Key, b.Means, w)
}

// hanging is a label and, beside it, a text that is broken where the width
// ends.
func hanging(label string, col int, st grid.Style, text string, w int) []overlay.Row {
	var rows []overlay.Row
	for i, l := range overlay.Lines(text, w-col-3) {
		if i > 0 {
			label = ""
		}
		rows = append(rows, overlay.Row{{Text: "  " + overlay.Padded(label, col) + " ", Style: st}, {Text: l}})
	}
	return rows
}
