package overlay

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Question asks whether something is to be done. The key that opened it answers yes, so
// that pressing it again is enough.
type Question struct {
	Title   string
	Text    string
	Yes, No string // two words each, for the key line
	Do      action.Action
	Or      string // what s does instead, in some words; "" for nothing
	OrDo    action.Action
}

var (
	yesKeys = []string{"q", "y", "enter", "ctrl+c"}
	noKeys  = []string{"esc", "n"}
)

// Keys implements [Overlay].
func (q *Question) Keys() []key.Binding {
	keys := []key.Binding{keymap.Hint("q", q.Yes, yesKeys...), keymap.Hint("esc", q.No, noKeys...)}
	if q.Or != "" {
		keys = append(keys, keymap.Hint("s", q.Or, "s"))
	}
	return keys
}

// Paste implements [Overlay].
func (q *Question) Paste(string) {}

// Wheel implements [Overlay].
func (q *Question) Wheel(int) {}

// Click implements [Overlay].
func (q *Question) Click(int, int) Reaction { return Reaction{Close: true} }

// Key implements [Overlay].
func (q *Question) Key(k tea.KeyPressMsg) Reaction {
	keys := q.Keys()
	switch {
	case key.Matches(k, keys[0]):
		return Reaction{Close: true, Do: q.Do}
	case key.Matches(k, keys[1]):
		return Reaction{Close: true}
	case q.Or != "" && key.Matches(k, keys[2]):
		return Reaction{Close: true, Do: q.OrDo}
	}
	return Reaction{}
}

// Draw implements [Overlay].
func (q *Question) Draw(screen grid.Area) (Point, bool) {
	w := min(screen.W()-4, 64)
	lines := grid.Lines(q.Text, w-4)
	h := len(lines) + 4
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-h)/3, 0), w, h)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: q.Title, Style: theme.Title}}, theme.Warn)
	for y, l := range lines {
		in.Text(1, y, l, theme.Text)
	}
	y := len(lines) + 1
	x := in.Text(1, y, "q", theme.Key|grid.Bold)
	x = in.Text(x+1, y, q.Yes, theme.Muted)
	x = in.Text(x+3, y, "esc", theme.Key|grid.Bold)
	x = in.Text(x+1, y, q.No, theme.Muted)
	if q.Or != "" {
		x = in.Text(x+3, y, "s", theme.Key|grid.Bold)
		in.Text(x+1, y, q.Or, theme.Muted)
	}
	return Point{in.R.X + 1, in.R.Y + y}, true
}
