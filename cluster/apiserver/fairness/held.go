package fairness

import (
	"slices"
	"time"
)

// held are the seats that are kept after their requests were answered, by when
// they become free; and how many requests wait for seats, at all levels.
type held struct {
	seats   []keep
	waiting int
}

type keep struct {
	at    time.Duration
	set   *queueSet
	queue *queue // nil where the request came through none
	seats int
	flow  *Flow
}

func (h *held) add(k keep) {
	i, _ := slices.BinarySearchFunc(h.seats, k.at, func(o keep, at time.Duration) int {
		if o.at <= at {
			return -1 // equal ones become free in the order in which they were kept
		}
		return 1
	})
	h.seats = slices.Insert(h.seats, i, k)
}

// first is when the next of them become free.
func (h *held) first() (at time.Duration, any bool) {
	if len(h.seats) == 0 {
		return 0, false
	}
	return h.seats[0].at, true
}

// release frees the first, at their time, and gives them to others.
func (h *held) release() {
	k := h.seats[0]
	h.seats = slices.Delete(h.seats, 0, 1)
	k.set.sync(k.at)
	k.free()
	k.set.dispatch()
}

func (k *keep) free() {
	q := k.set
	q.inUse -= k.seats
	k.flow.executingSeats -= k.seats
	if k.queue != nil {
		k.queue.inUse -= k.seats
		q.queued -= k.seats
	}
	q.count()
}
