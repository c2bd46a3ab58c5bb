package raftstore

import (
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// clock is real time without the time during which messages were held: a
// request does not time out because somebody looks at it. Slowed down it counts that
// much less of real time.
type clock struct {
	mu     sync.Mutex
	passed time.Duration // at turned
	turned time.Time     // when something of what follows changed, or the clock was made
	held   bool
	factor int // by how much it is slower than real time; 0 is 1
}

func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(time.Now())
}

// read is now at a moment of real time. Call with mu held.
func (c *clock) read(at time.Time) time.Duration {
	if c.held {
		return c.passed
	}
	return c.passed + at.Sub(c.turned)/time.Duration(max(c.factor, 1))
}

// turn notes what has passed before something changes. Call with mu held.
func (c *clock) turn() {
	at := time.Now()
	c.passed, c.turned = c.read(at), at
}

func (c *clock) hold(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	c.held = on
}

func (c *clock) slow(factor int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	c.factor = factor
}

// timer is a timer of real time for what the clock takes d for.
func (c *clock) timer(d time.Duration) *time.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.NewTimer(d * time.Duration(max(c.factor, 1)))
}

func (c *clock) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// deadlineLoop is the goroutine that ends requests whose time is over. It
// sleeps while nothing is under way.
func (o *order) deadlineLoop() {
	for {
		var due <-chan time.Time
		var timer *time.Timer
		if next, any := o.expire(); any && !o.clock.stopped() {
			timer = o.clock.timer(next)
			due = timer.C
		}
		select {
		case <-due:
		case <-o.wakeDeadlines:
		case <-o.closing:
		}
		if timer != nil {
			timer.Stop()
		}
		select {
		case <-o.closing:
			return
		default:
		}
	}
}

// expire ends what is overdue and gives the time until the next deadline.
func (o *order) expire() (next time.Duration, any bool) {
	now := o.clock.now()
	for _, end := range o.overdue(now) {
		end()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	note := func(deadline time.Duration) {
		if left := deadline - now; !any || left < next {
			next, any = left, true
		}
	}
	if w := o.writes.head; w != nil {
		note(w.deadline)
	}
	for _, list := range [][]*read{o.reads.turn, o.reads.waiting} {
		if len(list) > 0 {
			note(list[0].deadline)
		}
	}
	return max(next, time.Millisecond), any
}

// overdue settles what is overdue and gives what is left to tell the callers.
func (o *order) overdue(now time.Duration) (ends []func()) {
	o.mu.Lock()
	late := o.lateWrites(now)
	for _, l := range late {
		o.writes.giveUp(l.w)
	}
	for _, r := range o.lateReads(now) {
		ends = append(ends, func() { r.done(&Result{Err: rpctypes.ErrGRPCTimeout}) })
	}
	o.mu.Unlock()
	for _, l := range late {
		if o.settle(l.w, 0) {
			ends = append(ends, func() { l.w.done(&Result{Err: l.err}) })
		}
	}
	return ends
}

type lateWrite struct {
	w   *write
	err error
}

// lateWrites finds the overdue writes and the error for each. One that was given to a
// leader may still take effect; that is unknown. Call with mu held.
//
// Mirrors etcd server/etcdserver/v3_server.go parseProposeCtxErr.
func (o *order) lateWrites(now time.Duration) (late []lateWrite) {
	for w := o.writes.head; w != nil && w.deadline <= now; w = w.next {
		if w.settled {
			continue
		}
		err := rpctypes.ErrGRPCTimeout
		if w.offered == 0 && o.store.outOfRoom() {
			err = rpctypes.ErrGRPCNoSpace
		}
		if w.offered > 1 || w.offered == 1 && o.leader == nil {
			err = rpctypes.ErrGRPCTimeoutDueToLeaderFail
		}
		late = append(late, lateWrite{w, err})
	}
	return late
}

// lateReads settles the overdue reads. Call with mu held.
func (o *order) lateReads(now time.Duration) (late []*read) {
	for _, r := range o.reads.turn {
		if !r.settled && r.deadline <= now {
			r.settled = true
			late = append(late, r)
			o.reads.restart()
		}
	}
	var still []*read
	for _, r := range o.reads.waiting {
		if r.deadline <= now {
			r.settled = true
			late = append(late, r)
		} else {
			still = append(still, r)
		}
	}
	o.reads.waiting = still
	return late
}

// abort ends everything that is under way with the error.
func (o *order) abort(err error) {
	o.mu.Lock()
	var all []*write
	for w := o.writes.head; w != nil; w = w.next {
		all = append(all, w)
	}
	o.mu.Unlock()
	for _, w := range all {
		if o.settle(w, 0) {
			w.done(&Result{Err: err})
		}
	}
	o.mu.Lock()
	reads := append(o.reads.waiting, o.reads.turn...)
	o.reads.waiting = nil
	o.reads.restart()
	ends := reads[:0:0]
	for _, r := range reads {
		if !r.settled {
			r.settled = true
			ends = append(ends, r)
		}
	}
	o.mu.Unlock()
	for _, r := range ends {
		r.done(&Result{Err: err})
	}
}
