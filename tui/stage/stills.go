package stage

import (
	"slices"
	"time"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/pane"
)

// Stills keeps the picture of each beat as it stands, without what is around it ([lessons.Screen]).
type Stills struct {
	makers []pane.Maker
	w, h   int
	of     map[string]*grid.Grid
}

// NewStills keeps the pictures of a screen of a size.
func NewStills(makers []pane.Maker, w, h int) *Stills {
	return &Stills{makers, w, h, map[string]*grid.Grid{}}
}

// Cells implements [lessons.Screen].
func (f *Stills) Cells(look lessons.Look, h *view.History) []string {
	return CellsOf(f.makers, look, h, f.w, f.h)
}

// Prove implements [lessons.Screen].
func (f *Stills) Prove(look lessons.Look, h *view.History) (time.Duration, error) {
	b := *look.Beat
	b.Ghosts, look.Beat = nil, &b // nobody has guessed
	s := New(f.makers)
	s.Update(look, h)
	g := grid.New(f.w, f.h)
	s.Draw(g, Around{})
	s.play = endOf(s.play)
	s.Draw(g, Around{})
	f.of[b.ID] = cropped(g, divide(g.Area()).stage.R)
	return 0, nil
}

// Of is the picture of a beat, nil for none.
func (f *Stills) Of(beat string) *grid.Grid { return f.of[beat] }

// cropped is a part of a screen, full width, without the rows at its end in which nothing but the frame is.
func cropped(g *grid.Grid, r grid.Rect) *grid.Grid {
	a := g.Window(r)
	last := r.H - 1
	blank := func(y int) bool {
		cells := a.Cells(y)
		return !slices.ContainsFunc(cells[min(1, len(cells)):max(len(cells)-1, 0)], func(c grid.Cell) bool { return c.R != 0 && c.R != ' ' })
	}
	rows := last
	for rows > 2 && blank(rows-1) && blank(rows-2) {
		rows--
	}
	out := grid.New(r.W, rows+1)
	for y := range rows {
		out.Area().Lay(y, a.Cells(y))
	}
	out.Area().Lay(rows, a.Cells(last))
	return out
}
