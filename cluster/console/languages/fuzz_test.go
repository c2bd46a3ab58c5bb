package languages

import (
	"strings"
	"testing"

	"kviz/cluster/console/command"
)

// FuzzAwkSeeds: finding srand() in a program leaves everything else as it is, whatever the
// program.
func FuzzAwkSeeds(f *testing.F) {
	for _, p := range []string{
		`BEGIN {srand(); print rand()}`, `BEGIN {srand(5)}`, `BEGIN {srand ( ) }`, `{print "srand()"}`, `/srand()/`, `{x = 4 / 2; srand(); y = /a/}`, "srand\nsrand()", `BEGIN {"`, `/unended`, `a /= 2`, `srand() + srand()`, "# srand()\nBEGIN { srand }",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, program string) {
		got := seeded(program, 77)
		if !strings.Contains(program, "srand") && got != program {
			t.Errorf("%q has become %q", program, got)
		}
		if len(got) < len(program)-3*strings.Count(program, "srand")-strings.Count(program, " ")-strings.Count(program, "\t") {
			t.Errorf("%q has lost text: %q", program, got)
		}
	})
}

// FuzzCommandLines: whatever options awk and jq get, their command lines are read or refused with a word.
func FuzzCommandLines(f *testing.F) {
	for _, line := range []string{"awk -F: -v a=b {print}", "awk -f x", "awk -v", "jq -rnc .a", "jq --arg a b .", "jq --args . a b", "jq --jsonargs . 1", "jq --indent 9 .", "jq -f", "jq --rawfile a", "jq -- -x", "awk -- -x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if len(words) == 0 || all[words[0]].parse == nil {
			return
		}
		o, err := all[words[0]].parse(&command.Invocation{Args: words, In: strings.NewReader(""), Piped: true, Dir: t.TempDir(), Files: none{}})
		if (o == nil || err != nil) && (err == nil || err.Error() == "") {
			t.Errorf("%q is refused without a word", words)
		}
	})
}

// A printed value is JSON as jq prints it, and numbers have no more digits than they need.
func TestNumbersAreShort(t *testing.T) {
	for f, want := range map[float64]string{1: "1", 0.1: "0.1", 1e20: "1e+20", 1.5e-7: "1.5e-07", -2.5: "-2.5", 1e16: "10000000000000000"} {
		if got := number(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}
