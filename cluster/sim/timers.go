package sim

import "time"

// timerHeap holds the timers, the next one first: a heap with four children a
// node, which keeps beside each timer what it is ordered by, as most of its
// work is comparing.
type timerHeap []slot

type slot struct {
	at     time.Duration
	serial uint64
	*Timer
}

func (s *slot) before(o *slot) bool {
	return s.at < o.at || s.at == o.at && s.serial < o.serial
}

func (h *timerHeap) push(t *Timer) {
	*h = append(*h, slot{at: t.at, serial: t.serial, Timer: t})
	h.up(len(*h) - 1)
}

func (h *timerHeap) pop() *Timer { return h.remove(0) }

// remove takes the i-th out.
func (h *timerHeap) remove(i int) *Timer {
	s := *h
	t, last := s[i].Timer, len(s)-1
	moved := s[last]
	s[last] = slot{}
	*h = s[:last]
	if i < last {
		s[i] = moved
		moved.index = i
		h.up(h.down(i))
	}
	t.index = -1
	return t
}

func (h timerHeap) up(i int) {
	x := h[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !x.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		h[i].index = i
		i = parent
	}
	h[i] = x
	x.index = i
}

// down gives where it ends.
func (h timerHeap) down(i int) int {
	x := h[i]
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&x) {
			break
		}
		h[i] = h[least]
		h[i].index = i
		i = least
	}
	h[i] = x
	x.index = i
	return i
}
