// Package lessons turns folders of text into lessons: beats to read, predict,
// do and break, goals that are judged by what the cluster does, and hints that
// match where the learner stands.
//
// A lesson never looks at what is on the screen or at what was typed; its goals
// are expressions over the folded state and the events of the trace (package
// expr). So any way that leads there counts, and a test can prove that a
// lesson's offers meet its goals and that its near-misses do not.
//
// Start reading at [Lesson], then [Load] (how a folder is read), [Session] (how
// progress is judged), [Attempt] (how a lesson in beats goes along the trace), [Player]
// (what the explorer shows) and [Trials] (how a lesson is proven).
package lessons

import (
	"io/fs"
	"time"

	"kviz/cluster/expr"
)

// Lesson is one lesson.
type Lesson struct {
	ID      string   // "L02"
	Title   string   //
	Part    string   // the heading it stands under in the list
	Teaches []string // what one can do afterwards
	Needs   []string // lessons to take before
	Minutes int
	Steps   []*Step // its beats

	Version int      // of its beats; raised as they change
	Scene   Scene    // the cluster that it is written for
	Explain []string // the terms that it explains
	Facts   []Fact
	Pins    []Pin // what must be so when the scene is set
	Recalls []Recall

	Words    string            // shell functions that come before each of the scripts
	Setup    string            // console script that sets the scene
	Cleanup  string            // console script that puts things back
	Accepted map[string]string // other scripts that solve it, by name
	Near     map[string]string // scripts that must not solve it, by name

	From     string // the folder that it was read from, as it was named; "" for kviz' own
	Bundled  bool   // it came in one file from somebody: its scripts reach no files but those of its own folder
	Replaces bool   // one of kviz' own has the same id and is not shown

	Translated *Translation // nil: its texts are as they were written

	beats []string // the IDs of its beats, also where they were not read yet

	files fs.FS  // where it was read from
	in    string // its folder there

	dir  string
	file string                  // its text, as its author knows it
	rest func() (*Lesson, error) // of a lesson that was read for a list; nil where it is whole
}

// Whole is the lesson with its beats and scripts, which [Read] leaves for the moment when
// somebody begins it; always the same one.
func (l *Lesson) Whole() (*Lesson, error) {
	if l.rest == nil {
		return l, nil
	}
	return l.rest()
}

// The kinds of beats.
const (
	See     = "see"     // read and look
	Predict = "predict" // say what will happen
	Do      = "do"      // make it happen
	Break   = "break"   // break something
	Free    = "free"    // try what you like
)

// Step is one beat of a lesson.
type Step struct {
	ID       string
	Kind     string
	Title    string
	Text     string // paragraphs, `code` and **bold**
	Notes    string // for the teacher; not shown to learners
	Goals    []*Goal
	Question *Question

	Chapter string
	Stage   *Stage
	Caption []*Text // before and after the change
	Offers  []Offer // what solves it, in order
	Time    time.Duration

	line  int         // where it is written, from 1
	names *expr.Scope // what its expressions may say
	said  map[string]*Text
}

// Goal is something that must have happened or must be so.
type Goal struct {
	ID    string
	Say   string        // the line of the checklist
	Hold  time.Duration // a level must last this long (virtual)
	After string        // an edge counts only after this goal was met
	Hints []*Hint

	Optional bool    // the beat is done without it
	Misses   []*Miss // what comes near to it and is not it

	edge  *condition // happened once
	level *condition // is so now
	never *condition // must not happen
}

// Miss is something that a learner may do instead of what a goal wants.
type Miss struct {
	Say   *Text
	Fatal bool // the goal can no longer be met
	when  *condition
}

// Edge reports whether the goal is something that happens once, not something
// that has to last.
func (g *Goal) Edge() bool { return g.edge != nil }

// Never reports whether the goal is something that must not happen.
func (g *Goal) Never() bool { return g.never != nil }

// Hint is one hint, given when it matches where the learner stands.
type Hint struct {
	Text string
	when *condition // nil for always
}

// Question is a prediction, which the simulation answers, or a quiz. It has one
// of five forms (forms.go): one of several choices, cards to put in order, items to label, a
// number, or a cell of the picture.
type Question struct {
	Ask     string
	Choices []*Choice
	Cards   []*Card // in the right order
	Labels  []*Label
	Items   []*Item
	Number  *Number    // nil unless a number is asked for
	Point   *Pointing  // nil unless a cell is to be pointed at
	claims  string     // one answer, of a question that asks whether it is so; "" else
	fixed   layout     // as it is laid out where nobody takes the lesson
	written string     // a digest of its parts, in the language in which it is written
	reveal  *condition // the moment when the simulation has answered; nil for a quiz

	Varies bool   // whose answer is another with another seed
	Source string // where the answer stands that no run proves: a page of upstream's, or a symbol of its source
}

// Quiz reports whether the text, not the simulation, has the answer.
func (q *Question) Quiz() bool { return q.reveal == nil }

// Choice is one answer.
type Choice struct {
	Text  string
	Right bool
	Why   string

	Ghosts []*Ghost   // what it says of cells of the picture
	is     *condition // whether the simulation did this, asked when it is revealed
}

// Goals lists the goals of all beats, in order.
func (l *Lesson) Goals() []*Goal {
	var all []*Goal
	for _, s := range l.Steps {
		all = append(all, s.Goals...)
	}
	return all
}
