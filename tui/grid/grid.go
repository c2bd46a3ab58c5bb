// Package grid is the retained cell grid that every pane of the explorer draws
// into. A cell is one rune and one [Style], a small number whose colours the
// theme decides; so a pane never knows which theme is on, and a golden file
// can compare letters and styles as two planes.
//
// Panes draw through an [Area], a window on the grid with its own origin that
// clips, so a drawing mistake cannot touch a neighbour. [Grid.Render] writes
// the whole grid as one string with one escape sequence a run of equal style.
//
// Start reading at [Area.Text].
package grid

import (
	"strings"
)

// Style says what a cell means, not how it looks: the low byte is a role (a
// number the theme package defines), the high byte attributes.
type Style uint16

// Attributes, to be or-ed to a role.
const (
	Bold Style = 1 << (8 + iota)
	Faint
	Underline
	Reverse
	Selected // the row or item under the cursor
	Fresh    // changed by the newest event
	Strike
)

// Role is the style without attributes.
func (s Style) Role() uint8 { return uint8(s) }

// Has reports whether all of the attributes are set.
func (s Style) Has(attr Style) bool { return s&attr == attr }

// Cell is one character position.
type Cell struct {
	R rune // 0 is a blank; continuation is the right half of a wide rune
	S Style
}

// continuation fills the second column of a wide rune.
const continuation rune = -1

// Grid is a screen of cells.
type Grid struct {
	w, h  int
	cells []Cell
	out   strings.Builder
}

// New makes a blank grid.
func New(w, h int) *Grid {
	g := &Grid{}
	g.Resize(w, h)
	return g
}

// Resize gives the grid a new size and blanks it.
func (g *Grid) Resize(w, h int) {
	g.w, g.h = max(w, 0), max(h, 0)
	g.cells = make([]Cell, g.w*g.h)
}

// Size is the width and height in cells.
func (g *Grid) Size() (w, h int) { return g.w, g.h }

// At is the cell at x, y; a blank outside of the grid.
func (g *Grid) At(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.w || y >= g.h {
		return Cell{}
	}
	return g.cells[y*g.w+x]
}

// Area is the window on the whole grid.
func (g *Grid) Area() Area { return Area{g: g, R: Rect{0, 0, g.w, g.h}, clip: Rect{0, 0, g.w, g.h}} }

// Window is the window on r.
func (g *Grid) Window(r Rect) Area { return g.Area().Sub(r.X, r.Y, r.W, r.H) }

// Copy makes dst equal to g, for drawing an overlay over it.
func (g *Grid) Copy(dst *Grid) {
	if dst.w != g.w || dst.h != g.h {
		dst.Resize(g.w, g.h)
	}
	copy(dst.cells, g.cells)
}

func (g *Grid) set(x, y int, c Cell) {
	i := y*g.w + x
	old := g.cells[i]
	if old.R == continuation && x > 0 && c.R != continuation {
		g.cells[i-1].R = ' ' // its left half is gone
	}
	if x+1 < g.w && g.cells[i+1].R == continuation && c.R != continuation {
		g.cells[i+1].R = ' '
	}
	g.cells[i] = c
}

// Render writes the grid as lines joined by newlines. sgr gives the escape
// sequence that switches a style on, "" for the terminal's default; each run
// ends with a reset. Trailing default blanks of a line are left out.
func (g *Grid) Render(sgr func(Style) string) string {
	g.out.Reset()
	g.out.Grow(len(g.cells) * 2)
	for y := 0; y < g.h; y++ {
		if y > 0 {
			g.out.WriteByte('\n')
		}
		row := g.cells[y*g.w : (y+1)*g.w]
		end := len(row)
		for end > 0 && (row[end-1].R == 0 || row[end-1].R == ' ') && sgr(row[end-1].S) == "" {
			end--
		}
		g.run(row[:end], sgr)
	}
	return g.out.String()
}

func (g *Grid) run(row []Cell, sgr func(Style) string) {
	on, last := "", Style(0)
	for i, c := range row {
		if c.R == continuation {
			continue
		}
		if i == 0 || c.S != last { // most cells look like the one before
			last = c.S
			if code := sgr(c.S); code != on {
				if on != "" {
					g.out.WriteString("\x1b[m")
				}
				g.out.WriteString(code)
				on = code
			}
		}
		if c.R == 0 {
			g.out.WriteByte(' ')
		} else {
			g.out.WriteRune(c.R)
		}
	}
	if on != "" {
		g.out.WriteString("\x1b[m")
	}
}

// Plane is the grid's text, one line a row, trailing blanks left out.
func (g *Grid) Plane() string {
	return g.plane(func(c Cell) rune {
		if c.R == 0 {
			return ' '
		}
		return c.R
	})
}

// StylePlane is one letter a cell: that of the cell's role as letter says, in
// upper case where the cell has any attribute. Blank default cells are blank.
func (g *Grid) StylePlane(letter func(role uint8) rune) string {
	return g.plane(func(c Cell) rune {
		if (c.R == 0 || c.R == ' ') && c.S&(Selected|Reverse|Fresh) == 0 {
			return ' '
		}
		r := letter(c.S.Role())
		if c.S>>8 != 0 && 'a' <= r && r <= 'z' {
			r += 'A' - 'a'
		}
		return r
	})
}

func (g *Grid) plane(of func(Cell) rune) string {
	var b strings.Builder
	line := make([]rune, 0, g.w)
	for y := 0; y < g.h; y++ {
		line = line[:0]
		for x := 0; x < g.w; x++ {
			c := g.cells[y*g.w+x]
			if c.R == continuation {
				continue
			}
			line = append(line, of(c))
		}
		b.WriteString(strings.TrimRight(string(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Grow gives the grid at least h rows; what is drawn stays.
func (g *Grid) Grow(h int) {
	if h <= g.h {
		return
	}
	h = max(h, g.h*2)
	cells := make([]Cell, g.w*h)
	copy(cells, g.cells)
	g.cells, g.h = cells, h
}

// Blit copies rows of src from row from on into the area.
func (a Area) Blit(src *Grid, from int) {
	for y := 0; y < a.R.H; y++ {
		for x := 0; x < a.R.W; x++ {
			px, py := a.R.X+x, a.R.Y+y
			if a.clip.Has(px, py) {
				a.g.cells[py*a.g.w+px] = src.At(x, from+y)
			}
		}
	}
}
