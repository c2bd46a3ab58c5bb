// Package edit is the one-line text field of the explorer: the console's
// command line, the filter, the palette's search, every prompt. It is the text
// input of bubbles with a history, drawn into the grid.
//
// Start reading at [Line].
package edit

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
)

// Line is a line being edited. The zero Line is empty.
type Line struct {
	in *textinput.Model // made at the first use

	history []string
	back    int // how far back in the history; 0 is the line being typed
	typed   string
}

// The keys of the history.
var (
	older = key.NewBinding(key.WithKeys("up"))
	newer = key.NewBinding(key.WithKeys("down"))
)

func (l *Line) input() *textinput.Model {
	if l.in == nil {
		in := textinput.New()
		in.Prompt = ""
		in.SetVirtualCursor(false)        // the terminal's own cursor is put there
		in.KeyMap.Paste.SetEnabled(false) // it reads the clipboard of the machine kviz runs on; the terminal pastes its own
		in.Focus()
		l.in = &in
	}
	return l.in
}

// String is the text.
func (l *Line) String() string {
	if l.in == nil {
		return ""
	}
	return l.in.Value()
}

// Set replaces the text and puts the cursor at its end.
func (l *Line) Set(s string) {
	l.input().SetValue(s)
	l.in.CursorEnd()
}

// Remember adds a line to the history, unless it repeats the last one.
func (l *Line) Remember(s string) {
	l.back = 0
	if s == "" || len(l.history) > 0 && l.history[len(l.history)-1] == s {
		return
	}
	l.history = append(l.history, s)
}

// History is what was remembered, oldest first.
func (l *Line) History() []string { return l.history }

// Insert puts text at the cursor; line breaks become blanks.
func (l *Line) Insert(s string) {
	l.update(tea.PasteMsg{Content: strings.ReplaceAll(s, "\r\n", "\n")})
}

// Break stands for a line break in a line.
const Break = "␤"

// InsertLines puts text at the cursor; line breaks within it are kept as [Break].
func (l *Line) InsertLines(s string) {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	l.Insert(strings.ReplaceAll(strings.ReplaceAll(s, "\r", "\n"), "\n", Break))
}

// Lines is the text with the line breaks that were inserted.
func (l *Line) Lines() string { return strings.ReplaceAll(l.String(), Break, "\n") }

func (l *Line) update(msg tea.Msg) { *l.input(), _ = l.input().Update(msg) }

// Key edits the line and reports whether the text is another one now.
func (l *Line) Key(k tea.KeyPressMsg) bool {
	before := l.String()
	switch {
	case key.Matches(k, older):
		l.recall(1)
	case key.Matches(k, newer):
		l.recall(-1)
	default:
		l.update(k)
	}
	return l.String() != before
}

func (l *Line) recall(by int) {
	n := l.back + by
	if n < 0 || n > len(l.history) {
		return
	}
	if l.back == 0 {
		l.typed = l.String()
	}
	l.back = n
	if n == 0 {
		l.Set(l.typed)
	} else {
		l.Set(l.history[len(l.history)-n])
	}
}

// Draw draws the line in one row of w columns, scrolled so that the cursor is
// seen, and gives the cursor's column. (The input's own view counts runes where
// a cursor needs columns, and knows no roles.)
func (l *Line) Draw(a grid.Area, x, y, w int, st grid.Style) (cursor int) {
	if w <= 0 {
		return x
	}
	text, at := []rune(l.String()), l.input().Position()
	from := at
	for wide := 0; from > 0; from-- {
		if wide += grid.Width(string(text[from-1])); wide > w-1 {
			break
		}
	}
	a.Sub(x, y, w, 1).Text(0, 0, string(text[from:]), st)
	return x + grid.Width(string(text[from:at]))
}
