package lessons

import "slices"

// Right is what a learner answers to a question to answer it right: the numbers of
// the choices, from 1, in the order in which they are given. A question of order has
// one for each card, as they are laid out; one of match a label for each item.
// It is for whoever drives a lesson from outside: tests.
func (q *Question) Right() []int {
	var keys []int
	switch q.Form() {
	case OneOf:
		keys = append(keys, slices.IndexFunc(q.Choices, func(c *Choice) bool { return c.Right })+1)
	case Order:
		for i := range q.Cards {
			keys = append(keys, slices.Index(q.laid, i)+1)
		}
	case Match:
		for _, m := range q.Items {
			keys = append(keys, m.label+1)
		}
	}
	return keys
}
