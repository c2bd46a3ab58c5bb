package tuitest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
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

// Frames compares a pane, alone and in focus, with its golden files, as the cases say.
func Frames(t *testing.T, make pane.Maker, cases ...Case) {
	t.Helper()
	FramesOf(t, Story(), make, cases...)
}

// FramesOf is [Frames] of another tape than the story.
func FramesOf(t *testing.T, tape *Tape, make pane.Maker, cases ...Case) {
	t.Helper()
	h := tape.History()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			compare(t, "testdata", c.Name, func() *grid.Grid { return Pane(make(), h, When(h, c.Kind, c.N), c.W, c.H, c.Moves...) })
		})
	}
}

// EverySize compares each of the panes that there are at the sizes that every pane is
// looked at, alone on the screen at the end of the story, with golden files in the
// testdata of its package. The middle size is compared without colour too.
func EverySize(t *testing.T, panes []pane.Maker) {
	t.Helper()
	h := Story().History()
	var names []string
	for _, make := range panes {
		names = append(names, make().Info().Name)
	}
	for i, make := range panes {
		dir := filepath.Join("..", strings.TrimPrefix(reflect.TypeOf(make()).Elem().PkgPath(), "kviz/tui/"), "testdata")
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			name := fmt.Sprintf("%dx%d", size[0], size[1])
			t.Run(names[i]+"/"+name, func(t *testing.T) {
				place := layout.Compute(layout.In{W: size[0], H: size[1], Panes: names, Focus: names[i], Zoom: true}).Slots[0].Rect
				g := compare(t, dir, name, func() *grid.Grid {
					return draw(pane.NewHost(make(), keymap.PaneKey(i)), h, h.Latest(), place.W, place.H)
				})
				if size[0] == 120 {
					goldenIn(t, dir, name+"-none", Colourless(t, g))
				}
			})
		}
	}
}

// compare compares a drawing with its golden file, and with itself drawn again.
func compare(t *testing.T, dir, name string, draw func() *grid.Grid) *grid.Grid {
	t.Helper()
	g := draw()
	goldenIn(t, dir, name, Planes(g))
	if again := draw(); Planes(again) != Planes(g) {
		t.Fatal("the same moment drawn again looks different")
	}
	return g
}

// Pane draws one pane of a state alone, in focus, after some moves. No key stands in its
// frame: which it has is known where all panes are.
func Pane(p pane.Pane, h *view.History, s *view.State, w, rows int, moves ...string) *grid.Grid {
	return draw(pane.NewHost(p, ""), h, s, w, rows, moves...)
}

func draw(host *pane.Host, h *view.History, s *view.State, w, rows int, moves ...string) *grid.Grid {
	g := grid.New(w, rows)
	f := pane.Frame{S: s, H: h, Focused: true, Live: s == h.Latest()}
	f.W, f.Rows = w-3, rows-2
	host.Draw(g, grid.Rect{W: w, H: rows}, f)
	for _, m := range moves {
		if key, ok := strings.CutPrefix(m, "do "); ok {
			host.Pane.Do(key, host.Under(), &f)
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
