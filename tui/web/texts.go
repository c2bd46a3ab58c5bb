package web

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/theme"
)

// Safe is a text without what a reader's machine might obey.
func Safe(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = grid.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Piece is a part of a text in one kind of type.
type Piece struct {
	Text         string
	Code, Strong bool
}

// Pieces takes the marks of a text apart.
func Pieces(text string) (all []Piece) {
	for _, s := range markup.Line(strings.ReplaceAll(Safe(text), "\n", " "), theme.Text) {
		if s.Text != "" {
			all = append(all, Piece{s.Text, s.Style.Role() == theme.Name.Role(), s.Style.Has(grid.Bold)})
		}
	}
	return all
}

// Bare is a text without its marks.
func Bare(text string) string {
	var b strings.Builder
	for _, p := range Pieces(text) {
		b.WriteString(p.Text)
	}
	return b.String()
}
