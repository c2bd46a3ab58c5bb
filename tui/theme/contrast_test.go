package theme

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kviz/tui/grid"
)

// The least contrast of what is read, and of lines and what lies under an overlay, by the definition of
// WCAG 2.2.
const (
	readable = 4.5
	seen     = 1.5
	shade    = 0.9 // of either, where the shades are the terminal's own
)

// grounds are those on which a theme is read: the usual ones of terminals, and its own for what is selected
// and what is fresh.
var grounds = map[string][]string{
	"dark":  {"#000000", "#1e1e1e", selected.dark, fresh.dark},
	"light": {"#ffffff", "#fdf6e3", selected.light, fresh.light},
}

// xterm are the sixteen colours of xterm.
var xterm = []string{
	"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
	"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var c color.RGBA
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		t.Fatalf("%q is no colour: %v", hex, err)
	}
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// least is the contrast that a role must have.
func least(role grid.Style) float64 {
	if role == Line || role == Shadow {
		return seen
	}
	return readable
}

// Every role is read on every ground that it stands on; in reverse the two change places.
func TestEveryRoleIsReadOnEveryGround(t *testing.T) {
	for role := grid.Style(0); role < Roles; role++ {
		for theme, list := range grounds {
			for _, ground := range list {
				fore := map[string]string{"dark": inks[role].dark, "light": inks[role].light}[theme]
				if got := contrast(t, fore, ground); got < least(role) {
					t.Errorf("%s: role %c (%s) on %s has a contrast of %.2f, less than %.1f", theme, Letter(uint8(role)), fore, ground, got, least(role))
				}
			}
		}
		if ansi := inks[role].ansi; ansi != "" {
			n, err := strconv.Atoi(ansi)
			if err != nil || n < 1 || n > 15 {
				t.Fatalf("role %c has the colour %q of sixteen", Letter(uint8(role)), ansi)
			}
			if got := contrast(t, xterm[n], "#000000"); got < shade*least(role) {
				t.Errorf("16: role %c has a contrast of %.2f on black", Letter(uint8(role)), got)
			}
		}
	}
	for _, role := range []grid.Style{Text, Title, Muted, Number} { // words: the sixteen may stand on any ground
		if inks[role].ansi != "" {
			t.Errorf("16: role %c is not in the terminal's own text colour", Letter(uint8(role)))
		}
	}
}

// What a cell that is selected, or in reverse, or fresh looks like differs from the same cell without that, in
// every theme and role: a cursor that is not seen is none.
func TestAttributesAreSeenInEveryTheme(t *testing.T) {
	for _, name := range Names() {
		th := Named(name)
		for role := grid.Style(0); role < Roles; role++ {
			for _, with := range []grid.Style{grid.Selected, grid.Reverse, grid.Fresh} {
				if th.SGR(role|with) == th.SGR(role) {
					t.Errorf("%s: role %c looks the same with attribute %b", name, Letter(uint8(role)), with>>8)
				}
			}
		}
	}
}

// Without colour no colour is written; with any, what is good, late, at work and bad differ from one another.
func TestStatesDifferInEveryTheme(t *testing.T) {
	for _, name := range Names() {
		th := Named(name)
		var looks []string
		for role := grid.Style(0); role < Roles; role++ {
			for _, number := range strings.FieldsFunc(th.SGR(role), func(r rune) bool { return r < '0' || r > '9' }) {
				if n, _ := strconv.Atoi(number); name == "none" && n >= 30 {
					t.Errorf("none: role %c has a colour: %q", Letter(uint8(role)), th.SGR(role))
				}
			}
			if name != "none" && slices.Contains([]grid.Style{Good, Warn, Busy, Bad}, role) {
				if slices.Contains(looks, th.SGR(role)) {
					t.Errorf("%s: role %c looks as another one", name, Letter(uint8(role)))
				}
				looks = append(looks, th.SGR(role))
			}
		}
	}
}
