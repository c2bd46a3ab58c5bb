package events

import (
	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// times is the columns of when an event was, and how long after the one in the row
// above: what takes long is seen by it. Where nothing is written no virtual time has passed.
type times struct {
	at    int // where they begin
	clock int // width of the time, 0 for none
	after int // width of the time since the row above, 0 for none
}

func timesAt(w, at int) times {
	t := times{at: at}
	if w >= 72 {
		t.after = 7
	}
	if w >= 150 {
		t.clock = 12
	}
	return t
}

func (t times) w() int { return t.clock + t.after }

func (t times) header(s *pane.Sheet) {
	a := s.Row(0)
	if t.clock > 0 {
		a.Right(t.at+t.clock-1, 0, "at", theme.Muted)
	}
	if t.after > 0 {
		a.Right(t.at+t.w()-1, 0, "after", theme.Muted)
	}
}

func (t times) draw(s *pane.Sheet, y int, e, before *trace.Event) {
	a := s.Row(y)
	if t.clock > 0 {
		a.Right(t.at+t.clock-1, 0, words.Clock(e.At), theme.Muted)
	}
	if t.after > 0 && before != nil && e.At > before.At {
		a.Right(t.at+t.w()-1, 0, words.Dur(e.At-before.At), theme.Number)
	}
}
