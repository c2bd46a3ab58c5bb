// Package workqueue is client-go's util/workqueue in virtual time: the queue
// between what an informer sees and what a controller does about it.
//
// Three sets decide everything. A key that is added is dirty; if no worker has
// it, it also waits in the queue. A worker that takes it moves it from dirty to
// processing. A key added while it is being processed becomes dirty again but
// does not enter the queue until Done, so that two workers never hold one key
// and no change is ever forgotten:
//
//	Add(web)      dirty {web}  queue [web]  processing {}
//	Get → web     dirty {}     queue []     processing {web}
//	Add(web)      dirty {web}  queue []     processing {web}
//	Add(web)      the same: merged
//	Done(web)     dirty {web}  queue [web]  processing {}
//
// So a hundred changes give few reconciles, but how few depends on how long a
// reconcile takes, not on the queue.
//
// Simplified: no metrics, no fair queuing over priorities. Start reading at
// [Queue.Add].
package workqueue

import (
	"fmt"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Absent,
	What: "a queue's metrics, and fair queuing over priorities",
})

// Queue is a rate-limiting work queue (util/workqueue
// TypedRateLimitingInterface). It belongs to one process; its delayed keys die
// with the process.
type Queue[K comparable] struct {
	name    string
	lane    trace.Lane
	process *sim.Process
	limiter *Limiter[K]

	queue      []K
	dirty      map[K][]trace.ID // key -> the queue.add events merged into it
	processing map[K]struct{}
	delayed    map[K]*delayedKey
	cond       sim.Cond
	shutDown   bool
}

type delayedKey struct {
	at    time.Time
	timer *sim.Timer
	why   []trace.ID
}

// MaxCauses is how many merged adds a key remembers: the oldest and the newest
// ones of a flood of thousands say as much as all of them.
const MaxCauses = 16

// New makes a queue. Events about it go to lane; name is what the screen and
// `queues["…"]` call it.
func New[K comparable](name string, lane trace.Lane, p *sim.Process) *Queue[K] {
	return &Queue[K]{
		name: name, lane: lane, process: p, limiter: NewLimiter[K](p.Kernel()),
		dirty: map[K][]trace.ID{}, processing: map[K]struct{}{}, delayed: map[K]*delayedKey{},
	}
}

// SetBaseDelay changes the first delay of a failed key from 5 ms.
func (q *Queue[K]) SetBaseDelay(d time.Duration) { q.limiter.Base = d }

// SetMaxDelay changes the longest delay of a failed key from 1000 s.
func (q *Queue[K]) SetMaxDelay(d time.Duration) { q.limiter.Max = d }

// SetInterval has every key that is added with a rate limit wait for so long, neither more nor less.
func (q *Queue[K]) SetInterval(d time.Duration) { q.limiter.Fixed = d }

// Name is the queue's name.
func (q *Queue[K]) Name() string { return q.name }

// Len is how many keys are ready to be taken.
func (q *Queue[K]) Len() int { return len(q.queue) }

func (q *Queue[K]) String() string { return fmt.Sprintf("workqueue %s", q.name) }
