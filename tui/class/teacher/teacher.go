// Package teacher is what the teacher of a class has on their screens: the [Projector] for everybody to see, and the [Notes],
// with the board of all students, for the teacher alone. Both draw the same scene of the lead's run and the same room, so either
// may end and come back; what a key does is done by the lead or by the room, never by a screen.
//
// What students have written (names, questions, answers) is from strangers: the grid cleans what it draws, and the export
// cleans what it writes.
//
// Start reading at [Projector.Update], then [Projector.draw].
package teacher

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/guest"
	"kviz/tui/class/lead"
	"kviz/tui/pane"
)

// Lead is the teacher's run: [lead.Lead], or a fake in a test. What it does may take a moment, so a screen never waits for it.
type Lead interface {
	Scene() *lead.Scene
	LookAs(given map[string]lessons.Answer) lessons.Look
	Press(k tea.KeyPressMsg) error
	Do(what string) error
	Answer(what string) error
	ShowPoll() error
	Exec(line string) error
	Black() error
	Spot(names ...string) error
	Mark(words string) error
}

// Room is who takes part: [class.Room].
type Room interface {
	State() *class.State
	Gate(beat, state string)
	Hint(name, text string)
	Call()
	Pin(on bool)
}

// Config is what a screen of the teacher's shows.
type Config struct {
	Lead   Lead
	Scenes *class.Bell // rings after each new scene
	Room   Room
	Seats  *class.Bell // rings after each change of the room
	Panes  []pane.Maker
	Beats  []Beat        // of the lesson, in order; a walk has its marks there by itself
	Title  string        // "L09 Kill the leader"
	Time   time.Duration // planned; 0 is not known
	Join   Join
	Theme  string // dark, light, 16, none; "" finds out
	Folder string // where exports go; "" is the current one
	Now    func() time.Time

	End      func()                     // ends the class for everybody; nil: a screen cannot
	Refusals func() []Refusal           // what the door has refused; nil for none
	Hints    func(beat string) []string // what a beat has to say to those who are stuck; nil for none
	Looking  func() int                 // how many look on by the page; nil: there is none

	// LookInto asks a student for a look at their screen, which ends with ctx; nil: there is no such thing.
	LookInto func(ctx context.Context, name string) (*guest.Look, error)
}

// Beat is a beat of the lesson.
type Beat struct {
	ID, Title, Kind string
	Ask             string // its question, "" for none
}

// Beats are those of a lesson.
func Beats(l *lessons.Lesson) (all []Beat) {
	for _, s := range l.Steps {
		b := Beat{ID: s.ID, Title: s.Title, Kind: s.Kind}
		if s.Question != nil {
			b.Ask = s.Question.Ask
		}
		all = append(all, b)
	}
	return all
}

// Join is what students have to know to come in.
type Join struct {
	Address     string // a line to type: "ssh -p 2222 lab.example.org"
	Page        string // of browsers: "http://lab.example.org:8080"; "" for none
	Code        string
	Fingerprint string // of the door's key
}

// Refusal is something that the door has refused.
type Refusal struct {
	At        time.Time
	Who, What string // an address or a name; "asked for a shell command"
	Times     int
}
