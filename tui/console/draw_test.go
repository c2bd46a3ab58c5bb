package console

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
	"kviz/tui/grid"
)

// Lines break between words, columns of tables stay where they are, and a word that is longer
// than the line is cut.
func TestLinesBreakBetweenWords(t *testing.T) {
	for _, c := range []struct {
		line string
		w    int
		want []string
	}{
		{"deployment.apps/web created", 40, []string{"deployment.apps/web created"}},
		{"deployment.apps/web created", 22, []string{"deployment.apps/web", "created"}},
		{"NAME     READY   STATUS", 16, []string{"NAME     READY", "STATUS"}},
		{"    indented text here", 14, []string{"    indented", "text here"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"a abcdefghij", 4, []string{"a", "abcd", "efgh", "ij"}},
		{"exact four", 5, []string{"exact", "four"}},
		{"", 5, []string{""}},
	} {
		if got := broken(c.line, c.w); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.w, got, c.want)
		}
	}
	steady.Check(t, func(r *rapid.T) {
		line, w := rapid.StringMatching(`[a-z ✓]{0,80}`).Draw(r, "line"), rapid.IntRange(1, 30).Draw(r, "w")
		parts := broken(line, w)
		for _, p := range parts {
			if grid.Width(p) > w {
				r.Fatalf("%q is wider than %d", p, w)
			}
		}
		if got, want := strings.Join(strings.Fields(strings.Join(parts, " ")), ""), strings.Join(strings.Fields(line), ""); got != want {
			r.Fatalf("%q became %q", want, got)
		}
	})
}
