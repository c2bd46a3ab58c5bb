package beside_test

import (
	"strings"
	"testing"

	"kviz/tui/beside"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Rows that both have are left alone wherever they stand; of the others those are paired that
// stand between the same rows, and in them only what differs is marked.
func TestWhatDiffersIsMarked(t *testing.T) {
	draw := func(rows ...string) (*grid.Grid, grid.Area) {
		g := grid.New(16, 8)
		a := g.Area()
		in := a.Frame(nil, theme.Line)
		for y, r := range rows {
			in.Text(0, y, r, theme.Text)
		}
		return g, a
	}
	x, a := draw("pods", "web-1 ready", "web-2 ready", "end")
	y, b := draw("pods", "web-1 ready", "new", "web-2 gone", "end")
	if n := beside.Mark(a, b); n != 2 {
		t.Errorf("%d rows differ", n)
	}
	marked := func(g *grid.Grid) string {
		var out strings.Builder
		for row := range 8 {
			for col := range 16 {
				c := g.At(col, row)
				if c.S.Has(grid.Fresh) || c.R == beside.Differs {
					out.WriteRune(c.R)
				}
			}
			out.WriteRune('/')
		}
		return strings.Trim(out.String(), "/")
	}
	if got := marked(x); got != "≠ready" {
		t.Errorf("the first has %q marked", got)
	}
	if got := marked(y); got != "≠new/≠gone" {
		t.Errorf("the second has %q marked", got)
	}
}
