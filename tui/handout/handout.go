// Package handout makes of a lesson what is taken home: one page with every beat as it stood in one run, to be
// read without kviz, on paper or on a telephone. It is written as HTML (page.go), as Markdown (markdown.go) or as
// text (text.go).
//
// The page is one file: no script, nothing from the network, and a policy in its head that forbids both. What it
// says comes from lessons and classes whose authors need not be known, so every text is made safe as it is for a
// terminal (no control characters, nothing that turns text round) and then escaped for where it stands.
//
// Start reading at [Handout].
package handout

import (
	"fmt"
	"slices"

	"kviz/cluster/glossary"
	"kviz/lessons"
	"kviz/tui/class/result"
	"kviz/tui/grid"
	"kviz/tui/web"
	"kviz/tui/words"
)

// Handout is a lesson to be taken home.
type Handout struct {
	Lesson *lessons.Lesson
	Beats  []Beat
	Class  *result.Class // nil: no class has taken it
	Notes  bool          // with what is for who teaches
	Kviz   string        // the version of kviz
	Seed   uint64        // of the run
}

// Beat is a beat with its picture.
type Beat struct {
	lessons.Sheet
	Picture *grid.Grid
}

// Link is where kviz open begins the lesson at a beat.
func (h *Handout) Link(beat string) string {
	return fmt.Sprintf("%s@%d#%s", h.Lesson.ID, h.Lesson.Version, beat)
}

// lang is the language of the texts.
func (h *Handout) lang() string {
	if t := h.Lesson.Translated; t != nil {
		return t.Lang
	}
	return "en"
}

// term is a word of the lesson.
type term struct{ Word, Means string }

// terms are the words that the lesson explains and the glossary has.
func (h *Handout) terms() (all []term) {
	for _, word := range h.Lesson.Explain {
		if c := glossary.Find(word); c != nil && !slices.ContainsFunc(all, func(t term) bool { return t.Word == c.Word }) {
			all = append(all, term{web.Safe(c.Word), web.Safe(c.Means)})
		}
	}
	return all
}

// elsewhere are the class's polls of beats that this version of the lesson does not have.
func (h *Handout) elsewhere() (all []result.Poll) {
	if h.Class == nil {
		return nil
	}
	for _, p := range h.Class.Polls {
		if !slices.ContainsFunc(h.Beats, func(b Beat) bool { return b.ID == p.Beat }) {
			all = append(all, p)
		}
	}
	return all
}

// otherVersion says where the class took another lesson than this, "" where it took this one.
func (h *Handout) otherVersion() string {
	if h.Class == nil || h.Class.Lesson == fmt.Sprintf("%s@%d", h.Lesson.ID, h.Lesson.Version) {
		return ""
	}
	return fmt.Sprintf("The class took %s; this is version %d of %s.", web.Safe(h.Class.Lesson), h.Lesson.Version, h.Lesson.ID)
}

// kinds are the kinds of beats as they are called on the stage.
var kinds = map[string]string{lessons.See: "look", lessons.Predict: "predict", lessons.Do: "do", lessons.Break: "break", lessons.Free: "your turn"}

// answeredBy says what has answered a question.
func answeredBy(q *lessons.SheetQuestion) string {
	switch {
	case !q.By.IsZero():
		return "Answered in this run by event #" + q.By.String() + "."
	case q.Source != "":
		return "Source: " + web.Safe(q.Source)
	}
	return ""
}

// asked says how a question is answered that has no choices, "" for one that has.
func asked(q *lessons.SheetQuestion) string {
	switch q.Form {
	case lessons.Order:
		return "In which order?"
	case lessons.Match:
		return "What belongs to which?"
	case lessons.Point:
		return "Point at it in the picture."
	case lessons.Count:
		return "A number."
	}
	return ""
}

// minutes is a planned time, "" for none.
func (b Beat) minutes() string {
	if b.Planned == 0 {
		return ""
	}
	return words.Dur(b.Planned)
}
