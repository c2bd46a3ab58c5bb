// Package lesson is the lesson on the screen: beside the panes where there is room; where
// there is not, in their place at full size or below them. It shows the beat of package
// lessons' player and passes on what the learner answers.
//
// Start reading at [Lesson.Draw].
package lesson

import (
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/layout"
	"kviz/tui/markup"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Player is what has lessons: [lessons.Player], or a fake in a test. Its methods return
// at once.
type Player interface {
	List() []lessons.Info
	Beats(id string) []lessons.Need
	Progress() string
	Start(id string) error
	Await(id string)
	Look() lessons.Look
	Do(action string) error
}

// Lesson is the lesson that is under way, if there is one, and its place on the screen.
type Lesson struct {
	player Player // nil where there are no lessons
	look   lessons.Look
	open   bool // it is shown
	large  bool // where the screen is narrow it takes the place of the panes
	notes  bool // the notes for the teacher are shown
	text   overlay.Scroll
	rows   int    // its height, as last drawn
	next   string // the lesson to begin when the cluster is up
}

// New makes the lesson's part of the screen; the player may be nil.
func New(p Player) *Lesson { return &Lesson{player: p} }

// None reports whether there are no lessons here.
func (l *Lesson) None() bool { return l.player == nil }

// Shown reports whether a lesson is on the screen, Active whether one is under way.
func (l *Lesson) Shown() bool  { return l.open && l.look.Active }
func (l *Lesson) Active() bool { return l.look.Active }

// Look is the lesson as it stood at the last update.
func (l *Lesson) Look() lessons.Look { return l.look }

// Large reports whether it takes the place of the panes on a screen of so many columns.
func (l *Lesson) Large(width int) bool { return l.open && l.large && layout.Narrow(width) }

// Shrink gives the panes their place back.
func (l *Lesson) Shrink() { l.large = false }

// Toggle goes from the large lesson to the small one, to none, and back; where the
// lesson is beside the panes it has one size.
func (l *Lesson) Toggle(width int) action.Action {
	switch {
	case l.None():
		return none
	case !l.look.Active:
		return action.Lessons
	case l.open && l.large:
		l.large = false
	case l.open:
		l.open = false
	default:
		l.open, l.large = true, layout.Narrow(width)
	}
	return nil
}

var none = action.Notice{Text: "there are no lessons here"}

// Update asks how the lesson stands: a new beat brings its panes.
func (l *Lesson) Update() action.Action {
	if l.None() {
		return nil
	}
	old := l.look
	l.look = l.player.Look()
	var does action.All
	if old.Active != l.look.Active || !slices.Equal(old.View, l.look.View) {
		does = append(does, action.Put(l.look.View))
	}
	return does
}

// Begin begins a lesson; while the cluster is not up, whose commands set the scene, it
// waits for it.
func (l *Lesson) Begin(id string, up bool, width int) action.Action {
	switch {
	case l.None():
		return none
	case !up:
		l.next = id
		l.player.Await(id)
		return action.All{action.Explore{}, action.Notice{Text: "the lesson begins as soon as the cluster is up"}}
	}
	if err := l.player.Start(id); err != nil {
		return action.Notice{Text: err.Error()}
	}
	l.open, l.large, l.next = true, layout.Narrow(width), ""
	l.text.Top()
	return action.All{action.Explore{}, l.Update()}
}

// GoOn shows a lesson that is under way already.
func (l *Lesson) GoOn(width int) action.Action {
	if l.None() {
		return none
	}
	l.open, l.large = true, layout.Narrow(width)
	return l.Update()
}

// Up begins the lesson that has waited for the cluster, if there is one.
func (l *Lesson) Up(width int) action.Action {
	if l.next == "" {
		return nil
	}
	return l.Begin(l.next, true, width)
}

// Do does an action of the lesson on a screen of so many columns.
func (l *Lesson) Do(name string, width int) action.Action {
	if l.scroll(name) {
		return nil
	}
	if l.None() {
		return none
	}
	if err := l.player.Do(name); err != nil {
		return action.Notice{Text: err.Error()}
	}
	step := l.look.Step
	does := l.Update()
	if l.look.Step != step {
		l.text.Top()
		l.large = layout.Narrow(width)
	}
	if name == leave {
		l.open = false
	}
	return does
}

// Wheel scrolls the text.
func (l *Lesson) Wheel(by int) { l.text.By(by) }

// asks reports whether the beat asks something that has not been answered.
func (l *Lesson) asks() bool { return len(l.look.Choices) > 0 && !l.look.Answered }

// asksParts reports whether the answer has several parts: an order, or labels.
func (l *Lesson) asksParts() bool {
	return l.asks() && (l.look.Form == lessons.Order || l.look.Form == lessons.Match)
}

// Progress is a page with what the learner has done.
func (l *Lesson) Progress() overlay.Overlay {
	return &overlay.Page{Title: "Your progress", Rows: func(width int) []overlay.Row {
		var rows []overlay.Row
		for _, line := range strings.Split(strings.TrimRight(l.player.Progress(), "\n"), "\n") {
			rows = append(rows, markup.Line(line, theme.Text))
		}
		return rows
	}}
}
