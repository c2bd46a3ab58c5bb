package frame

import (
	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Picture is what stands on the screen beside the panes.
type Picture struct {
	Moment
	Status  Status
	Explain Explain
	Keys    []keymap.Binding // what can be pressed now, most useful first
	Help    bool             // the way to the help stands at the right of them

	Curve    bool   // a row below the timeline is taken by a curve
	Other    *Other // nil where one run is shown
	Timeline func(grid.Area)
	Lesson   func(grid.Area) // nil where there is none
	Large    bool            // the lesson takes the place of the panes where the screen is narrow
	Console  func(grid.Area) (x, y int)
	Needs    func(columns int) int // rows that the console would take
	Typing   bool                  // the console has the keyboard, and the cursor
	Overlay  overlay.Overlay       // nil where none is open

	Stage func(*grid.Grid) (x, y int, cursor bool) // draws a lesson in the place of everything else; nil where there is none
}

// Draw draws what has changed and gives the whole screen and the place of the cursor.
func (f *Frame) Draw(p Picture) (string, *tea.Cursor) {
	f.in.Curve = p.Curve
	f.in.Twice = p.Other != nil
	side, ok := p.Overlay.(overlay.Sider)
	f.in.Menu = ok && side.StandsBeside()
	f.in.Lesson, f.in.Reading, f.in.Console = p.Lesson != nil, p.Large, 0
	if p.Console != nil {
		f.in.Console = layout.Rest
	}
	out := layout.Compute(f.in)
	if p.Stage != nil && out.TooSmall == "" {
		return f.drawStage(p)
	}
	if !out.Console.Empty() { // whose width is known now
		f.in.Console = max(p.Needs(out.Console.W), layout.Rest)
		out = layout.Compute(f.in)
	}
	if f.anew || !same(out, f.out) {
		f.grid.Area().Clear()
		f.keys.forget()
		for _, pane := range f.panes {
			pane.Dirty()
		}
		f.anew = false
	}
	f.out = out
	if out.TooSmall != "" {
		f.grid.Area().Clear()
		f.grid.Area().Wrap(0, 0, f.in.W, f.in.H, out.TooSmall+". Make it larger, or use kviz explore --plain.", theme.Warn)
		return f.grid.Render(f.look.SGR), nil
	}
	if p.Other != nil && !out.Second.Empty() {
		f.drawTwice(p.Moment, p.Other)
	} else {
		f.drawPanes(p.Moment)
	}
	var at *tea.Cursor
	if x, y, ok := f.Focused().Cursor(); ok && p.Panes && out.Shows(f.in.Focus) {
		at = cursor(x, y)
	}
	f.drawBar(f.grid.Window(out.Status), p.Status)
	f.drawTabs(f.grid.Window(out.Tabs))
	if !out.Lesson.Empty() {
		p.Lesson(f.grid.Window(out.Lesson))
	}
	if !out.Console.Empty() {
		a := f.grid.Window(out.Console)
		a.Clear()
		if x, y := p.Console(a); p.Typing {
			at = cursor(x, y)
		}
	}
	p.Explain.draw(f.grid.Window(out.Explain), f.Under().Words, f.moved) // known once the pane in focus is drawn
	line := f.grid.Window(out.Timeline)
	line.Clear()
	p.Timeline(line)
	f.keys.draw(f.grid.Window(out.Keys), p.Keys, p.Help)
	if p.Overlay == nil {
		return f.grid.Render(f.look.SGR), at
	}
	if f.in.Menu && !out.Menu.Empty() {
		if place, ok := side.Draw(f.grid.Window(out.Menu)); ok {
			at = cursor(place.X, place.Y)
		}
		return f.grid.Render(f.look.SGR), at
	}
	f.grid.Copy(f.over)
	f.over.Window(out.Body).Dim(theme.Shadow)
	if place, ok := p.Overlay.Draw(f.over.Window(out.Body)); ok {
		at = cursor(place.X, place.Y)
	}
	return f.over.Render(f.look.SGR), at
}

// drawStage draws a lesson's stage, and what is open over it.
func (f *Frame) drawStage(p Picture) (string, *tea.Cursor) {
	f.anew = true // the panes are drawn when it has gone
	f.out = layout.Out{Body: grid.Rect{X: 0, Y: 0, W: f.in.W, H: f.in.H}}
	var at *tea.Cursor
	if x, y, ok := p.Stage(f.grid); ok {
		at = cursor(x, y)
	}
	if p.Overlay == nil {
		return f.grid.Render(f.look.SGR), at
	}
	f.grid.Copy(f.over)
	f.over.Window(f.out.Body).Dim(theme.Shadow)
	if place, ok := p.Overlay.Draw(f.over.Window(f.out.Body)); ok {
		at = cursor(place.X, place.Y)
	}
	return f.over.Render(f.look.SGR), at
}

func (f *Frame) drawPanes(m Moment) {
	for _, s := range f.out.Slots {
		pane := f.Pane(s.Pane)
		pane.Draw(f.grid, s.Whole(), f.moment(pane, m))
	}
}

func cursor(x, y int) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Blink = false
	return c
}

// same reports whether two layouts put everything at the same place.
func same(a, b layout.Out) bool {
	if a.TooSmall != b.TooSmall || a.Body != b.Body || a.Tabs != b.Tabs || a.Second != b.Second || a.Timeline != b.Timeline || a.Lesson != b.Lesson || a.Console != b.Console || len(a.Slots) != len(b.Slots) {
		return false
	}
	for i := range a.Slots {
		if a.Slots[i] != b.Slots[i] {
			return false
		}
	}
	return true
}

// KeyAt is the key that is written at a column of the key line.
func (f *Frame) KeyAt(col int) (keymap.Binding, bool) { return f.keys.at(col) }
