package grid

import "strings"

// Rect is a rectangle of cells.
type Rect struct{ X, Y, W, H int }

// Has reports whether the cell x, y lies in r.
func (r Rect) Has(x, y int) bool {
	return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H
}

// Empty reports whether r holds no cell.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Inset is r less n cells on every side.
func (r Rect) Inset(n int) Rect { return Rect{r.X + n, r.Y + n, max(r.W-2*n, 0), max(r.H-2*n, 0)} }

// And is what two rectangles have in common.
func (r Rect) And(o Rect) Rect {
	x, y := max(r.X, o.X), max(r.Y, o.Y)
	return Rect{x, y, max(min(r.X+r.W, o.X+o.W)-x, 0), max(min(r.Y+r.H, o.Y+o.H)-y, 0)}
}

// Area is a window on a grid. Coordinates are relative to its upper left
// corner; what lies outside of it is not drawn.
type Area struct {
	g    *Grid
	R    Rect // where it is on the grid
	clip Rect
}

// W is the width in cells.
func (a Area) W() int { return a.R.W }

// H is the height in cells.
func (a Area) H() int { return a.R.H }

// Sub is a window on a part of the area, clipped to it.
func (a Area) Sub(x, y, w, h int) Area {
	r := Rect{a.R.X + x, a.R.Y + y, max(w, 0), max(h, 0)}
	return Area{g: a.g, R: r, clip: a.clip.And(r)}
}

// Rows is the window on h rows from y on, full width.
func (a Area) Rows(y, h int) Area { return a.Sub(0, y, a.R.W, h) }

// Put draws one rune of width 1.
func (a Area) Put(x, y int, r rune, s Style) {
	x, y = a.R.X+x, a.R.Y+y
	if a.clip.Has(x, y) {
		a.g.set(x, y, Cell{r, s})
	}
}

// Fill draws r in every cell.
func (a Area) Fill(r rune, s Style) {
	for y := 0; y < a.R.H; y++ {
		for x := 0; x < a.R.W; x++ {
			a.Put(x, y, r, s)
		}
	}
}

// Clear blanks the area.
func (a Area) Clear() {
	r := a.R.And(a.clip)
	for y := r.Y; y < r.Y+r.H; y++ {
		row := a.g.cells[y*a.g.w:]
		if r.X > 0 && row[r.X].R == continuation && r.W > 0 {
			row[r.X-1].R = ' ' // its right half is going
		}
		if end := r.X + r.W; end < a.g.w && row[end].R == continuation {
			row[end].R = ' '
		}
		clear(row[r.X : r.X+r.W])
	}
}

// Text draws s at x, y on one line and gives the column after it. What does
// not fit is cut, and the cut is marked with "…"; control characters, emoji and
// zero-width runes never reach the screen (see [Clean]).
func (a Area) Text(x, y int, s string, st Style) int {
	from := x
	for _, r := range s {
		r, w := clean(r)
		if w > 0 && x+w > a.R.W && x > from {
			if r != ' ' {
				a.Put(a.R.W-1, y, '…', st)
			}
			return a.R.W
		}
		switch w {
		case 0:
			continue
		case 2:
			if x+1 >= a.R.W {
				a.Put(x, y, ' ', st)
				return x + 1
			}
			a.Put(x, y, r, st)
			a.put2(x+1, y, st)
		default:
			a.Put(x, y, r, st)
		}
		x += w
	}
	return x
}

func (a Area) put2(x, y int, s Style) {
	x, y = a.R.X+x, a.R.Y+y
	if a.clip.Has(x, y) && x > 0 {
		a.g.cells[y*a.g.w+x] = Cell{continuation, s}
	}
}

// Fit draws s within w columns and marks a cut with "…". It gives the column
// after what was drawn.
func (a Area) Fit(x, y, w int, s string, st Style) int { return a.Text(x, y, Cut(s, w), st) }

// Right draws s so that it ends before column x.
func (a Area) Right(x, y int, s string, st Style) { a.Text(x-Width(s), y, s, st) }

// Center draws s in the middle of row y.
func (a Area) Center(y int, s string, st Style) {
	s = Cut(s, a.R.W)
	a.Text((a.R.W-Width(s))/2, y, s, st)
}

// Span is a piece of text in one style.
type Span struct {
	Text  string
	Style Style
}

// Spans draws pieces one after another and gives the column after them. A
// piece that finds no room any more is marked like a cut.
func (a Area) Spans(x, y int, spans ...Span) int {
	for _, s := range spans {
		if x >= a.R.W {
			if strings.TrimSpace(s.Text) != "" {
				a.Put(a.R.W-1, y, '…', s.Style)
			}
			continue
		}
		x = a.Text(x, y, s.Text, s.Style)
	}
	return x
}

// Row is the text of a row, a rune a column.
func (a Area) Row(y int) string {
	row := make([]rune, a.R.W)
	for x := range row {
		if row[x] = a.g.At(a.R.X+x, a.R.Y+y).R; row[x] == 0 {
			row[x] = ' '
		}
	}
	return string(row)
}

// Mark adds attributes to the cells of a row, from x on, w wide.
func (a Area) Mark(x, y, w int, attr Style) {
	for i := 0; i < w; i++ {
		px, py := a.R.X+x+i, a.R.Y+y
		if a.clip.Has(px, py) {
			c := &a.g.cells[py*a.g.w+px]
			c.S |= attr
			if c.R == 0 {
				c.R = ' '
			}
		}
	}
}

// Dim gives every cell of the area the style s, keeping its rune: what lies
// under an overlay.
func (a Area) Dim(s Style) {
	for y := a.clip.Y; y < a.clip.Y+a.clip.H; y++ {
		for x := a.clip.X; x < a.clip.X+a.clip.W; x++ {
			a.g.cells[y*a.g.w+x].S = s
		}
	}
}

// Wrap draws s over as many rows as it takes, at most h, broken at spaces,
// and gives the number of rows used. A cut is marked with "…".
func (a Area) Wrap(x, y, w, h int, s string, st Style) int {
	lines := Lines(s, w)
	for i, l := range lines {
		if i >= h {
			return h
		}
		if i == h-1 && len(lines) > h {
			l = Cut(l+" …", w)
			if Width(l) < w && l[len(l)-len("…"):] != "…" {
				l += "…"
			}
		}
		a.Text(x, y+i, l, st)
	}
	return len(lines)
}

// Screen is a part of the area by its place on the grid.
func (a Area) Screen(r Rect) Area { return Area{g: a.g, R: r, clip: a.clip.And(r)} }

// Rune is the rune in the area's first cell, 0 for none.
func (a Area) Rune() rune {
	if !a.clip.Has(a.R.X, a.R.Y) {
		return 0
	}
	return a.g.At(a.R.X, a.R.Y).R
}

// DimBut is [Area.Dim] except for some places on the grid.
func (a Area) DimBut(s Style, but ...Rect) {
	for y := a.clip.Y; y < a.clip.Y+a.clip.H; y++ {
	cells:
		for x := a.clip.X; x < a.clip.X+a.clip.W; x++ {
			for _, r := range but {
				if r.Has(x, y) {
					continue cells
				}
			}
			a.g.cells[y*a.g.w+x].S = s
		}
	}
}

// Cells is a copy of a row of the area; cells outside of the grid are blank.
func (a Area) Cells(y int) []Cell {
	row := make([]Cell, a.R.W)
	for x := range row {
		row[x] = a.g.At(a.R.X+x, a.R.Y+y)
	}
	return row
}

// Lay puts cells into a row of the area, wide ones too, as [Area.Cells] gave them.
func (a Area) Lay(y int, cells []Cell) {
	for x, c := range cells[:min(len(cells), a.R.W)] {
		if a.clip.Has(a.R.X+x, a.R.Y+y) {
			a.g.cells[(a.R.Y+y)*a.g.w+a.R.X+x] = c
		}
	}
}
