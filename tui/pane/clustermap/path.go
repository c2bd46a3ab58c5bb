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
// happened there, or in a single row names alone. It gives the row below.
func (p *picture) path(s *pane.Sheet, y, end, w int) int {
	walk := p.f.Path
	if walk == nil || y >= end {
		return y
	}
	if end-y < pathRows {
		p.pathInRow(s, y, w, walk)
		return y + 1
	}
	note := words.Count(len(walk.Stops), "station") + " in " + words.Dur(walk.Took)
	a := s.Row(y)
	a.HLine(0, 0, w, theme.Line)
	x := a.Text(2, 0, " "+grid.Cut("$ "+walk.Line, w-grid.Width(note)-10)+" ", theme.Title)
	a.Text(max(w-grid.Width(note)-4, x+1), 0, " "+note+" ", theme.Number)
	each := 10
	if w < 100 {
		each = 8
	}
	stops, more := newest(walk.Stops, (w-2)/each)
	x = 1
	for i, stop := range stops {
		look, mark, line := theme.Text, "●", strings.Repeat("━", each-1)
		if i == len(stops)-1 {
			look, mark, line = theme.Busy|grid.Bold, "◉", ""
		}
		place := stop.Place
		if i == 0 && more > 0 {
			place = "… " + place
		}
		s.Row(y+1).Text(x, 0, grid.Cut(place, each-1), look)
		s.Row(y+2).Text(x, 0, mark, look)
		s.Row(y+2).Text(x+1, 0, line, theme.Number)
		s.Row(y+3).Text(x, 0, grid.Cut(stop.Word, each-1), theme.Muted)
		s.Hot(x, y+1, each-1, subject(walk, stop))
		x += each
	}
	return y + pathRows
}

func (p *picture) pathInRow(s *pane.Sheet, y, w int, walk *trail.Walk) {
	a, x := s.Row(y), 0
	room := w
	from := len(walk.Stops)
	for from > 0 && room >= grid.Width(label(walk.Stops[from-1]))+4 {
		from--
		room -= grid.Width(label(walk.Stops[from])) + 3
	}
	if from > 0 {
		x = a.Text(x, 0, "…━", theme.Number)
	}
	for i, stop := range walk.Stops[from:] {
		look := theme.Text
		if from+i == len(walk.Stops)-1 {
			look = theme.Busy | grid.Bold
		}
		if i > 0 {
			x = a.Text(x, 0, " ━ ", theme.Number)
		}
		at := x
		x = a.Text(x, 0, label(stop), look)
		s.Hot(at, y, x-at, subject(walk, stop))
	}
}

// label is a station in a word: of the store its revision.
func label(stop trail.Stop) string {
	if stop.Place == "store" {
		return stop.Word
	}
	return stop.Place
}

// newest are the last n stations, and how many come before them.
func newest(all []trail.Stop, n int) (last []trail.Stop, more int) {
	more = max(len(all)-max(n, 1), 0)
	return all[more:], more
}

// subject is what the cursor finds at a station.
func subject(walk *trail.Walk, stop trail.Stop) pane.Subject {
	return pane.Subject{
		ID: fmt.Sprintf("path/%s/%s", walk.Event, stop.Event), Event: stop.Event, Copy: stop.Place,
		Words: fmt.Sprintf("%s: %s, on the path of %s.", stop.Place, stop.Word, walk.Line),
	}
}
