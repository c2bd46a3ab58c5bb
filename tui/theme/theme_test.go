package theme

import (
	"testing"

	"kviz/tui/grid"
)

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		theme string
		style grid.Style
		want  string
	}{
		{"dark", 0, ""},
		{"dark", Bad, "\x1b[38;2;255;122;61m"},
		{"dark", Key, "\x1b[1;38;2;240;228;66m"},
		{"dark", Text | grid.Bold | grid.Selected, "\x1b[1;38;2;216;222;233;48;2;38;54;77m"},
		{"light", Bad | grid.Underline | grid.Fresh, "\x1b[4;38;2;177;60;0;48;2;230;238;247;4m"},
		{"16", Text, ""},
		{"16", Text | grid.Fresh, "\x1b[4;4m"},
		{"16", Bad, "\x1b[91m"},
		{"16", Bad | grid.Selected, "\x1b[7m"},
		{"none", Name, ""},
		{"none", Bad, "\x1b[1m"},
		{"none", Muted | grid.Selected, "\x1b[7;2m"},
		{"none", Text | grid.Strike, "\x1b[9m"},
	} {
		th := Named(c.theme)
		for range 2 { // the second time out of the table
			if got := th.SGR(c.style); got != c.want {
				t.Errorf("%s: style %d/%b looks like %q, want %q", c.theme, c.style.Role(), c.style>>8, got, c.want)
			}
		}
	}
	if got := Named("no such").Name; got != "dark" {
		t.Errorf("an unknown theme is %s", got)
	}
}

func TestEveryRoleHasALetterAndColours(t *testing.T) {
	if len(letters) != int(Roles) {
		t.Fatalf("%d letters for %d roles", len(letters), Roles)
	}
	for r := grid.Style(0); r < Roles; r++ {
		if inks[r].dark == "" || inks[r].light == "" {
			t.Errorf("role %c lacks a colour", Letter(uint8(r)))
		}
	}
}
