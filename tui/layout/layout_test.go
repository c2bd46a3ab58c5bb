package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
	"kviz/tui/grid"
)

// Whatever the size, nothing overlaps, nothing leaves the screen, the focused
// pane is there, and the parts fill it.
func TestPartsTileTheScreen(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		panes := names(rapid.IntRange(9, 14).Draw(r, "panes"))
		in := In{
			Panes: panes,
			W:     rapid.IntRange(1, 260).Draw(r, "w"), H: rapid.IntRange(1, 80).Draw(r, "h"), Preset: rapid.IntRange(-3, 9).Draw(r, "preset"),
			Focus: rapid.SampledFrom(panes).Draw(r, "focus"), Zoom: rapid.Bool().Draw(r, "zoom"), Lesson: rapid.Bool().Draw(r, "lesson"), Console: rapid.SampledFrom([]int{0, Rest, 6, 200}).Draw(r, "console"),
			Menu: rapid.Bool().Draw(r, "menu"),
		}
		o := Compute(in)
		if o.TooSmall != "" {
			if in.W >= MinW && in.H >= MinH {
				r.Fatalf("%dx%d is said to be too small", in.W, in.H)
			}
			return
		}
		rects := []grid.Rect{o.Status, o.Tabs, o.Lesson, o.Console, o.Menu, o.Explain, o.Timeline, o.Keys}
		focused := false
		for _, s := range o.Slots {
			rects = append(rects, s.Rect)
			focused = focused || s.Pane == in.Focus
			if s.Rect.W < leastW || s.Rect.H < 3 {
				r.Fatalf("pane %s has only %dx%d at %dx%d", s.Pane, s.Rect.W, s.Rect.H, in.W, in.H)
			}
		}
		if !focused {
			r.Fatalf("the focused pane %s is not on the screen: %v", in.Focus, o.Slots)
		}
		cells := 0
		owner := make([]int, in.W*in.H)
		for i, q := range rects {
			for y := q.Y; y < q.Y+q.H; y++ {
				for x := q.X; x < q.X+q.W; x++ {
					if x < 0 || y < 0 || x >= in.W || y >= in.H {
						r.Fatalf("part %d leaves the screen: %v", i, q)
					}
					if owner[y*in.W+x] != 0 {
						r.Fatalf("parts %d and %d overlap at %d,%d", owner[y*in.W+x]-1, i, x, y)
					}
					owner[y*in.W+x] = i + 1
					cells++
				}
			}
		}
		if cells != in.W*in.H {
			r.Fatalf("%d of %d cells are filled", cells, in.W*in.H)
		}
	})
}

// names are names of so many panes.
func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, string(rune('a'+i)))
	}
	return out
}

// With a lesson and a menu beside it, one pane keeps the width that is left.
func TestALessonAndAMenuLeaveOnePane(t *testing.T) {
	in := In{W: 110, H: 18, Panes: names(9), Preset: 2, Focus: "c", Lesson: true, Menu: true}
	if got, want := Compute(in).Slots, []Slot{{Pane: "c", Rect: grid.Rect{Y: 2, W: 30, H: 12}}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHowManyPanesFit(t *testing.T) {
	for _, c := range []struct{ w, h, want int }{{80, 24, 1}, {100, 30, 4}, {120, 40, 6}, {200, 60, 9}, {250, 70, 9}} {
		if got := len(Compute(In{W: c.w, H: c.h, Panes: names(9), Preset: 1, Focus: "a"}).Slots); got != c.want {
			t.Errorf("%dx%d shows %d panes, want %d", c.w, c.h, got, c.want)
		}
	}
}

// The picture stands alone, a pane that is asked for below it; with much room, as one of four.
// A lesson's panes are shown as everywhere else, and a console leaves the picture its rows.
func TestThePictureComesFirst(t *testing.T) {
	for _, c := range []struct {
		w, h  int
		focus string
		order []string
		want  []Slot
	}{
		{80, 24, "a", nil, []Slot{{Pane: "a", Rect: grid.Rect{Y: 2, W: 80, H: 18}}}},
		{80, 24, "c", nil, []Slot{{Pane: "c", Rect: grid.Rect{Y: 2, W: 80, H: 18}}}},
		{120, 40, "a", nil, []Slot{{Pane: "a", Rect: grid.Rect{Y: 2, W: 120, H: 31}}}},
		{120, 40, "c", nil, []Slot{{Pane: "a", Rect: grid.Rect{Y: 2, W: 120, H: 17}}, {Pane: "c", Rect: grid.Rect{Y: 19, W: 120, H: 14}}}},
		{200, 60, "a", nil, []Slot{{Pane: "a", Rect: grid.Rect{Y: 2, W: 120, H: 34}}, {Pane: "b", Rect: grid.Rect{X: 120, Y: 2, W: 80, H: 34}}, {Pane: "c", Rect: grid.Rect{Y: 36, W: 100, H: 17}}, {Pane: "d", Rect: grid.Rect{X: 100, Y: 36, W: 100, H: 17}}}},
	} {
		in := In{W: c.w, H: c.h, Panes: names(9), Focus: c.focus, Order: c.order}
		if got := Compute(in).Slots; !slices.Equal(got, c.want) {
			t.Errorf("%dx%d with %s in focus: %v, want %v", c.w, c.h, c.focus, got, c.want)
		}
	}
	in := In{W: 120, H: 40, Panes: names(9), Focus: "b", Order: []string{"b"}}
	if got := len(Compute(in).Slots); got != 6 {
		t.Errorf("a lesson that names a pane shows %d, want 6", got)
	}
	in = In{W: 80, H: 24, Panes: names(9), Focus: "a", Console: 200}
	if got := Compute(in).Slots[0].Rect.H; got < picturedRows-1 {
		t.Errorf("the console leaves %d rows for the picture, want %d", got, picturedRows-1)
	}
}
