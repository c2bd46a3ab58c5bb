package frame

import (
	"kviz/tui/beside"
	"kviz/tui/pane"
)

// Other is another run beside the one on the screen.
type Other struct {
	Moment
	Run, Name string // what the run on the screen is called, and what the other
}

// drawTwice draws the pane in focus of both runs and marks what differs. Both are drawn by the
// same pane, so that what it is switched to is the same; the one that the keys move comes
// last, for a pane may remember what it drew.
func (f *Frame) drawTwice(m Moment, o *Other) {
	p := f.Focused()
	if f.second == nil || f.second.Pane != p.Pane {
		f.second = pane.NewHost(p.Pane, "")
	}
	mine, others := f.moment(p, m), f.moment(p, o.Moment)
	mine.Run, others.Run = o.Run, o.Name
	others.Focused, others.Sel = false, pane.Subject{}
	first, second := f.out.Slots[0].Rect, f.out.Second
	draw := func() bool {
		f.second.Beside(p.Host)
		drew := f.second.Draw(f.grid, second, others)
		return p.Draw(f.grid, first, mine) || drew
	}
	if !draw() {
		return
	}
	f.second.Dirty()
	p.Dirty()
	draw()
	beside.Mark(f.grid.Window(first), f.grid.Window(second))
}
