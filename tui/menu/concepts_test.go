package menu

import (
	"slices"
	"strings"
	"testing"

	"kviz/tui/panes"
)

// Every concept is told in a sentence, once, and names a pane that there is.
func TestConceptsLeadToPanes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range concepts {
		if seen[c.word] {
			t.Errorf("%s is there twice", c.word)
		}
		seen[c.word] = true
		if !slices.Contains(panes.Names(), c.pane) {
			t.Errorf("%s is to be seen in the pane %q, which there is not", c.word, c.pane)
		}
		if !strings.HasSuffix(c.means, ".") || c.look == "" || len(c.word) > 18 {
			t.Errorf("%s: %q, to be seen at %q", c.word, c.means, c.look)
		}
	}
	for _, word := range []string{"pod", "quorum", "Lease", "revision", "informer"} {
		if !seen[word] {
			t.Errorf("%s is missing", word)
		}
	}
}
