package overlay

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Page is text to read and scroll.
type Page struct {
	Title string
	Rows  func(width int) []Row
	Copy  string // what the copy key copies; "" for nothing
	Wide  bool
	Offer key.Binding   // a key of this page; none where it has no keys
	Does  action.Action // what it does

	text Scroll
}

// Keys implements [Overlay].
func (p *Page) Keys() []key.Binding {
	k := []key.Binding{keymap.Hint("↑↓", "scroll", "up", "down"), closeKey, copyKey, p.Offer}
	k[2].SetEnabled(p.Copy != "")
	return k
}

var (
	copyKey  = keymap.Hint("y", "copy", "y")
	leaveKey = keymap.Hint("q", "close", "q", "enter", "?", "f1")
)

// Paste implements [Overlay].
func (p *Page) Paste(string) {}

// Wheel implements [Overlay].
func (p *Page) Wheel(by int) { p.text.By(by) }

// Click implements [Overlay].
func (p *Page) Click(x, y int) Reaction { return Reaction{Close: true} }

// Key implements [Overlay].
func (p *Page) Key(k tea.KeyPressMsg) Reaction {
	switch {
	case key.Matches(k, copyKey):
		return Reaction{Do: action.Copy{Text: p.Copy}}
	case key.Matches(k, p.Offer):
		return Reaction{Close: true, Do: p.Does}
	case key.Matches(k, closeKey, leaveKey):
		return Reaction{Close: true}
	}
	p.text.Key(k)
	return Reaction{}
}

// Draw implements [Overlay].
func (p *Page) Draw(screen grid.Area) (Point, bool) {
	w := min(screen.W()-4, 78)
	if p.Wide {
		w = min(screen.W()-4, 110)
	}
	rows := p.Rows(w - 4)
	h := min(len(rows)+2, screen.H()-2)
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-h)/3, 0), w, h)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	p.text.Draw(in, rows)
	return Point{in.R.X + 1, in.R.Y}, true
}
