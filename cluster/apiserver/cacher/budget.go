package cacher

import (
	"time"

	"kviz/cluster/sim"
)

// Of a watcher whose buffer is full (apiserver pkg/storage/cacher): the events that
// wait for it, and how long the server waits for it before it ends the watch.

const (
	// How many events a channel of a watcher holds at least, and at most where the
	// kind's watches are indexed and this one asks for one value, where it does not,
	// and where they are not indexed (watch_cache_history.go minWatchChanSize …).
	leastBuffer     = 10
	mostOfOneValue  = 10
	mostBesideIndex = 1000
	mostBuffer      = 100
)

// chanSize is how many events each of the two channels holds through which a
// watcher's events go: a second's, if the window is full
// (watch_cache_history.go suggestedWatchChannelSize).
func (w *window) chanSize(indexed, used bool) int {
	capacity := max(len(w.ring), w.size)
	n := max((capacity+int(windowFresh/time.Second)-1)/int(windowFresh/time.Second), leastBuffer)
	switch {
	case indexed && used:
		return min(n, mostOfOneValue)
	case indexed:
		return min(n, mostBesideIndex)
	}
	return min(n, mostBuffer)
}

// budget is how long a kind's cache may wait for watchers whose buffers are full, all
// together: what is left of 50 ms a second, up to 100 ms (time_budget.go
// timeBudgetImpl). Upstream nobody of the kind is told anything meanwhile; here the
// others are.
type budget struct {
	have  time.Duration
	since time.Duration // when have was reckoned
	until time.Duration // when the present wait is over
	who   int           // how many watchers it is for
}

const (
	budgetASecond = 50 * time.Millisecond
	mostBudget    = 100 * time.Millisecond
)

// take begins a wait, or joins the present one, and gives how long it may take.
func (b *budget) take(now time.Duration) time.Duration {
	b.who++
	if b.who > 1 {
		return max(b.until-now, 0)
	}
	have := min(b.have+time.Duration((now-b.since).Seconds()*float64(budgetASecond)), mostBudget)
	b.have, b.since, b.until = 0, now, now+have
	return have
}

// leave ends a watcher's part of the wait. What nobody has used goes back.
func (b *budget) leave(now time.Duration) {
	if b.who--; b.who == 0 && b.until > now {
		b.have = min(b.have+b.until-now, mostBudget)
	}
}

// stuck is a watcher's wait for room in its buffer.
type stuck struct {
	timer *sim.Timer
	took  time.Duration // how long it may take
}

// waiting is how many events wait for the client, except the initial ones, which are
// read as there is room.
func (w *Watcher) waiting() int {
	n := w.box.Len() + len(w.held) + len(w.early) - w.began
	if w.behind != nil {
		n++
	}
	return max(n, 0)
}

// Room is how many events may wait: in the channel for events from the cache, in the
// one to the client, and the one between them (cache_watcher.go input, result).
func (w *Watcher) Room() int { return 2*w.buffer + 1 }

// mayFill begins the wait for a watcher whose buffer is full. If it is at the end
// of it, the watch ends (cache_watcher.go add), and its client goes on from the
// newest revision that it has seen.
func (w *Watcher) mayFill() {
	if w.stuck.timer != nil || w.closed || w.waiting() <= w.Room() {
		return
	}
	w.stuck.took = w.set.budget.take(w.set.p.Kernel().Elapsed())
	w.stuck.timer = w.set.p.Kernel().After(w.stuck.took, func() {
		w.unstick()
		if n := w.waiting(); n > w.Room() {
			w.TooSlow(n, w.stuck.took)
		}
	})
}

// unstick ends the wait.
func (w *Watcher) unstick() {
	if w.stuck.timer == nil {
		return
	}
	w.stuck.timer.Cancel()
	w.stuck.timer = nil
	w.set.budget.leave(w.set.p.Kernel().Elapsed())
}

// received notes that the client has taken an event.
func (w *Watcher) received() {
	if w.began > 0 {
		w.began--
	}
	if w.stuck.timer != nil && w.waiting() <= w.Room() {
		w.unstick()
	}
}
