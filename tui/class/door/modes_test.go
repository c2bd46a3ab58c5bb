package door

import (
	"strings"
	"testing"
)

// What a program left set is brought back, however it is written and cut; what it has brought back itself is not.
func TestATerminalIsBroughtBack(t *testing.T) {
	for _, c := range []struct{ written, back string }{
		{"plain text\n", ""},
		{"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1002;1006hscreen", "\x1b[?2004l\x1b[?1002l\x1b[?1006l\x1b[0m\x1b[?1049l\x1b[?25h"},
		{"\x1b[?1049h\x1b[?1049l\x1b[?25l\x1b[?25h\x1b[>1u\x1b[<1u", ""},
		{"\x1b[?25h\x1b[?1000l", ""},
		{"\x1b[?7l", "\x1b[?7h"},
		{"\x1b[>1u\x1b[>3u\x1b[>4;2m", "\x1b[<2u\x1b[>4;0m"},
		{"\x1b[>4;2m\x1b[>4m", ""},
		{"\x1b[?1049h\x1b[38;5;1", "\x18\x1b[0m\x1b[?1049l"},
		{"\x1b[?", "\x18"},
		{"\x1b[?" + strings.Repeat("9", 1<<20) + "h", ""},
	} {
		var m modes
		for _, b := range []byte(c.written) {
			m.see(b)
		}
		if got := m.back(); got != c.back {
			t.Errorf("after %.40q: %q, not %q", c.written, got, c.back)
		}
		for _, b := range []byte(m.back()) {
			m.see(b)
		}
		if got := m.back(); got != "" {
			t.Errorf("after %.40q and what brings it back there is still %q", c.written, got)
		}
	}
}
