package stage

import (
	"strings"
	"testing"

	"kviz/tui/grid"
)

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
	if got, want := told(beside(long, 76)), `[ ] a majority of votes makes a leader  [ ] the term rises
[ ] a vote is written                   [ ] odd
[ ] a pre-vote is asked for
`; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(told(beside(rows(strings.Repeat("x", 70), strings.Repeat("y", 30)), 76))) {
		if w := grid.Width(strings.TrimSuffix(line, "\n")); w > 76 || !strings.Contains(line, "…") {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}
