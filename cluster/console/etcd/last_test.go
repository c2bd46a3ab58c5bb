package etcd

import (
	"strings"
	"testing"
)

// The end of a watch is not shown, however the output comes cut; what only looks
// like its beginning, or comes where the console has ended nothing, is.
func TestWithoutLast(t *testing.T) {
	for _, format := range []string{"simple", "json", "fields", "protobuf"} {
		last, err := shownAs(format)
		if err != nil {
			t.Fatal(err)
		}
		half := string(last[:len(last)/2])
		for name, c := range map[string]struct {
			text, want string
			ended      bool
		}{
			"ended":     {"an event\n" + half + "x\n" + string(last), "an event\n" + half + "x\n", true},
			"half":      {"an event\n" + half, "an event\n" + half, true},
			"twice":     {string(last) + string(last), string(last), true},
			"not ended": {"an event\n" + string(last), "an event\n" + string(last), false},
		} {
			for n := 1; n <= len(c.text); n++ {
				var got strings.Builder
				w := &withoutLast{to: &got, last: last}
				for rest := c.text; rest != ""; {
					k := min(n, len(rest))
					if _, err := w.Write([]byte(rest[:k])); err != nil {
						t.Fatal(err)
					}
					rest = rest[k:]
				}
				if err := w.end(c.ended); err != nil {
					t.Fatal(err)
				}
				if got.String() != c.want {
					t.Fatalf("%s, %s, %d bytes at once: %q, want %q", format, name, n, got.String(), c.want)
				}
			}
		}
	}
}
