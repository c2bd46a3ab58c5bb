package pane

import (
	"fmt"
	"slices"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Host holds a pane: its sheet, how far it is scrolled, and the thing under its
// cursor. The cursor stays on its thing while the thing moves; in a pane that has not
// the focus and where nobody has put it anywhere it stays on the first, so that a pane
// begins with what is newest when it gets the focus.
type Host struct {
	Pane Pane

	key    string // gives the pane the focus
	sheet  Sheet
	top    int
	cursor string // ID of the subject under the cursor
	hot    int    // its index in sheet.hots, -1 for none
	win    grid.Rect
	free   bool // scrolled away from the cursor by the wheel
	placed bool // somebody has put the cursor where it is
	dirty  bool
	last   drawn
}

// drawn is what the last drawing depended on, beside the pane's own state.
type drawn struct {
	state   any
	win     grid.Rect
	focused bool
	filter  string
	sel     string
	live    bool
	run     string
	moved   uint64 // version of what moves
	path    uint64 // version of the path of a command
}

// NewHost makes a host. The key that gives the pane the focus stands in its frame.
func NewHost(p Pane, key string) *Host { return &Host{Pane: p, key: key, hot: -1, dirty: true} }

// Dirty makes the next [Host.Draw] draw.
func (h *Host) Dirty() { h.dirty = true }

// Under is the subject under the cursor.
func (h *Host) Under() Subject {
	if h.hot >= 0 && h.hot < len(h.sheet.hots) {
		on := &h.sheet.hots[h.hot]
		if on.tell != nil {
			on.Words, on.tell = on.tell(), nil
		}
		return on.Subject
	}
	return Subject{}
}

// Put moves the cursor to a subject by its ID, or to the first that belongs to such a target;
// it takes effect at the next drawing.
func (h *Host) Put(id string) {
	h.cursor, h.placed, h.free, h.dirty = id, true, false, true
}

// Draw draws the pane with its frame into its place on the screen, unless
// nothing changed since the last time. It reports whether it drew.
func (h *Host) Draw(g *grid.Grid, place grid.Rect, f Frame) bool {
	now := drawn{f.S, place, f.Focused, f.Filter, f.Sel.ID, f.Live, f.Run, 0, 0}
	if p, ok := h.Pane.(Moving); ok {
		now.moved = p.Moves(&f)
	}
	if _, ok := h.Pane.(Filler); ok {
		if f.Motion != nil {
			now.moved = f.Motion.Version
		}
		if f.Path != nil {
			now.path = f.Path.Version
		}
	}
	if !h.dirty && now == h.last {
		return false
	}
	h.last, h.dirty = now, false
	a := g.Window(place)
	a.Clear()
	in := h.frame(a, &f)
	h.win = in.R
	f.W, f.Rows, f.Cursor, f.Placed = in.W()-1, in.H(), h.cursor, h.placed
	fills := h.fills(in.W(), in.H())
	if fills {
		f.W = in.W()
	}
	h.sheet.reset(max(f.W, 0), f.Rows)
	h.Pane.Draw(&h.sheet, &f)
	if p, ok := h.Pane.(Pointer); ok {
		h.cursor = p.At()
	} else if !f.Focused && !h.placed {
		h.cursor, h.hot = "", 0
	}
	h.follow(f.Rows)
	in.Sub(0, 0, f.W, f.Rows).Blit(h.sheet.g, h.top)
	if f.Focused && h.hot >= 0 {
		c := h.sheet.hots[h.hot]
		in.Mark(c.X, c.Y-h.top, c.W, grid.Selected)
	}
	bar := theme.Line
	if f.Focused {
		bar = theme.Accent
	}
	a.Scroll(a.W()-1, 1, in.H(), h.top, h.sheet.rows, bar)
	return true
}

func (h *Host) frame(a grid.Area, f *Frame) grid.Area {
	info := h.Pane.Info()
	if f.Stage {
		return h.staged(a)
	}
	line, name := theme.Line, theme.Muted
	if f.Focused {
		line, name = theme.Accent, theme.Title
	}
	title := []grid.Span{{Text: info.Title, Style: name}}
	if h.key != "" {
		title = append([]grid.Span{{Text: h.key + " ", Style: theme.Key}}, title...)
	}
	if f.Run != "" {
		title = append([]grid.Span{{Text: f.Run + " ", Style: theme.Accent | grid.Bold}}, title...)
	}
	if note := h.Pane.Note(f); note != "" {
		title = append(title, grid.Span{Text: " · " + note, Style: theme.Muted})
	}
	if f.Filter != "" {
		title = append(title, grid.Span{Text: " /" + f.Filter, Style: theme.Warn})
	}
	in := a.Frame(title, line)
	if !info.Tabs {
		h.tabs(a, line, f.Focused)
	}
	return in
}

// staged frames the pane on a lesson's stage: its name and that of its view, and nothing that
// belongs to keys.
func (h *Host) staged(a grid.Area) grid.Area {
	title := []grid.Span{{Text: strings.ToLower(h.Pane.Info().Title), Style: theme.Title}}
	if p, ok := h.Pane.(interface{ View() View }); ok && len(h.Pane.Info().Views) > 1 {
		title = append(title, grid.Span{Text: " · " + p.View().Name, Style: theme.Muted})
	}
	return a.Frame(title, theme.Line)
}

// tabs names the views that v goes through in the lower edge of the frame, the one that is
// shown first of all where there is not room for all.
func (h *Host) tabs(a grid.Area, line grid.Style, focused bool) {
	p, ok := h.Pane.(interface{ View() View })
	views := h.Pane.Info().Views
	room := a.W() - 4
	if !ok || len(views) < 2 || a.H() < 3 {
		return
	}
	key, on := theme.Muted, theme.Muted|grid.Bold
	if focused { // elsewhere v does nothing yet
		key, on = theme.Key, theme.Title
	}
	row, shown := []grid.Span{{Text: " v", Style: key}}, p.View().Name
	width := 2
	for _, v := range views {
		tab := grid.Span{Text: "  " + v.Name, Style: theme.Muted}
		if v.Name == shown {
			tab = grid.Span{Text: " ▸" + v.Name, Style: on}
		}
		row = append(row, tab)
		width += grid.Width(tab.Text)
	}
	if width+1 > room { // of those that do not fit, how many there are
		at := slices.IndexFunc(views, func(v View) bool { return v.Name == shown })
		row = append(row[:1], grid.Span{Text: " ▸" + shown, Style: on}, grid.Span{Text: fmt.Sprintf(" %d/%d", at+1, len(views)), Style: theme.Muted})
		if width = 5 + grid.Width(shown) + 3; width+1 > room {
			return
		}
	}
	edge := a.Sub(2, a.H()-1, a.W()-4, 1)
	edge.Put(edge.Spans(0, 0, row...), 0, ' ', line)
}

// follow finds the cursor's thing again and scrolls so that it is seen.
func (h *Host) follow(rows int) {
	old := h.hot
	h.hot = -1
	for i, s := range h.sheet.hots {
		if s.ID == h.cursor {
			h.hot = i
			break
		}
	}
	if h.hot < 0 {
		h.hot = slices.IndexFunc(h.sheet.hots, func(s Hot) bool { return s.Target != "" && s.Target == h.cursor })
	}
	if h.hot < 0 && len(h.sheet.hots) > 0 {
		h.hot = max(0, min(old, len(h.sheet.hots)-1))
		h.cursor = h.sheet.hots[h.hot].ID
	}
	if h.hot >= 0 && !h.free {
		y := h.sheet.hots[h.hot].Y
		if h.hot == 0 && y < rows {
			h.top = 0
		}
		if y < h.top {
			h.top = max(y-1, 0)
		}
		if y >= h.top+rows {
			h.top = y - rows + 1
		}
	}
	h.top = max(0, min(h.top, h.sheet.rows-rows))
}

// fills reports whether the pane takes a whole window of that size.
func (h *Host) fills(w, rows int) bool {
	p, ok := h.Pane.(Filler)
	return ok && p.Fills(w, rows)
}

// Picture reports whether the pane was drawn last as one picture, not as rows.
func (h *Host) Picture() bool { return h.fills(h.win.W, h.win.H) }

// Cursor is the place of the cursor on the screen.
func (h *Host) Cursor() (x, y int, ok bool) {
	if h.hot < 0 {
		return h.win.X, h.win.Y, !h.win.Empty()
	}
	c := h.sheet.hots[h.hot]
	y = h.win.Y + c.Y - h.top
	return h.win.X + c.X, max(h.win.Y, min(y, h.win.Y+h.win.H-1)), true
}

// Wheel scrolls without moving the cursor.
func (h *Host) Wheel(by int, f *Frame) {
	h.dirty, h.placed = true, true
	if m, ok := h.Pane.(Mover); ok && m.Move(0, by, f) {
		return
	}
	h.free = true
	h.top += by
}

// Click puts the cursor on the thing at a place of the screen and reports
// whether the cursor was there already.
func (h *Host) Click(x, y int, f *Frame) (again bool) {
	x, y = x-h.win.X, y-h.win.Y+h.top
	for i, s := range h.sheet.hots {
		if s.Y == y && x >= s.X && x < s.X+s.W {
			again = i == h.hot
			h.hot, h.cursor, h.placed, h.free, h.dirty = i, s.ID, true, false, true
			if p, ok := h.Pane.(Pointer); ok {
				p.Select(s.Subject, f)
			}
			return again
		}
	}
	if p, ok := h.Pane.(Toucher); ok {
		if id := p.Touch(x, y, f); id != "" {
			again = h.cursor == id
			h.Put(id)
			return again
		}
	}
	return false
}

// Move answers the movement keys.
func (h *Host) Move(action string, f *Frame) {
	dx, dy := 0, 0
	switch action {
	case keymap.Up:
		dy = -1
	case keymap.Down:
		dy = 1
	case keymap.Left:
		dx = -1
	case keymap.Right:
		dx = 1
	case keymap.PageUp:
		dy = -max(h.win.H-1, 1)
	case keymap.PageDn:
		dy = max(h.win.H-1, 1)
	}
	h.dirty, h.placed = true, true
	if m, ok := h.Pane.(Mover); ok && m.Move(dx, dy, f) {
		return
	}
	h.free = false
	if len(h.sheet.hots) == 0 {
		h.top, h.free = max(h.top+dy, 0), true
		return
	}
	from := h.sheet.hots[max(h.hot, 0)]
	best := -1
	switch picture := h.fills(h.win.W, h.win.H); {
	case picture && dx*dx+dy*dy == 1:
		best = h.toward(from, dx, dy)
	case dy != 0:
		best = h.vertical(from, dy)
	default:
		best = h.horizontal(from, dx)
	}
	if best >= 0 {
		h.hot, h.cursor = best, h.sheet.hots[best].ID
	} else if dy != 0 { // nothing further: show the rest of the text
		h.top, h.free = h.top+dy, true
	}
}

// vertical is the nearest thing at least |dy| rows away in dy's direction (or
// the furthest there is), in the column nearest to the cursor's.
func (h *Host) vertical(from Hot, dy int) int {
	best, bestScore := -1, 0
	for i, s := range h.sheet.hots {
		d := s.Y - from.Y
		if dy < 0 {
			d = -d
		}
		if d <= 0 {
			continue
		}
		want := max(dy, -dy)
		off := d - want
		if off < 0 {
			off = -off
		}
		if want == 1 {
			off = d
		}
		if score := off*1000 + gap(from, s); best < 0 || score < bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

func gap(a, b Hot) int {
	switch {
	case b.X+b.W <= a.X:
		return a.X - (b.X + b.W) + 1
	case a.X+a.W <= b.X:
		return b.X - (a.X + a.W) + 1
	}
	d := a.X - b.X
	return max(d, -d) / 100
}

func (h *Host) horizontal(from Hot, dx int) int {
	best, bestScore := -1, 0
	for i, s := range h.sheet.hots {
		d := (s.X - from.X) * dx
		if d <= 0 || s.Y != from.Y {
			continue
		}
		if best < 0 || d < bestScore {
			best, bestScore = i, d
		}
	}
	return best
}

// toward is the nearest thing of a picture in a direction: by where the places are, not by where their names stand.
func (h *Host) toward(from Hot, dx, dy int) int {
	const row = 2 // a row is as far as so many columns
	best, bestScore := -1, 0
	for i, to := range h.sheet.hots {
		if to.ID == from.ID {
			continue
		}
		a, b := h.placeOf(from, to), h.placeOf(to, from)
		right, below := apart(a.X, a.W, b.X, b.W), apart(a.Y, a.H, b.Y, b.H)
		ahead, across := right*dx, 6*row*max(below, -below) // what is in the same rows is beside it
		if dy != 0 {
			ahead, across = row*below*dy, max(right, -right)
		}
		if ahead <= 0 {
			continue
		}
		middle := max(b.X+b.W/2-a.X-a.W/2, a.X+a.W/2-b.X-b.W/2) // of two that are as near the one straight ahead
		if dx != 0 {
			middle = max(b.Y+b.H/2-a.Y-a.H/2, a.Y+a.H/2-b.Y-b.H/2)
		}
		if score := (ahead+across)*1000 + middle; best < 0 || score < bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// placeOf is where a thing is: the whole of its place, or only its name's row where the other thing is inside.
func (h *Host) placeOf(on, other Hot) grid.Rect {
	name := grid.Rect{X: on.X, Y: on.Y, W: on.W, H: 1}
	for _, m := range h.sheet.marks {
		if m.name == on.ID && !m.r.Has(other.X, other.Y) {
			return m.r
		}
	}
	return name
}

// apart is how many cells after one stretch another begins, negative if it is before it; 0 where they have cells in common.
func apart(a, aw, b, bw int) int {
	switch {
	case b >= a+aw:
		return b - (a + aw) + 1
	case a >= b+bw:
		return -(a - (b + bw) + 1)
	}
	return 0
}

// Beside scrolls to where the same pane of another run is scrolled to.
func (h *Host) Beside(other *Host) {
	if h.top != other.top {
		h.top, h.dirty = other.top, true
	}
	h.free = true
}

// Size is the size of the pane's window as last drawn.
func (h *Host) Size() (w, rows int) { return max(h.win.W-1, 0), h.win.H }
