package lessons

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
)

// reshaped is a question as it is asked when it comes back: about one of its answers, whether it is so, or whether a
// number is larger than one that is easily said. So nobody is asked the same words about the same scene, and knows
// the answer by its place or its sound. nil where a question has no such shape: its parts are laid out otherwise, or
// another run has another answer.
func (q *Question) reshaped(step *Step, seed uint64) *Question {
	h := fnv.New64a()
	h.Write([]byte(step.ID))
	r := rand.New(rand.NewPCG(h.Sum64(), seed))
	again := &Question{Ask: q.Ask, reveal: q.reveal, Varies: q.Varies, Source: q.Source}
	switch q.Form() {
	case OneOf:
		c := q.right()
		if others := slices.DeleteFunc(slices.Clone(q.Choices), func(o *Choice) bool { return o == c }); len(others) > 0 && r.IntN(2) == 0 {
			c = others[r.IntN(len(others))]
		}
		again.claims = c.Text
		again.Choices = []*Choice{
			{Text: "Yes", Right: c.Right, Why: c.Why, Ghosts: c.Ghosts, is: c.is},
			{Text: "No", Right: !c.Right, Why: c.Why, is: c.is.negated()},
		}
	case Count:
		said := q.Number.numbers()
		if len(said) == 0 {
			return nil
		}
		n := said[r.IntN(len(said))]
		more := newCondition(fmt.Sprintf("double(%s) > %s", q.Number.src, decimal(n)), step.names)
		if _, err := more.compiled(); err != nil {
			return nil
		}
		again.claims = "more than " + q.Number.unit(n)
		why := q.Number.why(n)
		again.Choices = []*Choice{{Text: "Yes", Why: why, is: more}, {Text: "No", Why: why, is: more.negated()}}
		again.Varies = true // which is right only the run says
	default:
		return nil
	}
	again.fixed = again.layout(0, "", step.ID)
	return again
}

// right is the choice that is marked.
func (q *Question) right() *Choice {
	return q.Choices[max(slices.IndexFunc(q.Choices, func(c *Choice) bool { return c.Right }), 0)]
}

// numbers are the answers that a question for a number has something to say to, in their order.
func (n *Number) numbers() (all []float64) {
	for _, text := range slices.Sorted(maps.Keys(n.Why)) {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}

// decimal is a number as expressions have it that are no whole ones.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// negated is a condition that holds where another does not.
func (c *condition) negated() *condition {
	if c == nil {
		return nil
	}
	return &condition{compiled: c.compiled, parts: c.parts, not: !c.not}
}

// comesBack is a lesson with a beat's question in the shape in which it comes back.
func (l *Lesson) comesBack(step *Step, seed uint64) *Lesson {
	if l.elsewhere(step.ID) { // the same words about another scene
		return l
	}
	q := step.Question.reshaped(step, seed)
	if q == nil {
		return l
	}
	again, asks := *l, *step
	asks.Question = q
	again.Steps = slices.Clone(l.Steps)
	again.Steps[slices.Index(l.Steps, step)] = &asks
	return &again
}

// elsewhere reports whether a beat's question comes back in another scene than that of its lesson.
func (l *Lesson) elsewhere(beat string) bool {
	members := cmp.Or(l.Scene.Members, 3)
	return slices.ContainsFunc(l.Recalls, func(r Recall) bool { return r.Beat == beat && RecallScene(l, beat).Members != members })
}
