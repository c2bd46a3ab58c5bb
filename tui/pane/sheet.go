package pane

import (
	"kviz/tui/grid"
)

// Sheet is what a pane draws on: as wide as its window, as long as it takes.
type Sheet struct {
	g    *grid.Grid
	w    int
	rows int
	hots []Hot
}

// Hot is a thing on the sheet that the cursor can be on.
type Hot struct {
	X, Y, W int
	Subject
}

// maxRows bounds a sheet; a pane that has more says so in its last row.
const maxRows = 4000

func (s *Sheet) reset(w, h int) {
	if s.g == nil {
		s.g = grid.New(w, max(h, 16))
	}
	gw, gh := s.g.Size()
	if gw != w || gh > 4*max(s.rows, h, 16) {
		s.g.Resize(w, max(h, 16))
	} else {
		s.g.Area().Rows(0, s.rows).Clear()
	}
	s.w, s.rows, s.hots = w, 0, s.hots[:0]
}

// W is the width.
func (s *Sheet) W() int { return s.w }

// Len is the number of rows drawn so far.
func (s *Sheet) Len() int { return s.rows }

// Rows gives the rows y to y+h to draw on.
func (s *Sheet) Rows(y, h int) grid.Area {
	y = min(y, maxRows)
	h = max(min(h, maxRows-y), 0)
	if y+h > s.rows {
		s.rows = y + h
		s.g.Grow(s.rows)
	}
	return s.g.Area().Rows(y, h)
}

// Row gives one row to draw on.
func (s *Sheet) Row(y int) grid.Area { return s.Rows(y, 1) }

// Hot says that w cells at x, y are a thing.
func (s *Sheet) Hot(x, y, w int, on Subject) {
	if x >= s.w || w <= 0 || y >= maxRows {
		return
	}
	s.hots = append(s.hots, Hot{x, y, min(w, s.w-x), on})
}

// Line draws spans in row y and makes the whole row hot if the subject is one.
func (s *Sheet) Line(y int, on Subject, spans ...grid.Span) int {
	a := s.Row(y)
	x := a.Spans(0, 0, spans...)
	if on.ID != "" {
		s.Hot(0, y, s.w, on)
	}
	return x
}
