package layout

import (
	"testing"

	"pgregory.net/rapid"

	"kviz/tui/grid"
)

// Whatever the size, nothing overlaps, nothing leaves the screen, the focused
// pane is there, and the parts fill it.
func TestPartsTileTheScreen(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		panes := names(rapid.IntRange(9, 14).Draw(r, "panes"))
		in := In{
			Panes: panes,
			W:     rapid.IntRange(1, 260).Draw(r, "w"), H: rapid.IntRange(1, 80).Draw(r, "h"), Preset: rapid.IntRange(-3, 9).Draw(r, "preset"),
			Focus: rapid.SampledFrom(panes).Draw(r, "focus"), Zoom: rapid.Bool().Draw(r, "zoom"), Lesson: rapid.Bool().Draw(r, "lesson"), Console: rapid.Bool().Draw(r, "console"),
		}
		o := Compute(in)
		if o.TooSmall != "" {
			if in.W >= MinW && in.H >= MinH {
				r.Fatalf("%dx%d is said to be too small", in.W, in.H)
			}
			return
		}
		rects := []grid.Rect{o.Status, o.Tabs, o.Lesson, o.Console, o.Explain, o.Timeline, o.Keys}
		focused := false
		for _, s := range o.Slots {
			rects = append(rects, s.Rect)
			focused = focused || s.Pane == in.Focus
			if s.Rect.W < 20 || s.Rect.H < 3 {
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

func TestHowManyPanesFit(t *testing.T) {
	for _, c := range []struct{ w, h, want int }{{80, 24, 1}, {100, 30, 4}, {120, 40, 6}, {200, 60, 9}, {250, 70, 9}} {
		if got := len(Compute(In{W: c.w, H: c.h, Panes: names(9), Focus: "a"}).Slots); got != c.want {
			t.Errorf("%dx%d shows %d panes, want %d", c.w, c.h, got, c.want)
		}
	}
}
