// Package frame is the screen with its panes: how it is divided, which pane has the
// focus, and what is drawn around the panes. It knows neither the cluster nor the trace,
// only what it is given to draw.
//
// Start reading at [Frame], then [Frame.Draw] (what is drawn where), status.go, tabs.go,
// explain.go and keys.go (the lines around the panes).
package frame

import (
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/trail"
)

// Frame is the screen.
type Frame struct {
	in     layout.In  // what the division of the screen depends on
	out    layout.Out // how it is divided, as last drawn
	panes  []*Place
	second *pane.Host // of the pane in focus, for another run
	grid   *grid.Grid
	over   *grid.Grid // the grid with an overlay over it
	look   look
	keys   keyLine
	anew   bool // everything is drawn again
	moved  bool // the last key moved the cursor: what is under it is explained
	picked bool // the user gave the pane the focus that has it: "why?" is about its marked row
}

// Place is a pane and what belongs to it whatever it shows.
type Place struct {
	*pane.Host
	Name   string
	Filter string
}

// Moment is the state that the panes show.
type Moment struct {
	State   *view.State
	History *view.History
	Live    bool // it is the newest
	Panes   bool // the panes have the keyboard, not the console or an overlay
	Motion  *motion.Shot
	Path    *trail.Walk
}

// New makes a frame with these panes, the first in focus, in an arrangement and a theme
// by their names, which may be "".
func New(makers []pane.Maker, preset, theme string) *Frame {
	f := &Frame{grid: grid.New(0, 0), over: grid.New(0, 0), look: newLook(theme), anew: true}
	for i, make := range makers {
		p := make()
		name := p.Info().Name
		f.panes = append(f.panes, &Place{Host: pane.NewHost(p, keymap.PaneKey(i)), Name: name})
		f.in.Panes = append(f.in.Panes, name)
	}
	f.in.Focus = f.in.Panes[0]
	f.in.Preset = max(slices.IndexFunc(layout.Presets, func(p layout.Preset) bool { return p.Name == preset }), 0)
	return f
}

// Resize follows the size of the terminal.
func (f *Frame) Resize(w, h int) {
	if w <= 0 || h <= 0 { // as some terminals say
		w, h = 80, 24
	}
	f.in.W, f.in.H = w, h
	f.grid.Resize(w, h)
	f.anew = true
}

// Width is the number of columns; 0 as long as the terminal has not said it.
func (f *Frame) Width() int { return f.in.W }

// Grid is what was drawn last.
func (f *Frame) Grid(overlay bool) *grid.Grid {
	if overlay && f.out.Menu.Empty() {
		return f.over
	}
	return f.grid
}

// Layout is how the screen was divided when it was drawn last.
func (f *Frame) Layout() layout.Out { return f.out }

// Anew makes the next frame draw everything again.
func (f *Frame) Anew() { f.anew = true }

// Names are the names of the panes in their order.
func (f *Frame) Names() []string { return f.in.Panes }

// Panes are the panes in their order.
func (f *Frame) Panes() []*Place { return f.panes }

// Pane is a pane by its name, or nil.
func (f *Frame) Pane(name string) *Place {
	if i := slices.Index(f.in.Panes, name); i >= 0 {
		return f.panes[i]
	}
	return nil
}

// TooSmall reports whether nothing is seen because the screen is too small.
func (f *Frame) TooSmall() bool { return f.out.TooSmall != "" }

// Focused is the pane that has the focus.
func (f *Frame) Focused() *Place { return f.Pane(f.in.Focus) }

// Focus gives a pane the focus.
func (f *Frame) Focus(name string) {
	if f.Pane(name) != nil {
		f.in.Focus, f.anew = name, true
	}
}

// NextFocus moves the focus along the panes on the screen; where there is only one,
// along all.
func (f *Frame) NextFocus(by int) {
	var order []string
	for _, s := range f.out.Slots {
		order = append(order, s.Pane)
	}
	switch {
	case len(order) < 3 && layout.Pictured(f.in.Preset), len(order) < 2:
		order = f.in.Panes
	case layout.Presets[f.in.Preset].Main:
		in := f.in
		in.Order = nil
		order = layout.Order(in)
	}
	at := slices.Index(order, f.in.Focus)
	if at < 0 {
		f.Focus(order[0])
		return
	}
	n := len(order)
	f.Focus(order[((at+by)%n+n)%n])
}

// Under is what is under the cursor of the focused pane.
func (f *Frame) Under() pane.Subject { return f.Focused().Under() }

// Pointed reports whether the last key moved the cursor.
func (f *Frame) Pointed() bool { return f.moved }

// Unpoint forgets that the cursor was moved: the user looks at something else now.
func (f *Frame) Unpoint() { f.moved, f.picked = false, false }

// Pick notes that the user has chosen the pane that has the focus.
func (f *Frame) Pick() { f.picked = true }

// Marked reports whether the user looks at what is under the cursor: the cursor was moved,
// or the user has chosen this pane, and it marks a row. On a picture the cursor rests
// somewhere, and chosen is the whole.
func (f *Frame) Marked() bool { return f.moved || f.picked && !f.Focused().Picture() }

// Point puts the cursor of the focused pane on a thing by its ID, or on what a fault of it
// would hit.
func (f *Frame) Point(id string) {
	f.Focused().Put(id)
	f.moved = true
}

// Do does an action of a pane with what is under its cursor.
func (f *Frame) Do(name, do string, m Moment) action.Action {
	p := f.Pane(name)
	if p == nil {
		return nil
	}
	at := f.moment(p, m)
	p.Dirty()
	return p.Pane.Do(do, p.Under(), &at)
}

// Open opens what is under the cursor of the focused pane: as the pane does, or, where
// that is nothing, as an object.
func (f *Frame) Open(m Moment) action.Action {
	on := f.Under()
	if does := f.Do(f.in.Focus, keymap.Open, m); does != nil || on.Ref.Name == "" {
		return does
	}
	return action.Show{Ref: on.Ref}
}

// Show shows an object in the pane that shows objects, and gives it the focus.
func (f *Frame) Show(ref trace.Ref) {
	for _, p := range f.panes {
		if s, ok := p.Pane.(pane.Shower); ok {
			s.Show(ref)
			p.Dirty()
			f.Focus(p.Name)
			return
		}
	}
}

// Move moves the cursor of the focused pane.
func (f *Frame) Move(name string, m Moment) {
	p := f.Focused()
	at := f.moment(p, m)
	p.Move(name, &at)
	f.moved = true
}

// Click puts the cursor on what lies at a place of a pane and reports whether it was
// there already.
func (f *Frame) Click(name string, x, y int, m Moment) (again bool) {
	p := f.Pane(name)
	same := name == f.in.Focus && m.Panes
	f.Focus(name)
	at := f.moment(p, m)
	again = p.Click(x, y, &at) && same
	f.moved = f.moved || !again
	return again
}

// Wheel scrolls a pane.
func (f *Frame) Wheel(name string, by int, m Moment) {
	p := f.Pane(name)
	at := f.moment(p, m)
	p.Wheel(by, &at)
}

// SetFilter gives the focused pane a filter; "" takes it away.
func (f *Frame) SetFilter(text string) {
	p := f.Focused()
	p.Filter = text
	p.Dirty()
}

// moment is the moment as a pane draws it.
func (f *Frame) moment(p *Place, m Moment) pane.Frame {
	focused := p.Name == f.in.Focus
	at := pane.Frame{S: m.State, H: m.History, Focused: focused && m.Panes, Live: m.Live, Motion: m.Motion, Path: m.Path, Filter: p.Filter}
	if !focused {
		at.Sel = f.Under()
	}
	at.W, at.Rows = p.Size()
	return at
}
