package lessons

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkBeats finds what is wrong with the beats of a lesson as they are written.
func (p *parser) checkBeats(l *Lesson) (wrong []error) {
	terms := newTerms(l.Explain)
	for i, s := range l.Steps {
		bad := func(format string, args ...any) {
			wrong = append(wrong, l.wrong(s, fmt.Errorf(format, args...)))
		}
		checkTexts(l, s, terms, bad)
		l.checkNumbers(s, bad)
		if len(s.Caption) > 2 {
			bad("%d paragraphs; one before the change and one after it", len(s.Caption))
		}
		switch s.Kind {
		case See:
			if s.Question != nil {
				bad("a question belongs to a predict beat")
			}
			if !s.Stage.Still && s.Stage.Stop == nil {
				bad("a see beat has a stop, at which its change has come, or still: true")
			}
			if len(s.Stage.Spots) == 0 {
				bad("a see beat says where to look (spot)")
			}
			for _, ring := range s.Stage.Spots {
				if err := l.named(i, ring); err != nil {
					bad("%w", err)
				}
			}
		case Predict:
			if s.Question == nil {
				bad("a predict beat has a question")
			} else if s.Question.unproven() && s.Question.Source == "" {
				bad("no run proves the answer to its question; say when one does (reveal), or where it stands (source)")
			}
		case Do, Break:
			if len(s.Goals) == 0 || len(s.Offers) == 0 {
				bad("a %s beat has goals, and offers the commands that reach them", s.Kind)
			}
			if s.Question != nil {
				bad("a question belongs to a predict beat")
			}
		case Free:
			if !slices.ContainsFunc(s.Goals, func(g *Goal) bool { return g.Optional }) {
				bad("a free beat has at least one optional goal")
			}
		}
		if i == 0 && s.Stage.Show == nil {
			bad("the first beat says what stands on the stage (show)")
		}
		if s.Stage.Show != nil && p.reader.prove {
			name, _, _ := strings.Cut(s.Stage.Show.bare(), "/")
			if !slices.Contains(p.reader.panes, name) {
				bad("show: there is no pane %q: one of %s", name, strings.Join(p.reader.panes, ", "))
			}
		}
	}
	for _, r := range l.Recalls {
		if !slices.ContainsFunc(l.Steps, func(s *Step) bool { return s.ID == r.Beat && s.Kind == Predict }) {
			wrong = append(wrong, fmt.Errorf("%s: recall: there is no predict beat %q", p.name, r.Beat))
			continue
		}
		step := l.Steps[slices.IndexFunc(l.Steps, func(s *Step) bool { return s.ID == r.Beat })]
		if q := step.Question; q != nil && q.Form() == Count && !l.elsewhere(r.Beat) && q.reshaped(step, 0) == nil {
			wrong = append(wrong, l.wrong(step, errors.New("recall: it would ask the same words about the same scene; say with which other scene, or why of a number that is easily said")))
		}
	}
	wrong = append(wrong, l.checkKeys()...)
	if tooStill(l) {
		wrong = append(wrong, fmt.Errorf("%s: more than one in six of its see beats stand still: a beat shows something by changing it", p.name))
	}
	return wrong
}
