package stage

import (
	"strings"
	"testing"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

func first(rows []row, _ bool) []row { return rows }

// TestTwoColumns has answers that do not fit one below the other stand in two columns, whole
// where there is room.
func TestTwoColumns(t *testing.T) {
	rows := func(texts ...string) (all []row) {
		for _, text := range texts {
			all = append(all, row{{Text: "[ ] "}, {Text: text}})
		}
		return all
	}
	told := func(rows []row) string {
		var b strings.Builder
		for _, r := range rows {
			for _, span := range r {
				b.WriteString(span.Text)
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	long := rows("a majority of votes makes a leader", "a vote is written", "a pre-vote is asked for", "the term rises", "odd")
	if got, want := told(first(beside(long, 76))), `[ ] a majority of votes makes a leader  [ ] the term rises
[ ] a vote is written                   [ ] odd
[ ] a pre-vote is asked for
`; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(told(first(beside(rows(strings.Repeat("x", 70), strings.Repeat("y", 30)), 76)))) {
		if w := grid.Width(strings.TrimSuffix(line, "\n")); w > 76 || !strings.Contains(line, "…") {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}

// TestGhostsThatSayTheSame writes once what is expected of cells that stand close together, and
// beside each where there is room.
func TestGhostsThatSayTheSame(t *testing.T) {
	g := grid.New(40, 9)
	a := g.Area()
	a.Frame(nil, 0)
	a.Text(2, 1, "a word above", 0)
	var same []grid.Rect
	for _, r := range []grid.Rect{{X: 2, Y: 2, W: 12, H: 1}, {X: 20, Y: 2, W: 12, H: 1}, {X: 2, Y: 3, W: 12, H: 1}} {
		a.Text(r.X, r.Y, "one of a few", 0)
		if r.X == 2 {
			a.Text(2, 3, "one of a few", 0)
		}
		long, short := spoken("gone")
		at, ok := haunt(a, r, long, short, theme.Muted, same)
		if !ok {
			t.Fatalf("there is no room beside %+v:\n%s", r, g.Plane())
		}
		same = append(same, at)
	}
	if n := strings.Count(g.Plane(), "┆ you: gone"); n != 2 || same[2] != same[0] || same[1].X != 20 {
		t.Errorf("it is written %d times, at %+v:\n%s", n, same, g.Plane())
	}
}
