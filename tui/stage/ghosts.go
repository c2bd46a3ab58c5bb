package stage

import (
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// ghostly begins what the learner expected: it stands beside what is so, and is no part of it.
const ghostly = "┆"

// ghosts draws what the learner expected at the cells that it is about; it gives the names of those
// that are not on the screen, or have no room beside them.
func (s *Stage) ghosts(a grid.Area, all []lessons.GhostLook) (missing []string) {
	drawn := false
	for _, ghost := range all {
		if of, _, _ := strings.Cut(ghost.At, ":"); of != s.picture.name {
			continue // it is about a picture that this beat does not show
		}
		stands := false
		var same []grid.Rect // where it stands for the cells before
		for _, name := range s.picture.cells(ghost.At) {
			r, _ := s.picture.Find(name)
			if r.Empty() {
				continue
			}
			long, short := spoken(ghost.Says)
			if at, ok := haunt(a, r, long, short, theme.Muted, same); ok {
				stands, same = true, append(same, at)
			}
		}
		if !stands {
			missing = append(missing, ghost.At)
		}
		drawn = drawn || stands
	}
	if drawn {
		text := " " + ghostly + " your prediction, frozen at #" + s.look.Beat.Frozen.String() + " "
		a.Text(2, a.H()-1, text, theme.Muted)
	}
	return missing
}

// cells are the names of the things on the picture that a name of a lesson stands for: one, or
// with a * all that are called so.
func (p *picture) cells(name string) []string {
	of := p.spot(name)
	before, after, pattern := strings.Cut(of, "*")
	if !pattern {
		return []string{of}
	}
	var all []string
	for _, t := range p.Things() {
		if rest, ok := strings.CutPrefix(t, before); ok {
			if part, ok := strings.CutSuffix(rest, after); ok && part != "" && !strings.ContainsAny(part, "/#") {
				all = append(all, t)
			}
		}
	}
	return all
}

// spoken is a ghost in words, and in fewer.
func spoken(says string) (long, short string) {
	if says == "" {
		return ghostly + " you", ghostly + " you"
	}
	return ghostly + " you: " + says, ghostly + " " + says
}

// haunt draws a ghost beside cells of the screen, where nothing stands: inside of a box, else below
// them, above them, or to either side. Where the same stands there already it is not said again. It
// gives the place, and reports whether there was room.
func haunt(a grid.Area, r grid.Rect, long, short string, st grid.Style, same []grid.Rect) (grid.Rect, bool) {
	said := slices.IndexFunc(same, func(s grid.Rect) bool { return touches(s, r) })
	if w := grid.Width(long); said >= 0 && !free(a, r.X-1, r.Y+r.H, w+2) && !free(a, r.X-1, r.Y-1, w+2) {
		return same[said], true
	}
	for _, text := range []string{long, short} {
		w := grid.Width(text)
		for _, at := range places(r, w) {
			if !free(a, at.X-1, at.Y, w+2) {
				continue
			}
			a.Screen(at).Text(0, 0, text, st)
			return at, true
		}
	}
	return grid.Rect{}, false
}

// touches reports whether a text stands beside cells, or right below or above them.
func touches(text, r grid.Rect) bool {
	return text.Y >= r.Y-1 && text.Y <= r.Y+r.H && text.X < r.X+r.W+2 && text.X+text.W > r.X-2
}

// places are where w cells can stand beside others, the best first.
func places(r grid.Rect, w int) (all []grid.Rect) {
	row := func(y, from, to int) {
		for x := from; x <= to; x++ {
			all = append(all, grid.Rect{X: x, Y: y, W: w, H: 1})
		}
	}
	if r.H > 2 {
		for y := r.Y + 1; y < r.Y+r.H-1; y++ {
			row(y, r.X+1, r.X+r.W-1-w)
		}
	}
	for _, y := range []int{r.Y + r.H, r.Y - 1, r.Y + r.H + 1, r.Y - 2} { // a ring may take the nearest
		row(y, r.X, max(r.X, r.X+r.W-w))
		row(y, r.X+r.W-w, r.X-1)
	}
	sides := func(y int) {
		row(y, r.X+r.W+1, r.X+r.W+2)
		row(y, r.X-w-2, r.X-w-1)
	}
	for y := r.Y; y < r.Y+r.H; y++ {
		sides(y)
	}
	sides(r.Y + r.H)
	sides(r.Y - 1)
	return all
}

// free reports whether nothing stands in w cells of a row inside a frame.
func free(a grid.Area, x, y, w int) bool {
	in := a.R.Inset(1)
	if x+1 < in.X || x+w-1 > in.X+in.W || y < in.Y || y >= in.Y+in.H {
		return false
	}
	for i := range w {
		c := a.Screen(grid.Rect{X: x + i, Y: y, W: 1, H: 1}).Rune()
		edge := i == 0 || i == w-1
		if c != 0 && c != ' ' && !(edge && strings.ContainsRune("│┃", c)) {
			return false
		}
	}
	return true
}
