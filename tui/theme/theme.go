// Package theme gives the styles of the grid their looks. A role says what a
// cell means ("this is bad", "this is a key you can press"); a [Theme] says
// how that looks: in full colour on a dark or a light ground, in the
// terminal's own 16 colours, or without colour at all.
//
// The colours are those of Okabe and Ito, which colour-blind readers can tell apart,
// lightened on dark and darkened on light backgrounds until they read well; healthy
// is blue, never green against red. Colour never carries a meaning alone: panes put a
// letter or a shape beside it.
//
// Start reading at [Theme].
package theme

import (
	"strings"

	"charm.land/lipgloss/v2"

	"kviz/tui/grid"
)

// The roles. Their letters in golden files are those of [Letter].
const (
	Text    grid.Style = iota // ordinary text; the terminal's own colour
	Muted                     // labels, units, what is less important
	Line                      // frames and rules
	Accent                    // what has the focus
	Title                     // names of panes and columns
	Key                       // a key that can be pressed
	Good                      // healthy, passed, ready, committed
	Warn                      // waiting, late, being retried
	Bad                       // failed, refused, lost, down
	Busy                      // at work, starting, in flight
	Added                     // a line or a field that came
	Removed                   // a line or a field that went
	Name                      // the name of an object
	Number                    // a number that matters: revision, score
	Event                     // an event's number
	Cause                     // the link to a cause
	Past                      // we look at the past
	Term0                     // six colours for terms and lanes, by number
	Term1
	Term2
	Term3
	Term4
	Term5
	Shadow // what lies under an overlay
	Roles
)

// letters are the roles' letters in the style plane of golden files, in the
// order of the roles.
const letters = "tmlfikgwbuardnoec012345s"

// Letter is the role's letter in a style plane.
func Letter(role uint8) rune {
	if int(role) < len(letters) {
		return rune(letters[role])
	}
	return '?'
}

// Legend explains the letters, for the head of a golden file.
const Legend = "t text m muted l line f focus i title k key g good w warn b bad u busy a added r removed d name " +
	"n number o event-no e cause c past 0-5 terms s shadow; upper case: bold, selected or fresh"

// Term is the colour of raft term n (or of the n-th of anything).
func Term(n uint64) grid.Style { return Term0 + grid.Style(n%6) }

// Theme is a table of looks: a lipgloss style for every style of the grid,
// turned once into the escape sequence that switches it on. Rendering cell by
// cell through lipgloss would cost two hundred times as much.
type Theme struct {
	Name string
	sgr  map[grid.Style]string
	look func(grid.Style) lipgloss.Style
}

// SGR is the escape sequence that switches the style on, "" for the default.
func (t *Theme) SGR(s grid.Style) string {
	if s == 0 {
		return ""
	}
	code, ok := t.sgr[s]
	if !ok {
		code, _, _ = strings.Cut(t.look(s).Render("x"), "x")
		t.sgr[s] = code
	}
	return code
}

// Names lists the themes in the order the theme key goes through them.
func Names() []string { return []string{"dark", "light", "16", "none"} }

// Named makes the theme of that name; an unknown name gives dark.
func Named(name string) *Theme {
	t := &Theme{Name: name, sgr: map[grid.Style]string{}}
	switch name {
	case "light":
		t.look = full(false)
	case "16":
		t.look = sixteen
	case "none":
		t.look = plain
	default:
		t.Name, t.look = "dark", full(true)
	}
	return t
}
