package lessor

import (
	"container/heap"
	"time"
)

// item is a lease and when it runs out.
type item struct {
	id, ttl int64
	expiry  time.Duration
	next    time.Duration // when to look at it: its expiry, or when to ask again
	gone    chan struct{} // closed when it is revoked
	place   int           // in the queue, -1 when it is not there
}

// queue has the lease that is looked at next first.
type queue struct{ items []*item }

func (q *queue) Len() int           { return len(q.items) }
func (q *queue) Less(i, j int) bool { return q.items[i].compare(q.items[j]) < 0 }
func (q *queue) Push(x any)         { x.(*item).place = len(q.items); q.items = append(q.items, x.(*item)) }

func (q *queue) Swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].place, q.items[j].place = i, j
}

func (q *queue) Pop() any {
	last := len(q.items) - 1
	it := q.items[last]
	q.items[last] = nil
	q.items = q.items[:last]
	it.place = -1
	return it
}

// first is the item to look at next, nil when there is none.
func (q *queue) first() *item {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}

// put adds an item, or moves one whose time has changed.
func (q *queue) put(it *item) {
	if it.place < 0 {
		heap.Push(q, it)
		return
	}
	heap.Fix(q, it.place)
}

func (q *queue) remove(it *item) {
	if it.place >= 0 {
		heap.Remove(q, it.place)
	}
}

func (q *queue) clear() {
	for _, it := range q.items {
		it.place = -1
	}
	q.items = nil
}
