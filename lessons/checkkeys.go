package lessons

import (
	"fmt"
	"slices"
)

// learners is for how many of them it is looked at where the right answers stand.
const learners = 20

// checkKeys refuses a lesson in which the place of an answer gives it away: one that somebody passes who always presses
// the same key, in the order in which it is written or in that of a learner, and one whose right choices stand in the
// same place more often than not.
func (l *Lesson) checkKeys() (wrong []error) {
	asks := l.asks()
	if len(asks) < 2 {
		return nil
	}
	if l.byOneKey(func(s *Step) layout { return s.Question.unlaid() }) {
		wrong = append(wrong, fmt.Errorf("%s: one key answers every question right, in the order in which the answers are written; put the right ones in different places", l.file))
	}
	for seed := range uint64(learners) {
		if l.byOneKey(func(s *Step) layout { return l.layout(seed, s) }) {
			wrong = append(wrong, fmt.Errorf("%s: one key answers every question right, as they are laid out for a learner with the seed %d", l.file, seed))
		}
	}
	return append(wrong, l.checkPlaces()...)
}

// checkPlaces refuses right choices that are mostly written in the same place.
func (l *Lesson) checkPlaces() (wrong []error) {
	at, all := map[int]int{}, 0
	for _, step := range l.asks() {
		if q := step.Question; q.Form() == OneOf {
			at[slices.Index(q.Choices, q.right())]++
			all++
		}
	}
	for place := range 9 {
		if n := at[place]; all > 1 && n == all || all >= 4 && 2*n > all {
			wrong = append(wrong, fmt.Errorf("%s: of %d questions with choices the right one stands in place %d in %d; at most half", l.file, all, place+1, n))
		}
	}
	return wrong
}

// byOneKey reports whether one key answers every question of the lesson right, as they are laid out.
func (l *Lesson) byOneKey(laid func(*Step) layout) bool {
	first := 0
	for _, step := range l.asks() {
		keys := step.Question.keys(laid(step))
		if len(keys) == 0 { // one that no digit answers
			return false
		}
		for _, key := range keys {
			if first == 0 {
				first = key
			}
			if key != first {
				return false
			}
		}
	}
	return first > 0
}

// unlaid is a question as it is written.
func (q *Question) unlaid() (laid layout) {
	_, among := q.parts()
	for n := range among {
		laid.answers = append(laid.answers, n)
	}
	for n := range q.Items {
		laid.items = append(laid.items, n)
	}
	return laid
}
