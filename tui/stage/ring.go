package stage

import (
	"fmt"
	"hash/fnv"
	"strings"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// spot is a name of cells, "store:member/a", on the pane on the stage; of another pane it is "".
func (p *picture) spot(name string) string {
	of, name, ok := strings.Cut(name, ":")
	if !ok || of != p.name {
		return ""
	}
	return name
}

// frame is what the pane on the stage draws.
func (s *Stage) frame(st *view.State) pane.Frame {
	return pane.Frame{S: st, H: s.history, Stage: true}
}

// spots are the names of what is ringed: what somebody points out, else what the beat is about.
func (s *Stage) spots() []string {
	if len(s.extra) > 0 {
		return s.extra
	}
	return s.look.Beat.Spots
}

// sight is what is to be seen of a state at the beat's spots, as a number that differs where the
// sight does; without spots, of the whole picture.
func (s *Stage) sight(st *view.State, w, h int) uint64 {
	sum := fnv.New64a()
	if s.measured == nil {
		return 0
	}
	if gw, gh := s.scratch.Size(); gw != w || gh != h {
		s.scratch.Resize(w, h)
	}
	all := grid.Rect{X: 0, Y: 0, W: w, H: h}
	draw := func() {
		s.measured.Dirty()
		s.measured.Draw(s.scratch, all, s.frame(st))
	}
	draw()
	if s.reveal(s.measured) {
		draw()
	}
	cells := func(r grid.Rect) {
		for y := r.Y; y < r.Y+r.H; y++ {
			for x := r.X; x < r.X+r.W; x++ {
				c := s.scratch.At(x, y)
				if s.plain != nil {
					fmt.Fprintf(sum, "%d %s;", c.R, s.plain.SGR(c.S&^grid.Fresh))
					continue
				}
				fmt.Fprintf(sum, "%d %d;", c.R, c.S&^grid.Fresh)
			}
		}
	}
	if len(s.look.Beat.Spots) == 0 {
		cells(all.Inset(1))
		return sum.Sum64()
	}
	for _, name := range s.look.Beat.Spots {
		if r, _ := s.measured.Find(s.measured.spot(name)); !r.Empty() {
			cells(r)
		}
		fmt.Fprint(sum, "|")
	}
	return sum.Sum64()
}

// reveal scrolls a picture to the first of the beat's spots, or to one that is not seen whole, and reports whether it did.
func (s *Stage) reveal(p *picture) bool {
	for i, name := range s.spots() {
		if _, whole := p.Find(p.spot(name)); (i == 0 || !whole) && p.Reveal(p.spot(name)) {
			return true
		}
	}
	return false
}

// ringed are the cells around which a ring goes, as they were drawn.
func (s *Stage) ringed() (spots []grid.Rect) {
	for _, name := range s.spots() {
		if r, _ := s.picture.Find(s.picture.spot(name)); !r.Empty() {
			spots = append(spots, r)
		}
	}
	return spots
}

// rings draws outlines around the beat's spots, and the rest of the picture darker; it gives the
// names of those that are not to be seen whole.
func (s *Stage) rings(a grid.Area) (missing []string) {
	b := s.look.Beat
	s.hidden, s.bare, s.open = nil, nil, nil
	var spots []grid.Rect
	var named []string
	for _, name := range s.spots() {
		r, whole := s.picture.Find(s.picture.spot(name))
		if !whole {
			missing = append(missing, name)
		}
		if !r.Empty() {
			spots, named = append(spots, r), append(named, name)
		}
	}
	for _, name := range b.Hide {
		h := hidden{name: name}
		for _, r := range s.picture.FindAll(s.picture.spot(name)) {
			h.texts = append(h.texts, textsOf(a.Screen(r))...)
			a.Screen(r).Clear()
		}
		s.hidden = append(s.hidden, h)
	}
	if len(spots) > 0 && s.look.Kind == lessons.See {
		a.DimBut(theme.Muted, spots...)
	}
	for i, r := range spots {
		drawn, whole := outline(a, r, i == 0)
		if !drawn {
			s.bare = append(s.bare, named[i])
		}
		if !whole {
			s.open = append(s.open, named[i])
		}
	}
	return missing
}

// The lines of a ring: heavy around the first spot, thin around the second.
var lines = map[bool][6]rune{true: {'┏', '━', '┓', '┃', '┗', '┛'}, false: {'┌', '─', '┐', '│', '└', '┘'}}

// outline draws a ring around cells of the screen, over nothing but blanks and lines: where words stand above or below,
// that side of it is left open, so that they can be read. It reports whether any of it is drawn, and whether all of it is.
func outline(a grid.Area, r grid.Rect, heavy bool) (drawn, whole bool) {
	l := lines[heavy]
	whole = true
	put := func(x, y int, c rune) {
		if !passable(a, x, y, 1) {
			whole = false
			return
		}
		a.Screen(grid.Rect{X: x, Y: y, W: 1, H: 1}).Put(0, 0, c, theme.Accent|grid.Bold)
		drawn = true
	}
	left, right := r.X-1, r.X+r.W
	for y := r.Y; y < r.Y+r.H; y++ {
		put(left, y, l[3])
		put(right, y, l[3])
	}
	side := func(y int, begin, end rune) {
		if !passable(a, left, y, r.W+2) {
			whole = false
			return
		}
		put(left, y, begin)
		for x := r.X; x < right; x++ {
			put(x, y, l[1])
		}
		put(right, y, end)
	}
	side(r.Y-1, l[0], l[2])
	side(r.Y+r.H, l[4], l[5])
	return drawn, whole
}

// passable reports whether nothing stands in w cells of a row of the screen but blanks and lines, over which a ring can go.
func passable(a grid.Area, x, y, w int) bool {
	for ; w > 0; x, w = x+1, w-1 {
		c := runeAt(a, x, y)
		if c != 0 && c != ' ' && c != '·' && (c < 0x2500 || c > 0x257f) && (c < 0x2800 || c > 0x28ff) {
			return false
		}
	}
	return true
}
