package tuitest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/layout"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Case is one drawing of a pane: its size, the moment of the story (right after
// the N-th event of a kind, the end for 0), and what is done before: movements,
// and the pane's own actions as "do NAME".
type Case struct {
	Name  string
	W, H  int
	Kind  trace.Kind
	N     int
	Moves []string
}

// Frames compares a pane with its golden files: as the cases say, and at the end
// of the story at the sizes that every pane is looked at, alone on the screen.
// The middle size is compared without colour too.
func Frames(t *testing.T, make func() pane.Pane, cases ...Case) {
	t.Helper()
	h := Story().History()
	number := make().Info().Number
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		place := layout.Compute(layout.In{W: size[0], H: size[1], Focus: number, Zoom: true}).Slots[0].Rect
		cases = append(cases, Case{Name: fmt.Sprintf("%dx%d", size[0], size[1]), W: place.W, H: place.H})
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			draw := func() *grid.Grid { return Pane(make(), h, When(h, c.Kind, c.N), c.W, c.H, c.Moves...) }
			g := draw()
			Golden(t, c.Name, Planes(g))
			if again := draw(); Planes(again) != Planes(g) {
				t.Fatal("the same moment drawn again looks different")
			}
			if c.Name == "120x40" {
				Golden(t, c.Name+"-none", Colourless(t, g))
			}
		})
	}
}

// Pane draws one pane of a state alone, in focus, after some moves.
func Pane(p pane.Pane, h *view.History, s *view.State, w, rows int, moves ...string) *grid.Grid {
	g := grid.New(w, rows)
	host := pane.NewHost(p)
	f := pane.Frame{S: s, H: h, Focused: true, Live: s == h.Latest()}
	f.W, f.Rows = w-3, rows-2
	host.Draw(g, grid.Rect{W: w, H: rows}, f)
	for _, m := range moves {
		if key, ok := strings.CutPrefix(m, "do "); ok {
			p.Do(key, host.Under(), &f)
			host.Dirty()
		} else {
			host.Move(m, &f)
		}
		host.Draw(g, grid.Rect{W: w, H: rows}, f)
	}
	return g
}

var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// Colourless is a grid as a terminal without colour shows it: its text, then a
// plane of what is bold (b), faint (f), underlined (u) and reversed (r). The
// test fails if a colour is switched on.
func Colourless(t *testing.T, g *grid.Grid) string {
	t.Helper()
	var out strings.Builder
	for _, line := range strings.Split(g.Render(theme.Named("none").SGR), "\n") {
		on := ' '
		for len(line) > 0 {
			at := sequence.FindStringSubmatchIndex(line)
			text, code := line, ""
			if at != nil {
				text, code = line[:at[0]], line[at[2]:at[3]]
				line = line[at[1]:]
			} else {
				line = ""
			}
			for _, r := range text {
				if r == ' ' && on != 'r' && on != 'u' {
					out.WriteRune(' ')
				} else {
					out.WriteRune(on)
				}
			}
			on = attribute(t, code)
		}
		out.WriteByte('\n')
	}
	return g.Plane() + "---- attributes: b bold, f faint, u underlined, r reversed\n" + trimmed(out.String())
}

// attribute is the letter of the strongest attribute that a sequence switches
// on.
func attribute(t *testing.T, code string) rune {
	t.Helper()
	letter := ' '
	for _, n := range strings.Split(code, ";") {
		switch n {
		case "", "0":
		case "7":
			return 'r'
		case "4":
			letter = 'u'
		case "1":
			if letter != 'u' {
				letter = 'b'
			}
		case "2":
			if letter == ' ' {
				letter = 'f'
			}
		default:
			if v, err := strconv.Atoi(n); err == nil && (v >= 30 && v <= 49 || v >= 90 && v <= 107) {
				t.Fatalf("the theme without colour switches colour %s on", n)
			}
		}
	}
	return letter
}

func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}
