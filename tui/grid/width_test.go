package grid

import (
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Of every rune there is, what is drawn takes the columns that the grid thinks
// it does.
func TestEveryRuneHasItsWidth(t *testing.T) {
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		drawn, w := clean(r)
		if w == 0 {
			continue
		}
		if is := ansi.StringWidth(string(drawn)); is != w {
			t.Errorf("%U is drawn as %q, %d columns wide, and counted as %d", r, drawn, is, w)
		}
	}
}
