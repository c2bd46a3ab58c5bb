package theme

import (
	"charm.land/lipgloss/v2"

	"kviz/tui/grid"
)

// ink is the colour of a role on a dark and on a light ground, and among the
// sixteen of which the terminal's own palette decides the looks ("" there is
// the terminal's text colour, which is read on whatever ground it has: what is
// only words has that).
type ink struct{ dark, light, ansi string }

// inks are the roles' colours. Good and bad differ in brightness and along the
// axis that colour-blind eyes keep (the palette of Okabe and Ito).
var inks = [Roles]ink{
	Text:    {"#d8dee9", "#1f2429", ""},
	Muted:   {"#949eb0", "#5b6470", ""},
	Line:    {"#4a5467", "#a0aab6", "8"},
	Accent:  {"#7cc7f5", "#005a9c", "14"},
	Title:   {"#e6ebf3", "#14181d", ""},
	Key:     {"#f0e442", "#7a4300", "11"},
	Good:    {"#56b4e9", "#0067a8", "12"},
	Warn:    {"#e69f00", "#8f5400", "3"},
	Bad:     {"#ff7a3d", "#b13c00", "9"},
	Busy:    {"#f0e442", "#6b5d00", "11"},
	Added:   {"#2cc295", "#00684c", "2"},
	Removed: {"#ff7a3d", "#b13c00", "9"},
	Name:    {"#b9d7f0", "#1b3f66", "6"},
	Number:  {"#f2dfa7", "#5c4200", ""},
	Event:   {"#d9a3c4", "#8a3a70", "13"},
	Cause:   {"#d98fbb", "#8a3a70", "5"},
	Past:    {"#e69f00", "#8f5400", "3"},
	Term0:   {"#56b4e9", "#0067a8", "12"},
	Term1:   {"#c3a5ff", "#6a3fa0", "14"},
	Term2:   {"#2cc295", "#00684c", "2"},
	Term3:   {"#d98fbb", "#8a3a70", "13"},
	Term4:   {"#9fe3e8", "#00626e", "5"},
	Term5:   {"#8fa3ff", "#3c43a8", "6"},
	Shadow:  {"#4f596b", "#a3acb8", "8"},
}

// The grounds of what is selected and of what is fresh.
var (
	selected = ink{dark: "#26364d", light: "#d3e5f7"}
	fresh    = ink{dark: "#1f2c43", light: "#e6eef7"}
)

// emphasised are the roles that are bold in every theme.
var emphasised = map[grid.Style]bool{Accent: true, Title: true, Key: true}

// attributes are what a style says besides its role and the cursor.
func attributes(s grid.Style) lipgloss.Style {
	return lipgloss.NewStyle().Inline(true).Bold(s.Has(grid.Bold)).Faint(s.Has(grid.Faint)).Underline(s.Has(grid.Underline)).
		Reverse(s.Has(grid.Reverse)).Strikethrough(s.Has(grid.Strike))
}

func roleOf(s grid.Style) (grid.Style, bool) {
	role := grid.Style(s.Role())
	return role, role < Roles
}

// full are the looks of a terminal with many colours, on a dark or light ground.
func full(isDark bool) func(grid.Style) lipgloss.Style {
	choose := lipgloss.LightDark(isDark)
	return func(s grid.Style) lipgloss.Style {
		st := attributes(s)
		role, known := roleOf(s)
		if emphasised[role] {
			st = st.Bold(true)
		}
		if known {
			st = st.Foreground(choose(lipgloss.Color(inks[role].light), lipgloss.Color(inks[role].dark)))
		}
		switch {
		case s.Has(grid.Selected):
			st = st.Background(choose(lipgloss.Color(selected.light), lipgloss.Color(selected.dark)))
		case s.Has(grid.Fresh):
			st = st.Background(choose(lipgloss.Color(fresh.light), lipgloss.Color(fresh.dark)))
		}
		return st
	}
}

// sixteen are the looks of a terminal with sixteen colours: no grounds, so the
// cursor is reverse and what is fresh is underlined.
func sixteen(s grid.Style) lipgloss.Style {
	st := attributes(s)
	role, known := roleOf(s)
	if emphasised[role] {
		st = st.Bold(true)
	}
	if s.Has(grid.Selected) && !s.Has(grid.Reverse) {
		return st.Reverse(true)
	}
	if s.Has(grid.Fresh) {
		st = st.Underline(true)
	}
	if known && role == Muted {
		st = st.Faint(true)
	}
	if known && inks[role].ansi != "" {
		st = st.Foreground(lipgloss.Color(inks[role].ansi))
	}
	return st
}

// plain are the looks without colour: weight, underline and reverse.
func plain(s grid.Style) lipgloss.Style {
	st := attributes(s)
	switch role, _ := roleOf(s); role {
	case Accent, Title, Key, Bad, Removed, Added:
		st = st.Bold(true)
	case Line, Muted, Shadow:
		st = st.Faint(true)
	}
	if s.Has(grid.Selected) {
		st = st.Reverse(true)
	}
	if s.Has(grid.Fresh) {
		st = st.Underline(true)
	}
	return st
}

// Colours are those of a role on a dark and on a light ground, as #rrggbb: for what is drawn elsewhere than on a
// terminal, such as a page.
func Colours(role grid.Style) (dark, light string) {
	r, known := roleOf(role)
	if !known {
		r = Text
	}
	return inks[r].dark, inks[r].light
}

// Ground is the ground of what is marked with an attribute, Selected or Fresh, in a dark and in a light theme.
func Ground(attr grid.Style) (dark, light string) {
	if attr.Has(grid.Selected) {
		return selected.dark, selected.light
	}
	return fresh.dark, fresh.light
}

// Emphasised reports whether a style is bold in every theme.
func Emphasised(s grid.Style) bool { return s.Has(grid.Bold) || emphasised[grid.Style(s.Role())] }
