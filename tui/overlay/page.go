package overlay

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/edit"
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

	text Scroll
}

// Keys implements [Overlay].
func (p *Page) Keys() []key.Binding {
	k := []key.Binding{keymap.Hint("↑↓", "scroll", "up", "down"), closeKey, copyKey}
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

// Prompt asks for one line of text.
type Prompt struct {
	action.Prompt
	Line edit.Line
}

// Keys implements [Overlay].
func (p *Prompt) Keys() []key.Binding {
	return []key.Binding{goKey, closeKey, keymap.Hint("↑↓", "history", "up", "down")}
}

var goKey = keymap.Hint("⏎", "go", "enter")

// Paste implements [Overlay].
func (p *Prompt) Paste(s string) { p.Line.Insert(s) }

// Wheel implements [Overlay].
func (p *Prompt) Wheel(int) {}

// Click implements [Overlay].
func (p *Prompt) Click(int, int) Reaction { return Reaction{} }

// Key implements [Overlay].
func (p *Prompt) Key(k tea.KeyPressMsg) Reaction {
	switch {
	case key.Matches(k, closeKey):
		return Reaction{Close: true}
	case key.Matches(k, goKey):
		p.Line.Remember(p.Line.String())
		return Reaction{Close: true, Do: action.Entered{For: p.For, Text: p.Line.String(), Needed: p.Needed, At: p.At, Of: p.Of}}
	}
	p.Line.Key(k)
	return Reaction{}
}

// Draw implements [Overlay].
func (p *Prompt) Draw(screen grid.Area) (Point, bool) {
	w := min(screen.W()-4, 90)
	intro := grid.Lines(p.Intro, w-4)
	h := len(intro) + 3
	wrong := errorLines(p.Error, w-4)
	h += len(wrong)
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-h)/3, 0), w, h)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	for y, l := range intro {
		in.Text(1, y, l, theme.Muted)
	}
	y := len(intro)
	in.Text(1, y, "›", theme.Accent)
	x := p.Line.Draw(in, 3, y, in.W()-4, theme.Text)
	for i, l := range wrong {
		in.Text(1, y+1+i, l, theme.Bad)
	}
	return Point{in.R.X + x, in.R.Y + y}, true
}

// errorLines breaks what was wrong into lines. Lines that begin with a space
// are quoted, such as an expression with a mark below it, and stay as they are.
func errorLines(text string, w int) []string {
	if text == "" {
		return nil
	}
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, " ") {
			out = append(out, l)
		} else {
			out = append(out, grid.Lines(l, w)...)
		}
	}
	return out
}
