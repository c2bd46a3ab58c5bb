package bound

import (
	"regexp/syntax"
	"testing"
)

// The estimate is no less than the program that regexp makes, and no more than some times it.
func TestInstructions(t *testing.T) {
	for _, pattern := range []string{
		"", "a", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "((a?){30}){30}b$", "(ab|cd|e)+", "a{3,}", "(abc){0,1000}", "[^a-z]{2,5}x?", `\\d+\\.\\d+`, "(?i)kubernetes",
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n, is := Instructions(pattern), float64(len(prog.Inst)); n < is || n > 4*is+10 {
			t.Errorf("%s: %v estimated, %v in the program", pattern, n, is)
		}
	}
}
