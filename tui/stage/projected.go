package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// A projector shows what a stage shows in parts of its own: the picture alone, the caption, and in the place of one learner's
// ghosts what a class has said.

// Expected is what several said of cells of the picture.
type Expected struct {
	At, Says  string
	Count, Of int // how many of how many; 0 of 0 where there are no numbers
}

// Picture draws the picture of the beat into a place of the grid, with its rings, the pointer of a question that is answered by
// pointing, and nothing else of a learner's own. Where a class has said something of its cells, that stands in the place of ghosts.
func (s *Stage) Picture(g *grid.Grid, place grid.Rect, class []Expected) {
	if s.look.Beat == nil || s.over() || place.Empty() {
		return
	}
	s.set()
	s.rehearse(place.W, place.H)
	s.projected, s.expected = true, class
	s.drawPicture(g, g.Window(place))
	s.projected, s.expected = false, nil
}

// Caption is what is said now, of the picture as it was last drawn.
func (s *Stage) Caption() string {
	if s.look.Beat == nil || s.over() {
		return ""
	}
	return s.caption()
}

// Pointed is what the pointer is on, and which of how many; of 0 there is nothing to point at on the picture as it was last drawn.
func (s *Stage) Pointed() (name string, at, of int) {
	all := s.cells()
	if len(all) == 0 || s.playing() {
		return "", 0, 0
	}
	at = s.under(all)
	return said(all[at].name), at + 1, len(all)
}

// Point is what a key does while something is to be pointed at; ours reports whether it does anything.
func (s *Stage) Point(k tea.KeyPressMsg) (does action.Action, ours bool) {
	if !s.points() || s.playing() {
		return nil, false
	}
	return s.point(k)
}

// Playing reports whether a change is being shown.
func (s *Stage) Playing() bool { return s.playing() }

// Ringed are the words in the rings of the picture that was last drawn on a grid, for those who do not see it.
func (s *Stage) Ringed(g *grid.Grid) (all []string) {
	if s.picture == nil || s.look.Beat == nil || s.over() {
		return nil
	}
	for _, r := range s.ringed() {
		all = append(all, strings.Join(textsOf(g.Window(r)), " "))
	}
	return all
}

// Card draws what a run came to, in the place of all else, and reports whether there is such a card.
func (s *Stage) Card(a grid.Area) bool {
	if s.look.Beat == nil || !s.over() {
		return false
	}
	s.drawCard(a)
	return true
}

// Place is where on the screen something is that can be ringed.
type Place struct {
	Name string // "store:member/a"
	At   grid.Rect
}

// Places are what can be ringed on the picture as it was last drawn, from above and from the left: one name for each place.
func (s *Stage) Places() (all []Place) {
	if s.picture == nil || s.look.Beat == nil || s.over() {
		return nil
	}
	taken := map[grid.Rect]bool{}
	for _, name := range s.picture.Things() {
		r, _ := s.picture.Find(name)
		if r.Empty() || taken[r] || s.hides(name) {
			continue
		}
		taken[r] = true
		all = append(all, Place{s.picture.name + ":" + name, r})
	}
	parts := func(p Place) bool { // of what stands in one row: its whole has the ring
		return slices.ContainsFunc(all, func(o Place) bool { return o.At.H == 1 && o.At != p.At && o.At.And(p.At) == p.At })
	}
	all = slices.DeleteFunc(slices.Clone(all), parts)
	slices.SortStableFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.At.Y, b.At.Y), cmp.Compare(a.At.X, b.At.X))
	})
	return all
}

// hides reports whether the beat hides a thing of the picture.
func (s *Stage) hides(name string) bool {
	return slices.ContainsFunc(s.look.Beat.Hide, func(h string) bool { return s.picture.spot(h) == name })
}

// expectations draws what a class has said at the cells that it is about.
func (s *Stage) expectations(a grid.Area) {
	drawn := false
	for _, e := range s.expected {
		if of, _, _ := strings.Cut(e.At, ":"); of != s.picture.name {
			continue
		}
		long, short := e.words()
		for _, name := range s.picture.cells(e.At) {
			if r, _ := s.picture.Find(name); !r.Empty() {
				_, ok := haunt(a, r, long, short, theme.Number|grid.Bold, nil)
				drawn = drawn || ok
			}
		}
	}
	if drawn {
		a.Text(2, a.H()-1, " "+ghostly+" what the class said ", theme.Muted)
	}
}

// words are an expectation in words, and in fewer.
func (e Expected) words() (long, short string) {
	if e.Of == 0 {
		return strings.TrimSuffix(ghostly+" the class: "+e.Says, ": "), strings.TrimSpace(ghostly + " " + e.Says)
	}
	long, short = fmt.Sprintf("%s %d of %d", ghostly, e.Count, e.Of), fmt.Sprintf("%s %d", ghostly, e.Count)
	if e.Says != "" {
		long, short = long+": "+e.Says, short+": "+e.Says
	}
	return long, short
}
