package menu

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster/glossary"
	"kviz/tui/panes"
)

// Every concept is told in a sentence, once, and names a pane that there is.
func TestConceptsLeadToPanes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range glossary.Concepts {
		if seen[c.Word] {
			t.Errorf("%s is there twice", c.Word)
		}
		seen[c.Word] = true
		if !slices.Contains(panes.Names(), c.Pane) {
			t.Errorf("%s is to be seen in the pane %q, which there is not", c.Word, c.Pane)
		}
		if !strings.HasSuffix(c.Means, ".") || c.Look == "" || len(c.Word) > 18 {
			t.Errorf("%s: %q, to be seen at %q", c.Word, c.Means, c.Look)
		}
	}
	for _, word := range []string{"pod", "quorum", "Lease", "revision", "informer"} {
		if !seen[word] {
			t.Errorf("%s is missing", word)
		}
	}
}
