package pane

import (
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Sheet is what a pane draws on: as wide as its window, as long as it takes. A
// part of a sheet ([Sheet.Part]) is a column of it with its own width, so that
// what is drawn one below the other in a narrow window stands side by side in
// a wide one.
type Sheet struct {
	g     *grid.Grid
	x, w  int
	rows  int
	hots  []Hot
	marks []mark
	whole *Sheet // the sheet this is a part of; nil for the whole
}

// Hot is a thing on the sheet that the cursor can be on.
type Hot struct {
	X, Y, W int
	Subject
	tell func() string // makes its words; nil where it has them
}

// mark is a name for a part of the sheet.
type mark struct {
	r    grid.Rect
	name string
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
	s.w, s.rows, s.hots, s.marks = w, 0, s.hots[:0], s.marks[:0]
}

// W is the width.
func (s *Sheet) W() int { return s.w }

// Len is the number of rows drawn so far, of a part those drawn in it.
func (s *Sheet) Len() int { return s.rows }

// Part is the columns x to x+w as a sheet of its own.
func (s *Sheet) Part(x, w int) *Sheet {
	whole := s
	if s.whole != nil {
		whole = s.whole
	}
	return &Sheet{x: s.x + x, w: max(min(w, s.w-x), 0), whole: whole}
}

// Columns reports whether this is a part of a sheet, with others beside it.
func (s *Sheet) Columns() bool { return s.whole != nil }

// Halves are two parts beside each other from row y on, the first left columns
// wide; [Sheet.Divide] draws the line between them when both are drawn.
func (s *Sheet) Halves(left int) (a, b *Sheet) { return s.Part(0, left-1), s.Part(left+2, s.w-left-2) }

// Divide draws the line between two halves from row y to the end of both.
func (s *Sheet) Divide(y, left int, a, b *Sheet) int {
	end := max(a.rows, b.rows, y)
	for ; y < end; y++ {
		s.Row(y).Put(left, 0, '│', theme.Line)
	}
	return end
}

// Rows gives the rows y to y+h to draw on.
func (s *Sheet) Rows(y, h int) grid.Area {
	y = min(y, maxRows)
	h = max(min(h, maxRows-y), 0)
	s.rows = max(s.rows, y+h)
	if s.whole != nil {
		return s.whole.Rows(y, h).Sub(s.x, 0, s.w, h)
	}
	s.g.Grow(s.rows)
	return s.g.Area().Rows(y, h)
}

// Row gives one row to draw on.
func (s *Sheet) Row(y int) grid.Area { return s.Rows(y, 1) }

// Hot says that w cells at x, y are a thing.
func (s *Sheet) Hot(x, y, w int, on Subject) { s.HotTold(x, y, w, on, nil) }

// HotTold is [Sheet.Hot] for what there is much of: its words are made by tell once the cursor is on it.
func (s *Sheet) HotTold(x, y, w int, on Subject, tell func() string) {
	if x >= s.w || w <= 0 || y >= maxRows {
		return
	}
	whole := s
	if s.whole != nil {
		whole = s.whole
	}
	whole.hots = append(whole.hots, Hot{s.x + x, y, min(w, s.w-x), on, tell})
}

// Mark gives a part of the sheet a name, by which a lesson can point at it; the cursor cannot be
// on it for that. What is hot has its subject's name already.
func (s *Sheet) Mark(r grid.Rect, name string) {
	whole := s
	if s.whole != nil {
		whole = s.whole
	}
	r.X += s.x
	whole.marks = append(whole.marks, mark{r, name})
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

// Heading draws a section's name and a note on it, and a rule to the end of
// the row. It gives the next row.
func (s *Sheet) Heading(y int, name, note string) int {
	a := s.Row(y)
	x := a.Fit(0, 0, s.w, name, theme.Title) + 1
	if note != "" {
		x = a.Fit(x, 0, s.w-x-1, note, theme.Muted) + 1
	}
	a.HLine(x, 0, s.w-x, theme.Line)
	return y + 1
}

// Say draws a sentence over as many rows as it takes and gives the next row.
func (s *Sheet) Say(y int, text string, st grid.Style) int {
	n := len(grid.Lines(text, s.w))
	s.Rows(y, n).Wrap(0, 0, s.w, n, text, st)
	return y + n
}

// Legend draws pairs of a sign and its meaning one after another, in as many
// rows as they take, and gives the next row.
func (s *Sheet) Legend(y int, pairs ...[2]string) int {
	x := 0
	for _, p := range pairs {
		if w := grid.Width(p[0]) + 1 + grid.Width(p[1]); x > 0 && x+w > s.w {
			x, y = 0, y+1
		}
		a := s.Row(y)
		x = a.Text(x, 0, p[0], theme.Name)
		x = a.Text(x+1, 0, p[1], theme.Muted) + 2
	}
	return y + 1
}
