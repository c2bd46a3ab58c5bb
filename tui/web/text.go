package web

import (
	"fmt"
	"html"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Text is a picture as text for pre, with a class for what each stretch means.
func Text(g *grid.Grid) string {
	var b strings.Builder
	w, h := g.Size()
	for y := range h {
		row := g.Area().Cells(y)
		for len(row) > 0 && (row[len(row)-1].R == 0 || row[len(row)-1].R == ' ') {
			row = row[:len(row)-1]
		}
		for _, r := range runs(row[:min(len(row), w)]) {
			text := html.EscapeString(r.String())
			if strings.TrimSpace(text) == "" || r.style == theme.Text {
				b.WriteString(text)
				continue
			}
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, classes(r.style), text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Plain is a picture as text for pre, with nothing but its characters.
func Plain(g *grid.Grid) string { return html.EscapeString(Safe(strings.TrimRight(g.Plane(), "\n"))) }

// Escape is a text that may have come from anybody, for where text stands.
func Escape(text string) string { return html.EscapeString(Safe(text)) }
