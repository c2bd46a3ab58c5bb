package lessons

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// layout is the order in which the parts of a question stand on the screen: the number of each as it is written.
type layout struct {
	answers []int // choices, cards or labels
	items   []int // of a question of match
}

// layout lays a question out: always in the same way for the same seed, lesson and beat. Cards never stand in
// the right order.
func (q *Question) layout(seed uint64, lesson, beat string) layout {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, seed) // a hash takes all there is
	h.Write([]byte(lesson + "#" + beat))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	_, among := q.parts()
	laid := layout{answers: r.Perm(among), items: r.Perm(len(q.Items))}
	if q.Form() == Order && slices.IsSorted(laid.answers) {
		slices.Reverse(laid.answers)
	}
	return laid
}

// layout is how a step's question is laid out in this attempt.
func (s *Session) layout(step *Step) layout { return s.Lesson.layout(s.seed, step) }

// layout lays a step's question out. By chance all questions of a lesson could stand so that one key answers every one
// of them right; then the right answer of the last one stands elsewhere.
func (l *Lesson) layout(seed uint64, step *Step) layout {
	laid := step.Question.layout(seed, l.ID, step.ID)
	if asks := l.asks(); len(asks) > 1 && step.ID == asks[len(asks)-1].ID && l.byOneKey(func(s *Step) layout { return s.Question.layout(seed, l.ID, s.ID) }) {
		laid.answers = append(laid.answers[1:], laid.answers[0])
	}
	return laid
}

// asks are the steps of the lesson that ask something.
func (l *Lesson) asks() (all []*Step) {
	for _, step := range l.Steps {
		if step.Question != nil {
			all = append(all, step)
		}
	}
	return all
}

// seed is that of the learner; each time that a question comes back it is laid out otherwise. The lock is held.
func (p *Player) seed() uint64 {
	if p.recalling == nil {
		return p.progress.Seed
	}
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, p.progress.Seed)
	h.Write([]byte(p.recalling.asks[p.recalling.at].On))
	return h.Sum64()
}
