package overlay

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Progress shows the progress of something that the user waits for and can stop.
type Progress struct {
	Title string
	Text  string  // what is done
	Share float64 // how much of it, from 0 to 1
	Left  string  // how far it is, in words
	Stop  action.Action
}

var stopKey = keymap.Hint("esc", "stop", "esc", "ctrl+c")

// Keys implements [Overlay].
func (p *Progress) Keys() []key.Binding { return []key.Binding{stopKey} }

// Paste implements [Overlay].
func (p *Progress) Paste(string) {}

// Wheel implements [Overlay].
func (p *Progress) Wheel(int) {}

// Click implements [Overlay].
func (p *Progress) Click(int, int) Reaction { return Reaction{} }

// Key implements [Overlay].
func (p *Progress) Key(k tea.KeyPressMsg) Reaction {
	if key.Matches(k, stopKey) {
		return Reaction{Close: true, Do: p.Stop}
	}
	return Reaction{}
}

// Draw implements [Overlay].
func (p *Progress) Draw(screen grid.Area) (Point, bool) {
	w := min(screen.W()-4, 64)
	lines := grid.Lines(p.Text, w-4)
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-len(lines)-5)/3, 0), w, len(lines)+5)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	for y, l := range lines {
		in.Text(1, y, l, theme.Text)
	}
	y, cells := len(lines), in.W()-2
	full := int(min(max(p.Share, 0), 1) * float64(cells))
	in.Text(1, y, strings.Repeat("━", full), theme.Accent|grid.Bold)
	in.Text(1+full, y, strings.Repeat("─", cells-full), theme.Line)
	in.Fit(1, y+1, cells, p.Left, theme.Muted)
	x := in.Text(1, y+2, "esc", theme.Key|grid.Bold)
	in.Text(x+1, y+2, "stop", theme.Muted)
	return Point{in.R.X + 1, in.R.Y + y + 2}, true
}
