package stage

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// A ring gets all four sides although words stand above and below it: a blank row comes in, and one on which nothing
// stands goes. Lines go on through it.
func TestRoomForARing(t *testing.T) {
	for _, c := range []struct {
		name       string
		spot       grid.Rect
		rows, want string
	}{{
		name: "in a list", spot: grid.Rect{X: 2, Y: 2, W: 4, H: 1},
		rows: `
╭────────╮
│ above  │
│ this   │
│ below  │
│        │
│        │
╰────────╯`, want: `
╭────────╮
│ above  │
│┏━━━━┓  │
│┃this┃  │
│┗━━━━┛  │
│ below  │
╰────────╯`,
	}, {
		name: "a list that is full loses its last row, then its first", spot: grid.Rect{X: 2, Y: 2, W: 4, H: 1},
		rows: `
╭────────╮
│ above  │
│ this   │
│ below  │
╰────────╯`, want: `
╭────────╮
│┏━━━━┓  │
│┃this┃  │
│┗━━━━┛  │
╰────────╯`,
	}, {
		name: "below a line that goes on", spot: grid.Rect{X: 2, Y: 2, W: 4, H: 1},
		rows: `
╭────────╮
│ top ┬╮ │
│ this││ │
│     ╰┤ │
│      │ │
│ end  ╵ │
╰────────╯`, want: `
╭────────╮
│ top ┬╮ │
│┏━━━━┓│ │
│┃this┃│ │
│┗━━━━┛┤ │
│ end  ╵ │
╰────────╯`,
	}, {
		name: "at the frame", spot: grid.Rect{X: 2, Y: 1, W: 4, H: 1},
		rows: `
╭─ title ╮
│ this   │
│        │
│ below  │
│        │
╰────────╯`, want: `
╭─ title ╮
│┏━━━━┓  │
│┃this┃  │
│┗━━━━┛  │
│ below  │
╰────────╯`,
	}} {
		lines := strings.Split(strings.TrimPrefix(c.rows, "\n"), "\n")
		g := grid.New(10, len(lines))
		for y, l := range lines {
			g.Area().Text(0, y, l, theme.Text)
		}
		r, whole := makeRoom(g.Area(), []grid.Rect{c.spot}).moved(c.spot, true)
		if _, all := outline(g.Area(), r, true); !whole || !all {
			t.Errorf("%s: the spot is seen whole: %v, its ring: %v", c.name, whole, all)
		}
		if got := "\n" + planeOf(g); got != c.want {
			t.Errorf("%s:%s\nwant:%s", c.name, got, c.want)
		}
	}
}

func planeOf(g *grid.Grid) string {
	text, _, _ := strings.Cut(g.Plane(), "\n----")
	return strings.TrimRight(text, "\n")
}

// Whatever stands on a picture: rows stay in their order, those of a spot stay together, and where half of the rows are
// free a spot gets its ring.
func TestRoomKeepsTheOrder(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		h := rapid.IntRange(8, 20).Draw(t, "rows")
		g := grid.New(12, h)
		a := g.Area()
		in := a.Frame(nil, theme.Line)
		full := map[int]bool{}
		for y := range in.H() {
			if full[y] = rapid.Bool().Draw(t, "full"); full[y] {
				in.Text(1, y, string(rune('A'+y))+"xxxxxxx", theme.Text)
			}
		}
		spot := grid.Rect{X: 2, Y: rapid.IntRange(1, h-2).Draw(t, "y"), W: 8, H: 1}
		in.Text(1, spot.Y-1, "here    ", theme.Text)
		r, whole := makeRoom(a, []grid.Rect{spot}).moved(spot, true)
		if !whole || strings.TrimSpace(a.Screen(r).Row(0)) != "here" {
			t.Fatalf("the spot is at %v, whole: %v\n%s", r, whole, g.Plane())
		}
		_, all := outline(a, r, true)
		free := 0
		for y := range in.H() {
			if !full[y] && y != spot.Y-1 {
				free++
			}
		}
		if !all && free >= 4 {
			t.Fatalf("%d rows are free, and the ring lacks a side:\n%s", free, g.Plane())
		}
		var order []string
		for y := range in.H() {
			if first := strings.TrimSpace(in.Row(y)); first != "" && first[0] >= 'A' && first[0] <= 'Z' {
				order = append(order, first[:1])
			}
		}
		if !slices.IsSorted(order) {
			t.Fatalf("rows %v:\n%s", order, g.Plane())
		}
	})
}
