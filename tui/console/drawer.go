package console

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/tui/grid"
)

// Drawer is the console's place on the screen: below the panes, open or shut, with the
// keyboard or without it.
type Drawer struct {
	*Console
	open    bool
	typing  bool   // it has the keyboard
	resting bool   // it has been left, and is small
	grown   int    // the rows that it has come to need since
	seen    uint64 // the version that was drawn
}

// NewDrawer makes a drawer that is shut.
func NewDrawer() *Drawer { return &Drawer{Console: New()} }

// Shown reports whether it is open, Typing whether it has the keyboard.
func (d *Drawer) Shown() bool  { return d.open }
func (d *Drawer) Typing() bool { return d.typing }

// Show opens it; Type gives it the keyboard too.
func (d *Drawer) Show() { d.open, d.resting = true, false }
func (d *Drawer) Type() { d.open, d.typing, d.resting = true, true, false }

// Leave gives the keyboard back to the panes, and most of its rows; Shut closes it.
func (d *Drawer) Leave() { d.typing, d.resting, d.grown = false, true, 0 }
func (d *Drawer) Shut()  { d.open, d.typing, d.grown = false, false, 0 }

// Needs is how many rows of so many columns it would take: enough for what the newest
// command prints, and never fewer than before while somebody is at it, so that the panes do
// not go up and down with every line. At rest it asks for none.
func (d *Drawer) Needs(columns int) int {
	if d.resting {
		return 0
	}
	d.grown = max(d.grown, d.need(columns))
	return d.grown
}

// Update reports whether there is something new to draw.
func (d *Drawer) Update() (changed bool) {
	v := d.Version()
	changed = v != d.seen
	d.seen = v
	d.settle()
	return changed
}

// Busy reports whether a command runs, or there is something new that was not drawn.
func (d *Drawer) Busy() bool { return d.Console.Busy() || d.Version() != d.seen }

// Press answers a key press, and gives the line that was entered, "" for none. Words
// are completed from a state of the cluster and from what can be broken in it, which is
// nil while the cluster starts.
func (d *Drawer) Press(k tea.KeyPressMsg, s *view.State, c Catalogue) (line string) {
	e := d.Key(k, func(line string) []string { return d.Complete(line, s, c) })
	if e.Close {
		d.Leave()
	}
	return e.Line
}

// Complete returns what could replace the last word of a line.
func (d *Drawer) Complete(line string, s *view.State, c Catalogue) []string {
	head, word := "", line
	if i := strings.LastIndex(line, " "); i >= 0 {
		head, word = line[:i+1], line[i+1:]
	}
	return completions(s, c, d.Jobs(), strings.Fields(head), word)
}

// DrawIn draws the drawer, if it is open: it is nil otherwise.
func (d *Drawer) DrawIn(keyboard, paused bool) func(grid.Area) (x, y int) {
	if !d.open {
		return nil
	}
	return func(a grid.Area) (x, y int) { return d.Draw(a, keyboard, !d.resting, paused) }
}
