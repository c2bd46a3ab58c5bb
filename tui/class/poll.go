package class

import (
	"cmp"
	"fmt"
	"slices"

	"kviz/lessons"
)

// The states of a poll. A gate has the first two.
const (
	Open   = "open"
	Closed = "closed" // answers are frozen
	Shown  = "shown"  // and everybody sees them
)

// Poll is what a class answered to a beat's question.
type Poll struct {
	Beat    string
	State   string
	Answers []Share // in order of how many gave them; hidden until it is shown: see [Poll.Hidden]
	Given   int     // how many have answered
}

// Hidden reports whether nobody is to see the answers yet.
func (p *Poll) Hidden() bool { return p.State != Shown }

// Share is one answer, and how many gave it.
type Share struct {
	Words  string // the answer in words, as it was given
	Answer lessons.Answer
	Count  int
	Right  bool // once it was judged
	Judged bool
}

// Gate is a beat that everybody does in a run of their own.
type Gate struct {
	Beat  string
	State string
	Done  int // students who have done it
	Of    int // students who are here
}

// tally counts the answers to a beat's question.
func (r *Room) tally(beat string) (all []Share, given int) {
	by := map[string]int{}
	for _, name := range r.order {
		s := r.seats[name]
		a, ok := s.Answers[beat]
		if !ok {
			continue
		}
		given++
		words := s.Said[beat]
		key := fmt.Sprint(words, a.Parts, a.Point)
		if a.Number != nil {
			key += fmt.Sprint(*a.Number)
		}
		i, seen := by[key]
		if !seen {
			i = len(all)
			by[key] = i
			all = append(all, Share{Words: words, Answer: a})
		}
		all[i].Count++
		if right, judged := s.Right[beat]; judged {
			all[i].Right, all[i].Judged = right, true
		}
	}
	slices.SortStableFunc(all, func(a, b Share) int { return cmp.Compare(b.Count, a.Count) })
	return all, given
}
