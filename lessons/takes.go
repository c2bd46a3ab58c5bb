package lessons

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// What a learner's time is made of, beside reading.
const (
	wordsAMinute = 200
	toLook       = 3 * time.Second  // at the picture, before a key is pressed
	toDecide     = 6 * time.Second  // on an answer, and on how sure one is
	toRun        = 8 * time.Second  // of each command that is offered: until it has run and its output is read
	toChange     = 3 * time.Second  // of what a beat shows: the changes on the way to its stop
	toTry        = 60 * time.Second // in free play
	mostOff      = 1.5              // a plan may be off by such a factor
)

// Takes is how long a lesson takes somebody who reads all of it, 200 words a minute, answers every question and runs
// what is offered. How long its changes play is known only where it is run ([Screen.Prove]): here it is a guess.
func (l *Lesson) Takes() time.Duration {
	plays := time.Duration(0)
	for _, step := range l.Steps {
		if step.Kind == See && !step.Stage.Still {
			plays += toChange
		}
	}
	return l.takes(plays)
}

// takes is [Lesson.Takes] where all that it shows plays so long.
func (l *Lesson) takes(plays time.Duration) time.Duration {
	sum, read := plays, 0
	for _, step := range l.Steps {
		sum += toLook
		texts := []string{step.Title}
		for _, t := range step.Caption {
			texts = append(texts, t.bare())
		}
		for _, g := range step.Goals {
			texts = append(texts, step.plain(g.Say))
		}
		if q := step.Question; q != nil {
			sum += toDecide
			texts = append(texts, step.plain(q.Ask))
			whys := 0
			for _, c := range q.Choices {
				texts = append(texts, step.plain(c.Text))
				whys += len(strings.Fields(step.plain(c.Why)))
			}
			for _, c := range q.Cards {
				texts, whys = append(texts, c.Text), whys+len(strings.Fields(c.Why))
			}
			for _, m := range q.Items {
				texts, whys = append(texts, m.Text), whys+len(strings.Fields(m.Why))
			}
			for _, c := range q.Labels {
				texts = append(texts, c.Text)
			}
			if n := max(len(q.Choices), len(q.Cards), len(q.Items)); n > 0 { // one or two of them are told
				read += min(whys, 2*whys/n)
			}
			if q.InParts() {
				sum += toDecide
			}
		}
		read += len(strings.Fields(strings.Join(texts, " ")))
		sum += time.Duration(len(step.Offers)) * toRun
		if step.Kind == Free {
			sum += toTry
		}
	}
	return sum + time.Duration(read)*time.Minute/wordsAMinute
}

// Paced refuses a plan in minutes that is far off what the lesson takes.
func (l *Lesson) Paced() error { return l.paced(l.Takes()) }

func (l *Lesson) paced(lasts time.Duration) error {
	takes := lasts.Minutes()
	if off := float64(l.Minutes) / takes; off <= mostOff && off >= 1/mostOff {
		return nil
	}
	return fmt.Errorf("lesson %s: minutes: it is planned for %d, and takes %.0f", l.ID, l.Minutes, math.Max(math.Round(takes), 1))
}
