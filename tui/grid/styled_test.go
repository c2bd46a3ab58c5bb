package grid

import (
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// What is drawn in the ink of a style comes back as that style, whatever the
// role and the attributes. (Blanks may lose some: lipgloss styles them apart.)
func TestInkComesBack(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		s := Style(rapid.IntRange(0, 30).Draw(t, "role"))
		for _, attr := range []Style{Bold, Faint, Underline, Reverse, Strike} {
			if rapid.Bool().Draw(t, "attribute") {
				s |= attr
			}
		}
		s |= rapid.SampledFrom([]Style{0, Selected, Fresh}).Draw(t, "mark")
		g := New(6, 2)
		g.Area().Sub(1, 0, 5, 2).Styled("a\n" + Ink(s).Render("xy世"))
		for x, r := range map[int]rune{1: 'x', 2: 'y', 3: '世'} {
			if c := g.At(x, 1); c != (Cell{r, s}) {
				t.Fatalf("column %d is %q %b, want %q %b", x, c.R, c.S, r, s)
			}
		}
		if c := g.At(1, 0); c != (Cell{'a', 0}) {
			t.Fatalf("plain text became %v", c)
		}
	})
}
