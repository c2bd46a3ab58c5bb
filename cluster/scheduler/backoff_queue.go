package scheduler

import (
	"time"

	"kviz/cluster/scheduler/framework"
)

// backoffs say how long a pod that was rejected or met an error backs off: initial, doubled
// with each further time, max at most (podInitialBackoffSeconds, podMaxBackoffSeconds; by
// default a second and ten).
type backoffs struct{ initial, max time.Duration }

// backoffWindow: ends of back-offs are cut down to whole seconds, and within
// one the pods come in queue order.
const backoffWindow = time.Second

// backoffQueue holds pods until their back-off is over. Pods that were rejected
// may be taken early when the active queue is empty; those that met an error
// may not.
//
// Mirrors pkg/scheduler/backend/queue/backoff_queue.go backoffQueue.
type backoffQueue struct {
	rejected podHeap
	errors   podHeap
}

func newBackoffQueue(less func(a, b *framework.QueuedPodInfo) bool) *backoffQueue {
	sooner := func(a, b *framework.QueuedPodInfo) bool {
		if !a.BackoffExpiration.Equal(b.BackoffExpiration) {
			return a.BackoffExpiration.Before(b.BackoffExpiration)
		}
		return less(a, b)
	}
	return &backoffQueue{rejected: podHeap{less: sooner}, errors: podHeap{less: sooner}}
}

func (q *backoffQueue) len() int { return q.rejected.Len() + q.errors.Len() }

func (q *backoffQueue) heapOf(p *framework.QueuedPodInfo) *podHeap {
	if p.ConsecutiveErrors > 0 {
		return &q.errors
	}
	return &q.rejected
}

func (q *backoffQueue) add(p *framework.QueuedPodInfo)    { q.heapOf(p).add(p) }
func (q *backoffQueue) remove(p *framework.QueuedPodInfo) { q.heapOf(p).remove(p) }

// takeCompleted takes a pod whose back-off is over, nil if there is none.
func (q *backoffQueue) takeCompleted(now time.Time) *framework.QueuedPodInfo {
	for _, h := range []*podHeap{&q.rejected, &q.errors} {
		if p := h.first(); p != nil && !p.BackoffExpiration.After(now) {
			return h.take()
		}
	}
	return nil
}

// next is when the first back-off ends; zero when the queue is empty.
func (q *backoffQueue) next() time.Time {
	var at time.Time
	for _, h := range []*podHeap{&q.rejected, &q.errors} {
		if p := h.first(); p != nil && (at.IsZero() || p.BackoffExpiration.Before(at)) {
			at = p.BackoffExpiration
		}
	}
	return at
}

// backingOff computes the end of a pod's back-off, counted from when it came
// back, and reports whether it lies in the future.
func (b backoffs) backingOff(p *framework.QueuedPodInfo, now time.Time) bool {
	count := p.UnschedulableCount
	if p.ConsecutiveErrors > 0 {
		count = p.ConsecutiveErrors
	}
	if count == 0 {
		return false
	}
	if p.BackoffExpiration.IsZero() {
		p.BackoffExpiration = p.Timestamp.Add(b.after(count)).Truncate(backoffWindow)
	}
	return p.BackoffExpiration.After(now)
}

// after is the back-off after so many times.
//
// Mirrors backend/queue/backoff_queue.go calculateBackoffDuration.
func (b backoffs) after(count int) time.Duration {
	if count == 0 {
		return 0
	}
	shift := count - 1
	if b.initial > b.max>>shift {
		return b.max
	}
	return b.initial << shift
}
