package lessons

import "slices"

// Keys is what a learner with a seed answers to a beat's question to answer it as it is marked: the
// numbers that stand before the choices on the screen, from 1, in the order in which they are given.
// A question of order has one for each card; one of match a label for each item. It is for whoever
// drives a lesson from outside: tests.
func (l *Lesson) Keys(step *Step, seed uint64) []int {
	return step.Question.keys(l.layout(seed, step))
}

// keys are those that answer a question right as it is laid out; none for a number and for what is pointed at.
func (q *Question) keys(laid layout) (keys []int) {
	key := func(n int) { keys = append(keys, slices.Index(laid.answers, n)+1) }
	switch q.Form() {
	case OneOf:
		key(slices.IndexFunc(q.Choices, func(c *Choice) bool { return c.Right }))
	case Order:
		for i := range q.Cards {
			key(i)
		}
	case Match:
		for _, i := range laid.items {
			key(q.Items[i].label)
		}
	}
	return keys
}
