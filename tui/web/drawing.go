package web

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"kviz/tui/grid"
)

// run is a stretch of cells of one style in a row.
type run struct {
	x, w  int
	text  []rune // one a cell; 0 is the right half of a wide one
	style grid.Style
}

// seen are the attributes that are seen on a blank too.
const seen = grid.Reverse | grid.Selected | grid.Fresh | grid.Underline | grid.Strike

// runs are those of a row.
func runs(row []grid.Cell) (all []run) {
	for x, c := range row {
		r := c.R
		if r == 0 {
			r = ' '
		}
		if r < 0 {
			r = 0
		}
		if n := len(all); r == ' ' && n > 0 && (c.S|all[n-1].style)&seen == 0 {
			c.S = all[n-1].style // a blank looks as what is before it
		}
		if n := len(all); n > 0 && all[n-1].style == c.S {
			all[n-1].text, all[n-1].w = append(all[n-1].text, r), all[n-1].w+1
			continue
		}
		all = append(all, run{x, 1, []rune{r}, c.S})
	}
	return all
}

func (r run) String() string {
	return string(slices.DeleteFunc(slices.Clone(r.text), func(r rune) bool { return r == 0 }))
}

// A cell of a drawing is as wide and as high as this.
const cellW, cellH = 9, 18

// Drawing is a picture as SVG. Lines of boxes are drawn as lines, so that they meet whatever the reader's fonts are and
// however large it is printed; letters stand each run in its columns, and a sign that is not a letter in the middle of
// its cell, for it may come from another font.
func Drawing(g *grid.Grid, label string) string {
	_, h := g.Size()
	var grounds, lines, letters strings.Builder
	for y := range h {
		drawRow(&grounds, &lines, &letters, g, y)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="%s" role="img" aria-label="%s">%s%s%s</svg>`,
		ViewBox(g), html.EscapeString(label), grounds.String(), lines.String(), letters.String())
}

// Rows are a picture as SVG, each row by itself, for a page on which rows are replaced: they stand in an svg element with
// the grid's [ViewBox].
func Rows(g *grid.Grid) []string {
	_, h := g.Size()
	all := make([]string, h)
	for y := range h {
		var grounds, lines, letters strings.Builder
		drawRow(&grounds, &lines, &letters, g, y)
		all[y] = grounds.String() + lines.String() + letters.String()
	}
	return all
}

// ViewBox is the viewBox of a picture's svg element.
func ViewBox(g *grid.Grid) string {
	w, h := g.Size()
	return fmt.Sprintf("0 0 %d %d", w*cellW, h*cellH)
}

// drawRow draws a row: what is behind the cells, lines, and letters.
func drawRow(grounds, lines, letters *strings.Builder, g *grid.Grid, y int) {
	for _, r := range runs(g.Area().Cells(y)) {
		class := classes(r.style)
		if r.style&(grid.Reverse|grid.Selected|grid.Fresh) != 0 {
			fmt.Fprintf(grounds, `<rect class="g %s" x="%d" y="%d" width="%d" height="%d"/>`, class, r.x*cellW, y*cellH, r.w*cellW, cellH)
		}
		r.strokes(lines, class, y)
		r.letters(letters, class, y)
	}
}

// strokes draws what of a run is lines and blocks.
func (r run) strokes(b *strings.Builder, class string, y int) {
	var light, heavy strings.Builder
	for i := 0; i < len(r.text); i++ {
		x := r.x + i
		if block, is := blocks[r.text[i]]; is {
			fmt.Fprintf(b, `<rect class="k %s" x="%g" y="%g" width="%g" height="%g" opacity="%g"/>`, class,
				(float64(x)+block.x)*cellW, (float64(y)+block.y)*cellH, block.w*cellW, block.h*cellH, block.shade)
			continue
		}
		form, is := strokes[r.text[i]]
		if !is {
			continue
		}
		into := &light
		if form.heavy {
			into = &heavy
		}
		if r.text[i] == '─' || r.text[i] == '━' { // as one line
			n := 1
			for i+n < len(r.text) && r.text[i+n] == r.text[i] {
				n++
			}
			fmt.Fprintf(into, "M%d %dh%d", x*cellW, y*cellH+cellH/2, n*cellW)
			i += n - 1
			continue
		}
		form.draw(into, float64(x*cellW)+cellW/2.0, float64(y*cellH)+cellH/2.0)
	}
	for _, one := range []struct {
		path *strings.Builder
		kind string
	}{{&light, "l"}, {&heavy, "h"}} {
		if one.path.Len() > 0 {
			fmt.Fprintf(b, `<path class="%s %s" d="%s"/>`, one.kind, class, one.path.String())
		}
	}
}

// letters draws what of a run is read.
func (r run) letters(b *strings.Builder, class string, y int) {
	base := y*cellH + 13
	plain := func(c rune) bool { return c > ' ' && c < 0x7f }
	for i := 0; i < len(r.text); i++ {
		c := r.text[i]
		_, block := blocks[c]
		_, stroke := strokes[c]
		switch {
		case c == ' ' || c == 0 || block || stroke:
		case plain(c):
			n := 1
			for i+n < len(r.text) && (plain(r.text[i+n]) || r.text[i+n] == ' ' && i+n+1 < len(r.text) && plain(r.text[i+n+1])) {
				n++
			}
			fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`,
				class, (r.x+i)*cellW, base, n*cellW, html.EscapeString(string(r.text[i:i+n])))
			i += n - 1
		default:
			wide := 1.0
			if i+1 < len(r.text) && r.text[i+1] == 0 {
				wide = 2
			}
			fmt.Fprintf(b, `<text class="m %s" x="%g" y="%d">%s</text>`, class, (float64(r.x+i)+wide/2)*cellW, base, html.EscapeString(string(c)))
		}
	}
}

// stroke is a line of a box: from the middle of its cell to which sides.
type stroke struct {
	up, right, down, left bool
	heavy, round, dashed  bool
}

var strokes = map[rune]stroke{
	'─': {right: true, left: true}, '│': {up: true, down: true},
	'╭': {right: true, down: true, round: true}, '╮': {down: true, left: true, round: true},
	'╰': {up: true, right: true, round: true}, '╯': {up: true, left: true, round: true},
	'┌': {right: true, down: true}, '┐': {down: true, left: true}, '└': {up: true, right: true}, '┘': {up: true, left: true},
	'├': {up: true, right: true, down: true}, '┤': {up: true, down: true, left: true},
	'┬': {right: true, down: true, left: true}, '┴': {up: true, right: true, left: true}, '┼': {up: true, right: true, down: true, left: true},
	'━': {right: true, left: true, heavy: true}, '┃': {up: true, down: true, heavy: true},
	'┏': {right: true, down: true, heavy: true}, '┓': {down: true, left: true, heavy: true},
	'┗': {up: true, right: true, heavy: true}, '┛': {up: true, left: true, heavy: true},
	'┆': {up: true, down: true, dashed: true}, '┊': {up: true, down: true, dashed: true}, '╎': {up: true, down: true, dashed: true},
	'┄': {right: true, left: true, dashed: true}, '┈': {right: true, left: true, dashed: true}, '╌': {right: true, left: true, dashed: true},
}

// draw adds a line to a path, around the middle of its cell.
func (s stroke) draw(b *strings.Builder, x, y float64) {
	const halfW, halfH = cellW / 2.0, cellH / 2.0
	switch {
	case s.round:
		dx, dy := halfW, halfH
		if s.left {
			dx = -halfW
		}
		if s.up {
			dy = -halfH
		}
		fmt.Fprintf(b, "M%g %gQ%g %g %g %g", x, y+dy, x, y, x+dx, y)
		return
	case s.dashed && s.up:
		fmt.Fprintf(b, "M%g %gv4M%g %gv4M%g %gv4", x, y-halfH+1, x, y-2, x, y+halfH-5)
		return
	case s.dashed:
		fmt.Fprintf(b, "M%g %gh3M%g %gh3", x-halfW+0.5, y, x+1, y)
		return
	}
	for _, one := range []struct {
		on     bool
		dx, dy float64
	}{{s.up, 0, -halfH}, {s.right, halfW, 0}, {s.down, 0, halfH}, {s.left, -halfW, 0}} {
		if one.on {
			fmt.Fprintf(b, "M%g %gL%g %g", x, y, x+one.dx, y+one.dy)
		}
	}
}

// block is a part of a cell that is filled, in parts of it, and how dark.
type block struct{ x, y, w, h, shade float64 }

var blocks = map[rune]block{
	'█': {0, 0, 1, 1, 1}, '▓': {0, 0, 1, 1, 0.75}, '▒': {0, 0, 1, 1, 0.5}, '░': {0, 0, 1, 1, 0.2},
	'▀': {0, 0, 1, 0.5, 1}, '▄': {0, 0.5, 1, 0.5, 1}, '▌': {0, 0, 0.5, 1, 1}, '▐': {0.5, 0, 0.5, 1, 1},
	'▁': {0, 0.875, 1, 0.125, 1}, '▂': {0, 0.75, 1, 0.25, 1}, '▃': {0, 0.625, 1, 0.375, 1},
	'▅': {0, 0.375, 1, 0.625, 1}, '▆': {0, 0.25, 1, 0.75, 1}, '▇': {0, 0.125, 1, 0.875, 1},
}
