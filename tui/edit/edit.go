// Package edit is the one-line text field of the explorer: the console's
// command line, the filter, the palette's search, every prompt. It keeps a
// history and takes completions from outside.
package edit

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
)

// Line is a line being edited.
type Line struct {
	text []rune
	at   int // cursor, 0..len(text)

	history []string
	back    int // how far back in the history; 0 is the line being typed
	typed   string
}

// String is the text.
func (l *Line) String() string { return string(l.text) }

// Set replaces the text and puts the cursor at its end.
func (l *Line) Set(s string) {
	l.text = []rune(s)
	l.at = len(l.text)
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
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s)
	r := []rune(s)
	rest := append([]rune(nil), l.text[l.at:]...)
	l.text = append(append(l.text[:l.at:l.at], r...), rest...)
	l.at += len(r)
}

// Key edits the line and reports whether it used the key.
func (l *Line) Key(k tea.KeyPressMsg) bool {
	switch s := k.String(); s {
	case "left", "ctrl+b":
		l.at = max(l.at-1, 0)
	case "right", "ctrl+f":
		l.at = min(l.at+1, len(l.text))
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.text)
	case "backspace", "ctrl+h":
		if l.at > 0 {
			l.text = append(l.text[:l.at-1], l.text[l.at:]...)
			l.at--
		}
	case "delete", "ctrl+d":
		if l.at < len(l.text) {
			l.text = append(l.text[:l.at], l.text[l.at+1:]...)
		}
	case "ctrl+u":
		l.text, l.at = append([]rune(nil), l.text[l.at:]...), 0
	case "ctrl+k":
		l.text = l.text[:l.at]
	case "ctrl+w", "alt+backspace":
		l.cutWord()
	case "alt+b", "ctrl+left", "alt+left":
		l.at = l.wordLeft()
	case "alt+f", "ctrl+right", "alt+right":
		l.at = l.wordRight()
	case "up":
		return l.recall(1)
	case "down":
		return l.recall(-1)
	default:
		if k.Text == "" || k.Mod&^tea.ModShift != 0 {
			return false
		}
		l.Insert(k.Text)
	}
	return true
}

func (l *Line) recall(by int) bool {
	n := l.back + by
	if n < 0 || n > len(l.history) {
		return len(l.history) > 0
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
	return true
}

func (l *Line) wordLeft() int {
	i := l.at
	for i > 0 && l.text[i-1] == ' ' {
		i--
	}
	for i > 0 && l.text[i-1] != ' ' {
		i--
	}
	return i
}

func (l *Line) wordRight() int {
	i := l.at
	for i < len(l.text) && l.text[i] == ' ' {
		i++
	}
	for i < len(l.text) && l.text[i] != ' ' {
		i++
	}
	return i
}

func (l *Line) cutWord() {
	i := l.wordLeft()
	l.text = append(l.text[:i], l.text[l.at:]...)
	l.at = i
}

// Draw draws the line in one row of w columns, scrolled so that the cursor is
// seen, and gives the cursor's column.
func (l *Line) Draw(a grid.Area, x, y, w int, st grid.Style) (cursor int) {
	if w <= 0 {
		return x
	}
	from := 0
	for from < l.at && grid.Width(string(l.text[from:l.at])) > w-1 {
		from++
	}
	a.Sub(x, y, w, 1).Text(0, 0, string(l.text[from:]), st)
	return x + grid.Width(string(l.text[from:l.at]))
}
