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

// Prompt asks for one line of text.
type Prompt struct {
	action.Prompt
	Line edit.Line

	complete func(line string) (head string, words []string) // nil: nothing is completed
	proposed bool                                            // the line is a proposal: what is typed takes its place
	head     string                                          // of the line, before what words complete
	words    []string
}

// Keys implements [Overlay].
func (p *Prompt) Keys() []key.Binding {
	keys := []key.Binding{goKey, closeKey, keymap.Hint("↑↓", "history", "up", "down")}
	if p.complete != nil {
		keys = append([]key.Binding{goKey, tabKey}, keys[1:]...)
	}
	return keys
}

var (
	goKey  = keymap.Hint("⏎", "go", "enter")
	tabKey = keymap.Hint("tab", "complete", "tab")
)

// Paste implements [Overlay].
func (p *Prompt) Paste(s string) {
	p.typed()
	p.Line.Insert(s)
	p.offer()
}

// typed makes room for what the person types in the place of a proposal.
func (p *Prompt) typed() {
	if p.proposed {
		p.Line.Set("")
	}
	p.proposed = false
}

// offer looks what could stand at the end of the line.
func (p *Prompt) offer() {
	p.head, p.words = "", nil
	if p.complete != nil {
		p.head, p.words = p.complete(p.Line.String())
	}
}

// fill puts at the end of the line what all that could stand there begin with, or else the
// only one.
func (p *Prompt) fill() {
	if len(p.words) == 0 {
		return
	}
	same := p.words[0]
	for _, w := range p.words {
		for !strings.HasPrefix(w, same) {
			same = same[:len(same)-1]
		}
	}
	if line := p.head + same; len(line) >= len(p.Line.String()) {
		p.Line.Set(line)
	}
	p.offer()
}

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
		return Reaction{Close: true, Do: action.Entered{For: p.For, Text: p.Line.String(), Needed: p.Needed, At: p.At, From: p.From, Of: p.Of}}
	}
	if k.Text != "" {
		p.typed()
	}
	p.proposed = false
	if p.complete != nil && key.Matches(k, tabKey) {
		p.fill()
	} else if p.Line.Key(k) {
		p.offer()
	}
	return Reaction{}
}

// offered is in how many rows the words stand that could come next.
const offered = 3

// Draw implements [Overlay].
func (p *Prompt) Draw(screen grid.Area) (Point, bool) {
	w := min(screen.W()-4, 90)
	intro := grid.Lines(p.Intro, w-4)
	h := len(intro) + 3
	wrong := errorLines(p.Error, w-4)
	h += len(wrong)
	if p.complete != nil {
		h += offered
	}
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-h)/3, 0), w, h)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	for y, l := range intro {
		in.Text(1, y, l, theme.Muted)
	}
	y := len(intro)
	in.Text(1, y, "›", theme.Accent)
	look := theme.Text
	if p.proposed {
		look |= grid.Reverse
	}
	x := p.Line.Draw(in, 3, y, in.W()-4, look)
	for i, l := range wrong {
		in.Text(1, y+1+i, l, theme.Bad)
	}
	if p.complete != nil {
		in.Wrap(3, y+1+len(wrong), in.W()-4, offered, strings.Join(p.words, "  "), theme.Muted)
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
