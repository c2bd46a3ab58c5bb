package workqueue

import (
	"fmt"
	"slices"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Add marks the key as in need of work (util/workqueue Typed.Add). why are the
// events that made it so; without them the task's causes count.
func (q *Queue[K]) Add(t *sim.Task, key K, why ...trace.ID) {
	if len(why) == 0 && t != nil {
		why = t.Causes()
	}
	q.add(t, key, why)
}

// add is Add for a task, or for a timer (t nil).
func (q *Queue[K]) add(t *sim.Task, key K, why []trace.ID) {
	if q.shutDown {
		return
	}
	adds, merged := q.dirty[key]
	if !merged {
		if _, busy := q.processing[key]; !busy {
			q.queue = append(q.queue, key)
		}
		q.dirty[key] = nil
	}
	item := q.item(key)
	item.Merged = merged
	q.cond.Signal()
	id := q.emit(t, trace.QueueAdd, item, why)
	// The key may have been taken while the cluster stood on the event only if
	// somebody ran in between, which nobody can: remember the add.
	if len(adds) >= MaxCauses {
		adds = append(slices.Clone(adds[:MaxCauses/2]), adds[MaxCauses/2+1:]...)
	}
	q.dirty[key] = append(adds, id)
}

// Get takes the oldest ready key, waiting for one if need be. causes are the
// queue.add events merged into it. The task's causes become the queue.get event,
// so that everything the worker does leads back to all of them. shutdown is true
// when the queue was shut down and is empty.
func (q *Queue[K]) Get(t *sim.Task) (key K, causes []trace.ID, shutdown bool) {
	for len(q.queue) == 0 {
		if q.shutDown {
			return key, nil, true
		}
		q.cond.Wait(t)
	}
	key = q.queue[0]
	var zero K
	q.queue[0] = zero
	q.queue = q.queue[1:]
	causes = q.dirty[key]
	delete(q.dirty, key)
	q.processing[key] = struct{}{}
	id := q.emit(t, trace.QueueGet, q.item(key), causes)
	t.SetCauses(id)
	return key, causes, false
}

// Done says that the worker has finished with the key. If it was added
// meanwhile it goes round again.
func (q *Queue[K]) Done(t *sim.Task, key K) {
	delete(q.processing, key)
	_, again := q.dirty[key]
	if again {
		q.queue = append(q.queue, key)
		q.cond.Signal()
	} else if len(q.processing) == 0 {
		q.cond.Signal()
	}
	item := q.item(key)
	item.Requeued = again
	q.emit(t, trace.QueueDone, item, nil)
}

// AddAfter adds the key when d of virtual time has passed. A key that is
// already delayed keeps the earlier of the two times
// (delaying_queue.go insert).
func (q *Queue[K]) AddAfter(t *sim.Task, key K, d time.Duration, why ...trace.ID) {
	if q.shutDown {
		return
	}
	if len(why) == 0 && t != nil {
		why = t.Causes()
	}
	if d <= 0 {
		q.add(t, key, why)
		return
	}
	k := q.process.Kernel()
	at := k.Now().Add(d)
	if old := q.delayed[key]; old != nil {
		if !at.Before(old.at) {
			return
		}
		old.timer.Cancel()
	}
	entry := &delayedKey{at: at}
	q.delayed[key] = entry
	entry.timer = k.After(d, func() {
		if q.delayed[key] != entry || !q.process.Alive() {
			return
		}
		delete(q.delayed, key)
		q.add(nil, key, entry.why)
	})
	item := q.item(key)
	item.After = d
	entry.why = []trace.ID{q.emit(t, trace.QueueDelay, item, why)}
}

// Cancel takes back an AddAfter whose time has not come.
func (q *Queue[K]) Cancel(key K) {
	if d := q.delayed[key]; d != nil {
		d.timer.Cancel()
		delete(q.delayed, key)
	}
}

// AddRateLimited adds the key after the delay that the limiter gives a key that
// failed.
func (q *Queue[K]) AddRateLimited(t *sim.Task, key K, why ...trace.ID) {
	q.AddAfter(t, key, q.limiter.When(key), why...)
}

// Forget ends the key's back-off: call it when a reconcile succeeds.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues is how often the key failed since Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// ShutDown makes Get return shutdown once the queue is empty; adds are ignored
// from now on.
func (q *Queue[K]) ShutDown() {
	q.shutDown = true
	for _, d := range q.delayed { // order does not matter: timers only vanish
		d.timer.Cancel()
	}
	clear(q.delayed)
	q.cond.Broadcast()
}

// Drop is ShutDown, and forgets what waits: only what workers have goes on.
func (q *Queue[K]) Drop() {
	q.queue = nil
	clear(q.dirty)
	q.ShutDown()
}

// ShuttingDown reports whether ShutDown was called.
func (q *Queue[K]) ShuttingDown() bool { return q.shutDown }

func (q *Queue[K]) item(key K) *trace.QueueItem {
	return &trace.QueueItem{
		Queue: q.name, Key: fmt.Sprint(key), Retries: q.limiter.NumRequeues(key),
		Ready: len(q.queue), Processing: len(q.processing), Delayed: len(q.delayed),
	}
}

func (q *Queue[K]) emit(t *sim.Task, kind trace.Kind, item *trace.QueueItem, why []trace.ID) trace.ID {
	e := trace.Event{Lane: q.lane, Kind: kind, Payload: item, Causes: why}
	if t == nil {
		return q.process.Kernel().Emit(e)
	}
	return t.Emit(e)
}
