package lesson

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/keymap"
)

// The commands for a lesson; those that begin with "text." concern the text alone.
const (
	next    = "next"
	hint    = "hint"
	back    = "back"
	leave   = "leave"
	restart = "restart"
	undo    = "undo"

	lineDown = "text.line-down"
	lineUp   = "text.line-up"
	pageDown = "text.down"
	pageUp   = "text.up"
	notes    = "text.notes"
)

// The keys of the lesson. Those with a rank stand in its last line.
var (
	lessonKeys = []keymap.Binding{
		bind(1, next, "ctrl+n"), bind(2, hint, "ctrl+t", "ctrl+h"), bind(4, back, "ctrl+b"), bind(5, leave, "ctrl+x"), bind(0, restart, "ctrl+r"),
	}
	textKeys = []keymap.Binding{bind(0, pageDown, "ctrl+d", "alt+down"), bind(0, pageUp, "ctrl+u", "alt+up"), bind(0, notes, "alt+n")}
	// largeKeys work while the lesson has the place of the panes.
	largeKeys = []keymap.Binding{
		bind(0, lineDown, "down", "j"), bind(0, lineUp, "up", "k"), bind(0, pageDown, "pgdown"), bind(0, pageUp, "pgup"), bind(0, next, "enter"),
	}
	answerKeys = []keymap.Binding{
		bind(1, "answer 1", "alt+1"), bind(0, "answer 2", "alt+2"), bind(0, "answer 3", "alt+3"),
		bind(0, "answer 4", "alt+4"), bind(0, "answer 5", "alt+5"), bind(0, "answer 6", "alt+6"),
		bind(0, "answer 7", "alt+7"), bind(0, "answer 8", "alt+8"), bind(0, "answer 9", "alt+9"),
	}
	// undoKeys take back the last part of an answer that has several.
	undoKeys = []keymap.Binding{bind(1, undo, "alt+backspace", "alt+0")}
)

func bind(rank int, action string, keys ...string) keymap.Binding {
	words, _, _ := strings.Cut(action, " ")
	b := keymap.Bind(action, words, "", keys...)
	b.Rank = rank
	return b
}

// Has reports whether a key is one of those that a lesson has always, also where it is
// not on the screen.
func (l *Lesson) Has(k tea.KeyPressMsg) bool { return !l.None() && keymap.Action(k, lessonKeys) != "" }

// Key is the action of a key, "" where the lesson has none for it.
func (l *Lesson) Key(k tea.KeyPressMsg, width int) string {
	lists := [][]keymap.Binding{lessonKeys, textKeys}
	if l.asks() {
		lists = append(lists, answerKeys)
	}
	if l.asksParts() {
		lists = append(lists, undoKeys)
	}
	large := l.Large(width)
	if large {
		lists = append(lists, largeKeys)
	}
	for _, list := range lists {
		if name := keymap.Action(k, list); name != "" {
			return name
		}
	}
	switch { // letters and digits are the lesson's where it is large
	case !large:
	case l.asksParts() && (k.Code == tea.KeyBackspace || k.Text == "0"):
		return undo
	case l.asks() && len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9":
		return "answer " + k.Text
	}
	return ""
}

// ConsoleKey is the action of a key that a lesson needs between two commands, "" where
// the key is the console's.
func (l *Lesson) ConsoleKey(k tea.KeyPressMsg, width int) string {
	switch k.String() {
	case "ctrl+n", "ctrl+t", "ctrl+x":
	case "alt+0": // not alt+backspace, which deletes a word
		if !l.asksParts() {
			return ""
		}
	default:
		if !l.asks() || keymap.Action(k, answerKeys) == "" {
			return ""
		}
	}
	return l.Key(k, width)
}

// scroll does the actions that concern the text alone.
func (l *Lesson) scroll(name string) bool {
	switch name {
	case lineDown:
		l.text.By(1)
	case lineUp:
		l.text.By(-1)
	case pageDown:
		l.text.By(l.page())
	case pageUp:
		l.text.By(-l.page())
	case notes:
		l.notes = !l.notes
	default:
		return false
	}
	return true
}

func (l *Lesson) page() int { return max(l.rows/2, 3) }
