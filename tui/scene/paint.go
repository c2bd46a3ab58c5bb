package scene

import (
	"slices"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Standing is how a place is.
type Standing uint8

// The standings, each of which has a border of its own.
const (
	Rest       Standing = iota
	Degraded            // slow, full, late
	Emphasised          // what the person is to look at: a heavy border
	Down                // a broken border
)

// Box is how a place looks; it has a border where the place is framed.
type Box struct {
	Standing Standing
	Role     grid.Style // of the border; 0 for what the standing has
	Title    []grid.Span
	Rows     [][]grid.Span
	Marks    [][]grid.Span // what it does: behind the title, or the first row, as long as there is room
	Split    int           // the row of the inside above which a line goes across; 0 for none
}

// Mark adds a mark: what is on a place for a moment. The same mark again changes nothing.
func (b *Box) Mark(mark ...grid.Span) {
	if !slices.ContainsFunc(b.Marks, func(m []grid.Span) bool { return slices.Equal(m, mark) }) {
		b.Marks = append(b.Marks, mark)
	}
}

// Light is how an edge is.
type Light uint8

// The lights.
const (
	Hidden  Light = iota // it is there, but not drawn
	Sound                // at rest
	Slow                 // delayed, dropping
	Faint                // something was just on it
	Lit                  // something is on it
	Dead                 // who stands at one of its ends is down
	Refused              // what goes there is not taken
)

// Line is how an edge looks.
type Line struct {
	Light Light
	Role  grid.Style // of what is on it
	Label string     // stands above it
	Note  grid.Style // of the label
	Cut   bool       // only its ends are drawn
	Stop  bool       // what goes in the order of its cells does not arrive
	Mute  bool       // what goes against that order does not
	Heads []Head
}

// Head is a thing on an edge.
type Head struct {
	Share float64 // how far it has come, 0 to 1 in the order of the edge's cells
	Back  bool    // it goes against that order
	Glyph rune
	Style grid.Style
	Chip  bool   // three cells in reverse
	Long  bool   // of a chip: the glyph five times, heavy, where there is room
	Trail int    // so many cells behind it are lit
	Count string // stands behind it
}

// Picture is how a scene is drawn: a box for each of its places and a line for each of
// its edges, in their order.
type Picture struct {
	Boxes []Box
	Lines []Line
}

// Blank is a picture of a scene in which every place is at rest and says nothing.
func (s *Scene) Blank() Picture {
	p := Picture{Boxes: make([]Box, len(s.Places)), Lines: make([]Line, len(s.Edges))}
	for i, e := range s.Edges {
		if e.Class != Selects && e.Class != Attaches {
			p.Lines[i].Light = Sound
		}
	}
	return p
}

// mark is what lies on a cell while a picture is drawn.
type mark struct {
	arms   Arms
	weight weight
	rank   uint8 // of two styles the greater counts
	style  grid.Style
}

// Painter draws scenes. It reuses its canvas from one to the next. What places say is never covered: what moves is drawn
// where nothing is said.
type Painter struct {
	marks []mark
	said  []bool // the cells on which words stand
	ended []bool // those on which an edge is cut off
	w, h  int
}

// Ranks of what crosses a cell: a border over a line at rest, what is lit over both.
const (
	ofLine uint8 = iota + 1
	ofBorder
	ofLight
)

// Paint draws a picture of a scene.
func (p *Painter) Paint(a grid.Area, s *Scene, pic Picture) {
	p.w, p.h = s.W, s.H
	if cap(p.marks) < s.W*s.H {
		p.marks, p.said, p.ended = make([]mark, s.W*s.H), make([]bool, s.W*s.H), make([]bool, s.W*s.H)
	}
	p.marks, p.said, p.ended = p.marks[:s.W*s.H], p.said[:s.W*s.H], p.ended[:s.W*s.H]
	clear(p.marks)
	clear(p.said)
	clear(p.ended)
	for _, y := range s.Rules {
		for x := range s.W {
			p.add(x, y, East|West, thin, ofLine, theme.Line)
		}
	}
	for i := range s.Places {
		p.border(s.Places[i], &pic.Boxes[i])
	}
	for i := range s.Edges {
		p.edge(&s.Edges[i], &pic.Lines[i])
	}
	p.flush(a)
	for i := range s.Edges {
		p.dots(a, &s.Edges[i], &pic.Lines[i])
	}
	for i := range s.Places {
		p.words(a, s.Places[i], &pic.Boxes[i])
	}
	for i := range s.Edges {
		if pic.Lines[i].Light != Hidden {
			p.label(a, &s.Edges[i], &pic.Lines[i])
		}
	}
	for i := range s.Edges {
		if pic.Lines[i].Light != Hidden {
			p.ends(a, &s.Edges[i], &pic.Lines[i])
		}
	}
	for i := range s.Edges { // after all labels and ends, for counts stand where nothing else does
		if pic.Lines[i].Light != Hidden {
			p.heads(a, s, &s.Edges[i], &pic.Lines[i])
		}
	}
}

func (p *Painter) at(x, y int) *mark {
	if x < 0 || y < 0 || x >= p.w || y >= p.h {
		return nil
	}
	return &p.marks[y*p.w+x]
}

func (p *Painter) add(x, y int, arms Arms, w weight, rank uint8, st grid.Style) {
	m := p.at(x, y)
	if m == nil {
		return
	}
	m.arms |= arms
	m.weight = max(m.weight, w)
	if rank >= m.rank {
		m.rank, m.style = rank, st
	}
}

// look is the border that a box has.
func (b *Box) look() (weight, grid.Style) {
	w, st := thin, theme.Line
	switch b.Standing {
	case Degraded:
		st = theme.Warn
	case Emphasised:
		w, st = thick, theme.Busy
	case Down:
		w, st = dashed, theme.Bad
	}
	if b.Role != 0 {
		st = b.Role
	}
	return w, st
}

func (p *Painter) border(place Place, b *Box) {
	if !place.Framed {
		return
	}
	r := place.Rect
	w, st := b.look()
	x1, y1 := r.X+r.W-1, r.Y+r.H-1
	for x := r.X + 1; x < x1; x++ {
		p.add(x, r.Y, East|West, w, ofBorder, st)
		p.add(x, y1, East|West, w, ofBorder, st)
		if b.Split > 0 {
			p.add(x, r.Y+b.Split, East|West, w, ofBorder, st)
		}
	}
	for y := r.Y + 1; y < y1; y++ {
		west, east := North|South, North|South
		if b.Split > 0 && y == r.Y+b.Split {
			west, east = west|East, east|West
		}
		p.add(r.X, y, west, w, ofBorder, st)
		p.add(x1, y, east, w, ofBorder, st)
	}
	p.add(r.X, r.Y, East|South, w, ofBorder, st)
	p.add(x1, r.Y, West|South, w, ofBorder, st)
	p.add(r.X, y1, East|North, w, ofBorder, st)
	p.add(x1, y1, West|North, w, ofBorder, st)
}

// look is how the line of an edge is drawn.
func (l *Line) look(c Class) (weight, uint8, grid.Style) {
	switch {
	case l.Light == Lit:
		return thick, ofLight, l.Role
	case l.Light == Faint:
		return thin, ofLight, l.Role
	case l.Light == Refused:
		return dashed, ofLight, theme.Bad
	case l.Light == Slow:
		return dashed, ofLine, theme.Warn
	case c == Attaches:
		return thin, ofLine, theme.Muted
	case c == Selects:
		return selects, ofLine, theme.Muted
	}
	return thin, ofLine, theme.Line
}

func (p *Painter) edge(e *Edge, l *Line) {
	if l.Light == Hidden {
		return
	}
	w, rank, st := l.look(e.Class)
	n := len(e.Cells)
	for i, c := range e.Cells {
		if c.Dots != 0 || l.Cut && i >= stub && i < n-stub {
			continue
		}
		p.add(c.X, c.Y, c.Arms, w, rank, st)
	}
	for _, h := range l.Heads {
		at := h.index(n)
		for k := 0; k < h.Trail && !l.Cut; k++ {
			i := at - k
			if h.Back {
				i = at + k
			}
			if i >= 0 && i < n && e.Cells[i].Dots == 0 {
				p.add(e.Cells[i].X, e.Cells[i].Y, e.Cells[i].Arms, thick, ofLight, h.Style)
			}
		}
	}
	for _, j := range e.Joints {
		if m := p.at(j.X, j.Y); m != nil && m.arms != 0 {
			m.arms |= j.Arm
		}
	}
}

// stub is how many cells of a cut edge are drawn at each end; the ✗ is the last of them.
const stub = 3

// index is the cell that the head is on.
func (h Head) index(n int) int {
	share := min(max(h.Share, 0), 1)
	if h.Back {
		share = 1 - share
	}
	return int(share*float64(n-1) + 0.5)
}

func (p *Painter) flush(a grid.Area) {
	for y := range p.h {
		for x, m := range p.marks[y*p.w : (y+1)*p.w] {
			if m.arms != 0 {
				a.Put(x, y, glyph(m.arms, m.weight), m.style)
			}
		}
	}
}

// dots draws a braille line; what is on it makes it wide.
func (p *Painter) dots(a grid.Area, e *Edge, l *Line) {
	if l.Light == Hidden {
		return
	}
	_, _, st := l.look(Raft)
	n := len(e.Cells)
	for i, c := range e.Cells {
		if c.Dots == 0 || p.at(c.X, c.Y) == nil || p.at(c.X, c.Y).arms != 0 || l.Cut && i >= stub && i < n-stub {
			continue
		}
		if l.Light == Dead && i%2 == 1 || l.Light == Slow && i%3 == 2 {
			continue
		}
		r := c.Dots
		if l.Light == Lit {
			r = c.Wide
		}
		a.Put(c.X, c.Y, r, st)
	}
	for _, h := range l.Heads {
		for k := 0; k < h.Trail && !l.Cut; k++ {
			i := h.index(n) - k
			if h.Back {
				i = h.index(n) + k
			}
			if i >= 0 && i < n && e.Cells[i].Dots != 0 {
				a.Put(e.Cells[i].X, e.Cells[i].Y, e.Cells[i].Wide, h.Style)
			}
		}
	}
}

// words draws what a place says.
func (p *Painter) words(a grid.Area, place Place, b *Box) {
	r := place.Rect
	if place.Framed && len(b.Title) > 0 {
		_, border := b.look()
		head := a.Sub(r.X+2, r.Y, r.W-4, 1)
		head.Put(0, 0, ' ', border)
		x := b.marks(head, head.Spans(1, 0, b.Title...), 0, 1)
		head.Put(x, 0, ' ', border)
		p.say(r.X+2, r.Y, min(x+1, r.W-4))
	}
	in := place.Inside()
	box := a.Sub(in.X, in.Y, in.W, in.H)
	y := 0
	for i, row := range b.Rows {
		if b.Split > 0 && place.Framed && y == b.Split-1 {
			y++
		}
		if len(row) > 0 {
			x := box.Spans(0, y, row...)
			if i == 0 && !place.Framed {
				x = b.marks(box, x, y, 0)
			}
			if y < in.H {
				p.say(in.X, in.Y+y, min(x, in.W))
			}
		}
		y++
	}
}

// marks draws a box's marks from column x of a row on, of each as many pieces as find room before the last columns, and gives
// the column after them.
func (b *Box) marks(a grid.Area, x, y, last int) int {
	for _, m := range b.Marks {
		for _, piece := range m {
			room := a.W() - last - x
			if grid.Width(piece.Text) > room { // half a number would be another one, half a word is read
				if room >= halfWord && !strings.ContainsAny(piece.Text, "0123456789") {
					x = a.Fit(x, y, room, piece.Text, piece.Style)
				}
				break
			}
			x = a.Spans(x, y, piece)
		}
	}
	return x
}

// halfWord is in how many columns a word is still read of which the end is missing.
const halfWord = 7

// say notes that words stand on some cells of a row.
func (p *Painter) say(x, y, w int) {
	for i := max(x, 0); i < min(x+w, p.w) && y >= 0 && y < p.h; i++ {
		p.said[y*p.w+i] = true
	}
}

// says reports whether words stand on a cell.
func (p *Painter) says(x, y int) bool {
	return x >= 0 && y >= 0 && x < p.w && y < p.h && p.said[y*p.w+x]
}

// ends draws where an edge is cut off. A link between members that crosses another line is not cut off on that one, which
// would look cut itself.
func (p *Painter) ends(a grid.Area, e *Edge, l *Line) {
	n := len(e.Cells)
	if n == 0 {
		return
	}
	near, far := min(stub-1, n-1), max(n-stub, 0)
	cross := func(x, y int) {
		if p.at(x, y) != nil {
			a.Put(x, y, '✗', theme.Bad|grid.Bold)
			p.ended[y*p.w+x] = true
		}
	}
	if l.Stop && e.Class == Hangs { // its first cells are the ways of others too: it ends at the border
		j := e.last()
		cross(j.X, j.Y)
	} else if l.Cut || l.Stop {
		for i := near; i >= 0; i-- {
			if c := e.Cells[i]; !p.others(c) && !p.says(c.X, c.Y) {
				cross(c.X, c.Y)
				break
			}
		}
	}
	if l.Cut || l.Mute {
		for i := far; i < n; i++ {
			if c := e.Cells[i]; !p.others(c) && !p.says(c.X, c.Y) {
				cross(c.X, c.Y)
				break
			}
		}
	}
}

// others reports whether a border or a line stands on a cell of a link between members, which is drawn between them.
func (p *Painter) others(c Cell) bool {
	m := p.at(c.X, c.Y)
	return c.Dots != 0 && m != nil && m.arms != 0
}

// framed reports whether the border of a place stands on a cell: nothing covers it.
func (p *Painter) framed(s *Scene, x, y int) bool {
	m := p.at(x, y)
	return m != nil && m.arms != 0 && slices.ContainsFunc(s.Places, func(at Place) bool {
		return at.Framed && at.Rect.Has(x, y) && !at.Inside().Has(x, y)
	})
}

// heads draws what is on an edge.
func (p *Painter) heads(a grid.Area, s *Scene, e *Edge, l *Line) {
	n := len(e.Cells)
	if n == 0 {
		return
	}
	near, far := min(stub-1, n-1), max(n-stub, 0)
	for _, h := range l.Heads {
		i := h.index(n)
		switch { // into a cut it comes no further than the stub's end
		case h.Back && (l.Cut || l.Mute):
			i = max(i, far)
		case !h.Back && l.Stop && e.Class == Hangs:
		case !h.Back && (l.Cut || l.Stop):
			i = min(i, near)
		}
		if h.Chip && n > 2 { // all of it stands on the edge
			i = min(max(i, 1), n-2)
		}
		c := e.Cells[i]
		r := h.Glyph
		if r == 0 {
			r = e.end(h.Back)
		}
		if h.Chip && h.Long && n > longChip+2 {
			p.long(a, e, i, h)
			continue
		}
		if h.Chip {
			x := min(max(c.X-1, 0), p.w-3)
			if p.says(x, c.Y) || p.says(x+1, c.Y) || p.says(x+2, c.Y) {
				continue
			}
			if p.framed(s, x, c.Y) || p.framed(s, x+2, c.Y) { // beside a border there is room for its glyph
				a.Put(c.X, c.Y, r, h.Style|grid.Bold)
				continue
			}
			a.Put(x, c.Y, ' ', h.Style|grid.Reverse)
			a.Put(x+1, c.Y, r, h.Style|grid.Reverse|grid.Bold)
			a.Put(x+2, c.Y, ' ', h.Style|grid.Reverse)
			continue
		}
		if !p.says(c.X, c.Y) {
			a.Put(c.X, c.Y, r, h.Style|grid.Bold)
		}
		if n := grid.Width(h.Count); n > 0 && p.free(c.X+1, c.Y-1, n) {
			a.Text(c.X+1, c.Y-1, h.Count, h.Style)
			p.say(c.X+1, c.Y-1, n)
		}
	}
}

// longChip is how many times a long chip has its glyph.
const longChip = 5

// long draws a chip that is long: on as many cells of a row, over the edge.
func (p *Painter) long(a grid.Area, e *Edge, i int, h Head) {
	c := e.Cells[min(max(i, longChip/2+1), len(e.Cells)-longChip/2-2)]
	x := min(max(c.X-longChip/2-1, 0), p.w-longChip-2)
	for k := range longChip + 2 {
		if p.says(x+k, c.Y) {
			return
		}
	}
	a.Put(x, c.Y, ' ', h.Style)
	for k := range longChip {
		a.Put(x+1+k, c.Y, h.Glyph, h.Style|grid.Bold)
	}
	a.Put(x+1+longChip, c.Y, ' ', h.Style)
}

// last is the cell in which the edge ends: that of the border, or its own.
func (e *Edge) last() Joint {
	if n := len(e.Joints); n > 1 {
		return e.Joints[n-1]
	}
	c := e.Cells[len(e.Cells)-1]
	return Joint{X: c.X, Y: c.Y}
}

// end is the arrow at the end of an edge.
func (e *Edge) end(back bool) rune {
	i, toward := len(e.Cells)-1, 1
	if back {
		i, toward = 0, -1
	}
	if len(e.Cells) < 2 {
		return '▶'
	}
	from := e.Cells[i-toward]
	at := e.Cells[i]
	switch {
	case from.X < at.X:
		return arrow(West)
	case from.X > at.X:
		return arrow(East)
	case from.Y < at.Y:
		return arrow(North)
	}
	return arrow(South)
}

// label writes the label of an edge above its first straight run, if there is room.
func (p *Painter) label(a grid.Area, e *Edge, l *Line) {
	w := grid.Width(l.Label)
	if w == 0 || len(e.Cells) == 0 {
		return
	}
	run := 1
	for run < len(e.Cells) && e.Cells[run].Y == e.Cells[0].Y {
		run++
	}
	x := min(e.Cells[0].X, e.Cells[run-1].X)
	if w > run {
		return
	}
	x += (run - w) / 2
	if y := e.Cells[0].Y - 1; p.free(x, y, w) {
		a.Text(x, y, l.Label, l.Note)
		p.say(x, y, w)
	}
}

// free reports whether neither a line nor words lie on some cells of a row.
func (p *Painter) free(x, y, w int) bool {
	for i := range w {
		if m := p.at(x+i, y); m == nil || m.arms != 0 || p.says(x+i, y) || p.ended[y*p.w+x+i] {
			return false
		}
	}
	return true
}
