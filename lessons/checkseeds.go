package lessons

import (
	"context"
	"errors"
	"fmt"
)

// Seeded is a way to boot a lesson's cluster with a seed, by which chance decides.
type Seeded struct {
	Seed uint64
	Boot Boot
}

// Seeds proves a lesson in beats on every one of some seeds: what its texts say and claim is true
// on each, and what it asks has the same answer, unless the question says that it varies. What
// was true by chance is refused.
func (t *Trials) Seeds(ctx context.Context, l *Lesson, seeds []Seeded, screen Screen) error {
	answers := make([]map[string]float64, len(seeds))
	var all []func() error
	for i, s := range seeds {
		all = append(all, func() (err error) {
			if answers[i], err = l.prove(ctx, s.Boot, screen, 0); err != nil {
				return fmt.Errorf("on seed %d: %w", s.Seed, err)
			}
			return nil
		})
	}
	if err := t.run(l, all); err != nil {
		return err
	}
	return l.agree(seeds, answers)
}

// agree refuses questions for a number that is another on another seed.
func (l *Lesson) agree(seeds []Seeded, answers []map[string]float64) error {
	var wrong []error
	for _, step := range l.Steps {
		q := step.Question
		if q == nil || q.Form() != Count || q.Varies {
			continue
		}
		first := answers[0][step.ID]
		for i, a := range answers[1:] {
			if same, err := q.Number.takes(a[step.ID], first); err != nil || !same {
				wrong = append(wrong, l.shown(step, fmt.Errorf("beat %q: the answer is %s on seed %d and %s on seed %d; say varies: true, or how near counts (near)",
					step.ID, q.Number.unit(first), seeds[0].Seed, q.Number.unit(a[step.ID]), seeds[i+1].Seed)))
				break
			}
		}
	}
	return errors.Join(wrong...)
}

// computed are the answers to the questions for a number, by beat.
func (a *Attempt) computed() map[string]float64 {
	all := map[string]float64{}
	for _, step := range a.Lesson.Steps {
		if v, told := a.told[step.ID]; told && step.Question != nil && step.Question.Form() == Count {
			all[step.ID] = v.right
		}
	}
	return all
}
