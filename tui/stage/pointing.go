package stage

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// cell is one that can be pointed at.
type cell struct {
	name string
	r    grid.Rect
}

// Cells are the names of what can be pointed at on the screen as it was last drawn, from above and
// from the left; none while no question asks for that.
func (s *Stage) Cells() (names []string) {
	for _, c := range s.cells() {
		names = append(names, c.name)
	}
	return names
}

func (s *Stage) cells() (all []cell) {
	if s.picture == nil || !s.points() {
		return nil
	}
	for _, name := range s.picture.cells(s.look.Beat.Point) {
		if r, _ := s.picture.Find(name); !r.Empty() {
			all = append(all, cell{name, r})
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int {
		if a.r.Y != b.r.Y {
			return a.r.Y - b.r.Y
		}
		return a.r.X - b.r.X
	})
	return all
}

// points reports whether a question is open that is answered by pointing.
func (s *Stage) points() bool {
	b := s.look.Beat
	return b != nil && b.Point != "" && !b.Past
}

// under is which of the cells the pointer is on: the first, until it is moved.
func (s *Stage) under(all []cell) int {
	return max(slices.IndexFunc(all, func(c cell) bool { return c.name == s.hands.cell }), 0)
}

// drawPointer draws what the pointer is on.
func (s *Stage) drawPointer(a grid.Area) {
	all := s.cells()
	if len(all) == 0 || s.playing() {
		return
	}
	r := all[s.under(all)].r
	for y := range r.H {
		a.Screen(r).Mark(0, y, r.W, grid.Selected)
	}
	outline(a, r, true)
}

// pointRows say how to point, and at what.
func (s *Stage) pointRows() []row {
	all := s.cells()
	if len(all) == 0 {
		return []row{{{Text: "There is nothing on this screen to point at.", Style: theme.Warn}}}
	}
	at := s.under(all)
	return []row{{
		{Text: "You point at ", Style: theme.Text},
		{Text: said(all[at].name), Style: theme.Accent | grid.Bold},
		{Text: fmt.Sprintf("  (%d of %d): the arrows move, enter answers.", at+1, len(all)), Style: theme.Muted},
	}}
}

// said is a cell's name as it is read.
func said(name string) string { return strings.Replace(name, "/", " ", 1) }

var pointKeys = keymap.Hints(keymap.Hint("←↑↓→", "move", "up"), keymap.Hint("⏎", "point", "enter"))

// point is what a key does while something is to be pointed at.
func (s *Stage) point(k tea.KeyPressMsg) (does action.Action, ours bool) {
	all := s.cells()
	if len(all) == 0 {
		return nil, false
	}
	at := s.under(all)
	dx, dy := 0, 0
	switch k.Code {
	case tea.KeyEnter:
		names := s.Cells()
		return action.Lesson("point " + strings.Join(append([]string{names[at]}, names...), " ")), true
	case tea.KeyLeft:
		dx = -1
	case tea.KeyRight:
		dx = 1
	case tea.KeyUp:
		dy = -1
	case tea.KeyDown:
		dy = 1
	default:
		return nil, false
	}
	s.hands.cell = all[towards(all, at, dx, dy)].name
	return action.Redraw{}, true
}

// towards is the nearest cell in a direction; the same where there is none.
func towards(all []cell, from, dx, dy int) int {
	best, least := from, 0
	x, y := middle(all[from].r)
	for i, c := range all {
		cx, cy := middle(c.r)
		along, across := (cx-x)*dx+(cy-y)*dy*2, (cx-x)*dy+(cy-y)*dx*2 // a row is as high as two columns are wide
		if i == from || along <= 0 {
			continue
		}
		if far := along + 2*max(across, -across); best == from || far < least {
			best, least = i, far
		}
	}
	return best
}

func middle(r grid.Rect) (x, y int) { return r.X + r.W/2, r.Y + r.H/2 }

// CellsOf are what can be pointed at in a beat on a screen of so many columns and rows, for whoever
// has none.
func CellsOf(makers []pane.Maker, look lessons.Look, h *view.History, w, height int) []string {
	s := New(makers)
	s.Update(look, h)
	g := grid.New(w, height)
	s.Draw(g, Around{})
	s.play = endOf(s.play)
	s.Draw(g, Around{})
	return s.Cells()
}
