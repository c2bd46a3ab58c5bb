package clustermap

import (
	"fmt"
	"strings"
	"time"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/trail"
	"kviz/tui/words"
)

// walked marks the ways that the person's newest command has gone.
func (p *picture) walked() {
	if p.f.Path == nil {
		return
	}
	light := scene.Lit
	if p.f.S.At-p.f.Path.At > fresh { // it is over: what goes on now is to be seen
		light = scene.Faint
	}
	for _, ends := range p.f.Path.Ways {
		if i, _, ok := p.Way(ends[0], ends[1]); ok && p.Lines[i].Light != scene.Hidden {
			p.Lines[i].Light, p.Lines[i].Role = light, theme.Number
		}
	}
}

// fresh is for how long after its last station a command's way is heavy.
const fresh = 15 * time.Second

// pathRows is how many rows the path of a command takes where there is room for all of it.
const pathRows = 4

// path draws the stations of the newest command from a row on: names, a line, and what
// happened there, or in a single row names alone. Those that are known and still to come are
// drawn as well, dim. It gives the row below.
func (p *picture) path(s *pane.Sheet, y, end, w int) int {
	walk := p.f.Path
	if walk == nil || y >= end {
		return y
	}
	if end-y < pathRows {
		p.pathInRow(s, y, w, walk)
		return y + 1
	}
	note, st := p.progress(walk)
	a := s.Row(y)
	a.HLine(0, 0, w, theme.Line)
	x := a.Text(2, 0, " "+grid.Cut("$ "+walk.Line, w-grid.Width(note)-10)+" ", theme.Title)
	a.Text(max(w-grid.Width(note)-4, x+1), 0, " "+note+" ", st)
	each := 10
	if w < 100 {
		each = 8
	}
	from, to := window(walk, (w-2)/each)
	x = 1
	for i := from; i < to; i++ {
		stop := walk.Stops[i]
		look, mark, line, of := theme.Text, "●", "━", theme.Number
		switch {
		case i >= walk.Reached:
			look, mark, line, of = theme.Muted, "○", "─", theme.Muted
		case i == walk.Reached-1:
			look, mark, line, of = standsAt(walk), "◉", "─", theme.Muted
		}
		place := stop.Place
		if i == from && from > 0 || i == to-1 && to < len(walk.Stops) {
			place = "… " + place
		}
		s.Row(y+1).Text(x, 0, grid.Cut(place, each-1), look)
		s.Row(y+2).Text(x, 0, mark, look)
		if i < to-1 {
			s.Row(y+2).Text(x+1, 0, strings.Repeat(line, each-1), of)
		} else if p.goesOn(walk) {
			s.Row(y+2).Text(x+1, 0, " ┄ …", theme.Muted)
		}
		p.below(s.Row(y+3).Sub(x, 0, w-x, 1), walk, i, each-1, i == to-1)
		s.Hot(x, y+1, each-1, subject(walk, stop))
		x += each
	}
	return y + pathRows
}

// below is what stands under a station: what happened there, and how many more objects it
// happened to; of the one that is held why.
func (p *picture) below(a grid.Area, walk *trail.Walk, i, room int, last bool) {
	stop := walk.Stops[i]
	if last {
		room = a.W()
	}
	if i == walk.Reached-1 && walk.Held != "" {
		a.Text(0, 0, grid.Cut(walk.Held, room), theme.Warn|grid.Bold)
		return
	}
	more := others(stop)
	x := a.Text(0, 0, grid.Cut(stop.Word, room-grid.Width(more)), theme.Muted)
	a.Text(x, 0, more, theme.Number)
}

// others is how many more objects came to a station than the first.
func others(stop trail.Stop) string {
	if stop.More == 0 {
		return ""
	}
	return fmt.Sprintf(" +%d", stop.More)
}

// progress says how far a command has come.
func (p *picture) progress(walk *trail.Walk) (note string, st grid.Style) {
	if walk.Held != "" {
		return "held for " + words.Dur((p.f.S.At - walk.At).Truncate(time.Second)), theme.Warn | grid.Bold
	}
	note = words.Count(walk.Reached, "station")
	if walk.Reached < len(walk.Stops) {
		note = fmt.Sprintf("%d of %s", walk.Reached, words.Count(len(walk.Stops), "station"))
	}
	return note + " in " + words.Dur(walk.Took), theme.Number
}

// goesOn reports whether more is to be expected of a command than is known.
func (p *picture) goesOn(walk *trail.Walk) bool {
	return walk.Reached == len(walk.Stops) && !walk.Done && (walk.Held != "" || p.f.S.At-walk.At <= fresh)
}

// standsAt is how the station looks at which a command is.
func standsAt(walk *trail.Walk) grid.Style {
	if walk.Held != "" {
		return theme.Warn | grid.Bold
	}
	return theme.Busy | grid.Bold
}

// pathInRow draws the stations as their names, with the one where the command is between those
// it has passed and those to come.
func (p *picture) pathInRow(s *pane.Sheet, y, w int, walk *trail.Walk) {
	held := ""
	if walk.Held != "" {
		held = ": " + walk.Held
	}
	width := func(i int) int { // of a station and the line before it
		return grid.Width(label(walk, i)) + 3
	}
	at := walk.Reached - 1
	from, to, room := at, at+1, w-width(at)-grid.Width(held)-2
	for grew := true; grew; { // two more that it passed for each to come
		grew = false
		for range 2 {
			if from > 0 && width(from-1) <= room {
				from, room, grew = from-1, room-width(from-1), true
			}
		}
		if to < len(walk.Stops) && width(to) <= room {
			to, room, grew = to+1, room-width(to), true
		}
	}
	a, x := s.Row(y), 0
	if from > 0 {
		x = a.Text(x, 0, "…━", theme.Number)
	}
	for i := from; i < to; i++ {
		look := theme.Text
		switch {
		case i >= walk.Reached:
			look = theme.Muted
		case i == at:
			look = standsAt(walk)
		}
		if i > from && i < walk.Reached {
			x = a.Text(x, 0, " ━ ", theme.Number)
		} else if i > from {
			x = a.Text(x, 0, " ─ ", theme.Muted)
		}
		begin := x
		if x = a.Text(x, 0, label(walk, i), look); i == at {
			x = a.Text(x, 0, held, look)
		}
		s.Hot(begin, y, x-begin, subject(walk, walk.Stops[i]))
	}
	if to < len(walk.Stops) || p.goesOn(walk) {
		a.Text(x, 0, " ┄", theme.Muted)
	}
}

// label is a station in a word: of the store its revision. Where the command is, and what is to
// come, has a mark.
func label(walk *trail.Walk, i int) string {
	stop := walk.Stops[i]
	word := stop.Place
	if stop.Place == "store" {
		word = stop.Word
	}
	switch {
	case i == walk.Reached-1:
		word = "◉ " + word
	case i >= walk.Reached:
		word = "○ " + word
	}
	return word + others(stop)
}

// window is which stations are drawn where there is room for n: the last one that is reached,
// and where more are known a third of the room for them.
func window(walk *trail.Walk, n int) (from, to int) {
	n = max(n, 1)
	from = max(min(walk.Reached-n*2/3, len(walk.Stops)-n), 0)
	return from, min(from+n, len(walk.Stops))
}

// subject is what the cursor finds at a station.
func subject(walk *trail.Walk, stop trail.Stop) pane.Subject {
	return pane.Subject{
		ID: fmt.Sprintf("path/%s/%s", walk.Event, stop.Event), Event: stop.Event, Copy: stop.Place,
		Words: fmt.Sprintf("%s: %s, on the path of %s.", stop.Place, stop.Word, walk.Line),
	}
}
