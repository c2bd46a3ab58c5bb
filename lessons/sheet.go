package lessons

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Sheet is one beat as it stands on paper: with the values of one run, and with what came of its question there.
type Sheet struct {
	ID, Kind, Title, Chapter string

	Says     []string // its paragraphs
	Commands []SheetCommand
	Goals    []SheetGoal
	Asks     *SheetQuestion // nil: it asks nothing
	Stands   trace.ID       // the event at which it stands

	Notes   string        // for who teaches
	Planned time.Duration // in class; 0 where the lesson does not say
}

// SheetCommand is a command that a beat offers.
type SheetCommand struct {
	Line string
	Exit int // the exit status it ends with
}

// SheetGoal is a line of a beat's checklist.
type SheetGoal struct {
	Say      string
	Optional bool
}

// SheetQuestion is a question with its answers.
type SheetQuestion struct {
	Ask, Form string
	Choices   []string // what could be said, as it is laid out on the screen; none of a number and a cell
	Items     []string // what gets one of the choices, of a question of match
	Answers   []SheetAnswer
	By        trace.ID // the event that answered; zero where the text has the answer
	Source    string   // where the answer stands that no run proves
}

// SheetAnswer is an answer, or a part of the right one, and why.
type SheetAnswer struct {
	Text  string
	Right bool
	Why   string
}

// Sheets goes through a lesson by its recording as [Lesson.Replay] does, and gives each beat as it stands on paper.
func (l *Lesson) Sheets(events []*trace.Event, marks *Marks, screen Screen) ([]Sheet, error) {
	a, err := l.replay(events, marks, screen)
	if err != nil {
		return nil, err
	}
	var all []Sheet
	for i, step := range l.Steps {
		all = append(all, a.sheet(i, step))
	}
	return all, nil
}

func (a *Attempt) sheet(beat int, step *Step) Sheet {
	s := Sheet{ID: step.ID, Kind: step.Kind, Title: step.Title, Chapter: step.Chapter, Notes: step.Notes, Planned: step.Time}
	if span := a.Span(beat); span.end != nil {
		s.Stands = span.end.Last
	}
	before, after, _ := a.Caption(beat)
	for _, text := range []string{before, after} {
		if text != "" {
			s.Says = append(s.Says, text)
		}
	}
	for _, o := range step.Offers {
		line, _ := a.At(beat, o.Run)
		s.Commands = append(s.Commands, SheetCommand{line, o.Exit})
	}
	for _, g := range step.Goals {
		s.Goals = append(s.Goals, SheetGoal{a.fillAt(beat, step, g.Say), g.Optional})
	}
	if step.Question != nil {
		s.Asks = a.asks(beat, step)
	}
	return s
}

// fillAt fills a text of a step as of where a beat stands.
func (a *Attempt) fillAt(beat int, step *Step, src string) string {
	t := step.said[src]
	if t == nil {
		return src
	}
	words, _ := a.At(beat, t)
	return words
}

// answeredIn is the beat in which an event was on the stage that answers a question of a beat.
func (a *Attempt) answeredIn(asked int, by trace.ID) int {
	_, pos, ok := a.stream.At(by)
	if by.IsZero() || !ok {
		return asked
	}
	for i := asked; i < len(a.spans); i++ {
		if a.spans[i].At > pos {
			return i
		}
	}
	return asked
}

// asks is a step's question, with what this run has answered.
func (a *Attempt) asks(beat int, step *Step) *SheetQuestion {
	q := step.Question
	v, told := a.told[step.ID]
	out := &SheetQuestion{Ask: a.fillAt(beat, step, q.Ask), Form: q.Form(), Source: q.Source, By: v.at}
	for _, f := range a.facts[step.ID] {
		if f.at.Compare(out.By) > 0 {
			out.By = f.at
		}
	}
	in := a.answeredIn(beat, out.By)
	fill := func(text string) string { return a.fillAt(in, step, text) }
	laid := a.layout(step)
	right := func(text, why string) {
		out.Answers = append(out.Answers, SheetAnswer{text, true, fill(why)})
	}
	switch q.Form() {
	case OneOf:
		for _, n := range laid.answers {
			c := q.Choices[n]
			text := fill(c.Text)
			came := c.Right
			if told {
				came = v.holds[n]
			}
			out.Choices = append(out.Choices, text)
			out.Answers = append(out.Answers, SheetAnswer{text, came, fill(c.Why)})
		}
	case Order:
		for _, n := range laid.answers {
			out.Choices = append(out.Choices, fill(q.Cards[n].Text))
		}
		for place, n := range a.truth(step) {
			right(fmt.Sprintf("%d. %s", place+1, fill(q.Cards[n].Text)), q.Cards[n].Why)
		}
	case Match:
		for _, n := range laid.answers {
			out.Choices = append(out.Choices, fill(q.Labels[n].Text))
		}
		labels := a.truth(step)
		for _, n := range laid.items {
			item := fill(q.Items[n].Text)
			out.Items = append(out.Items, item)
			right(item+": "+fill(q.Labels[labels[n]].Text), q.Items[n].Why)
		}
	case Count:
		if told {
			right(q.Number.unit(v.right), q.Number.why(v.right))
		}
		out.Answers = append(out.Answers, others(fill, q.Number.Why, number(v.right), func(x string) string { return strings.TrimSpace(x + " " + q.Number.Unit) })...)
	case Point:
		for _, cell := range v.rightCells() {
			right(called(cell), q.Point.why(cell))
		}
		for _, other := range others(fill, q.Point.Why, "", called) {
			if !slices.ContainsFunc(out.Answers, func(one SheetAnswer) bool { return one.Text == other.Text }) {
				out.Answers = append(out.Answers, other)
			}
		}
	}
	return out
}

// others are the answers that a lesson expects beside the right one, and why they are wrong.
func others(fill func(string) string, why map[string]string, right string, called func(string) string) (all []SheetAnswer) {
	for _, answer := range slices.Sorted(maps.Keys(why)) {
		if answer != right && answer != "_" {
			all = append(all, SheetAnswer{called(answer), false, fill(why[answer])})
		}
	}
	if rest := why["_"]; rest != "" && why[right] != "" {
		all = append(all, SheetAnswer{"any other answer", false, fill(rest)})
	}
	return all
}
