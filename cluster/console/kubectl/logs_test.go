package kubectl

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// A log of which the first lines fall out of the window of --tail is printed on, line by
// line, as if it were one stream.
func TestFreshLinesOfALog(t *testing.T) {
	for _, c := range []struct{ before, log, want string }{
		{"", "a\nb\n", "a\nb\n"},
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\n", "a\nb\nc\n", "c\n"},
		{"a\nb\nc\n", "b\nc\nd\n", "d\n"},
		{"a\na\nb\na\n", "a\nb\na\nc\n", "c\n"},
		{"a\nb\n", "c\nd\n", "c\nd\n"}, // more than the window came
		{"a\nb\n", "", ""},             // it begins again
		{"a\nhal", "a\nhalf\n", "f\n"},
	} {
		if got := string(fresh([]byte(c.log), []byte(c.before))); got != c.want {
			t.Errorf("of %q after %q, %q is new; want %q", c.log, c.before, got, c.want)
		}
	}
}

// Whatever a container prints, each line that has another text than the others is printed once.
func TestEachLineOfALogIsFreshOnce(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		var all []string
		for i := range rapid.IntRange(1, 60).Draw(t, "lines") {
			all = append(all, strings.Repeat("x", i)+"\n")
		}
		window := rapid.IntRange(1, 20).Draw(t, "window")
		var before, printed []byte
		for n := 0; n < len(all); {
			n = min(len(all), n+rapid.IntRange(1, window).Draw(t, "more"))
			log := []byte(strings.Join(all[max(0, n-window):n], ""))
			printed, before = append(printed, fresh(log, before)...), bytes.Clone(log)
			if more := fresh(log, before); len(more) > 0 {
				t.Fatalf("printed again: %q", more)
			}
		}
		if want := strings.Join(all, ""); string(printed) != want {
			t.Fatalf("printed\n%s\nof\n%s", printed, want)
		}
	})
}
