package sim

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrTimeout is returned by [Task.Await] when the operation did not end within
// its limit of virtual time.
var ErrTimeout = errors.New("timed out")

// Operation is one operation of the real store, outside the simulation.
type Operation struct {
	end     func(timedOut bool)
	done    atomic.Bool // set by the store's goroutine
	stalled bool        // past its due time, out of the timer heap
	over    bool        // end has been called, or the operation was dropped
	timeout *Timer
	timer   *Timer
	k       *Kernel
	number  uint64 // among those of the run, from 1

	offloaded bool          // no store's: Task.Offload
	limit     time.Duration // for how long of real time it may hold up virtual time; 0 for ever
	waited    time.Time     // since when it does
}

func (o *Operation) finished() bool { return o.done.Load() }

// Operate runs an operation outside the simulation. start must begin it and
// return at once; done must be called exactly once, from any goroutine, when
// it has ended. end is called on the kernel's goroutine after modelled virtual
// time, in the order in which operations fall due, once the operation has
// really ended; while it has not, nothing later happens. Where the store
// cannot answer (see Config.Healthy) the rest of the cluster goes on, virtual
// time runs no faster than real time, and after timeout of virtual time end is
// called with timedOut (0: never).
func (k *Kernel) Operate(modelled, timeout time.Duration, start func(done func()), end func(timedOut bool)) *Operation {
	k.operations++
	o := &Operation{end: end, k: k, number: k.operations}
	o.timer = k.addTimer(modelled, func() { o.settle(false) }, o)
	if timeout > 0 {
		o.timeout = k.After(max(timeout, modelled+1), func() { o.settle(!o.finished() || k.again != nil) })
	}
	start(func() {
		if o.done.Swap(true) {
			panic("sim: done of an operation was called twice; an operation ends once")
		}
		k.inbox.ring()
		k.inbox.put(o.landed, true)
	})
	return o
}

// Await is [Kernel.Operate] for a task that waits for the operation's end. It
// gives ErrTimeout when the operation did not end within timeout.
func (t *Task) Await(modelled, timeout time.Duration, start func(done func())) error {
	t.mayWait("Await")
	var late bool
	o := t.k.Operate(modelled, timeout, start, func(timedOut bool) {
		late = timedOut
		t.ready()
	})
	t.park(o.drop)
	if late {
		return ErrTimeout
	}
	return nil
}

// landed runs on the kernel's goroutine after the store has answered.
func (o *Operation) landed() {
	if o.stalled && !o.over && o.k.again == nil { // in a run that is run again it ends where it ended then
		o.k.Enter(InputLanded, o.number)
		o.settle(false)
	}
}

// outlasted reports whether the operation has held up virtual time for as long as it may.
func (o *Operation) outlasted() bool {
	if o.limit == 0 {
		return false
	}
	if o.waited.IsZero() {
		o.waited = time.Now()
	}
	return time.Since(o.waited) >= o.limit
}

// stall takes the operation out of virtual time's way: the store cannot
// answer now.
func (o *Operation) stall() {
	o.stalled = true
	o.k.stalled++
	o.k.pace.slow(true, o.k.now, o.k.next())
	if a := o.k.again; a != nil {
		a.stalled = append(a.stalled, o)
		return
	}
	if o.finished() {
		o.landed()
	}
}

func (o *Operation) settle(timedOut bool) {
	if o.over {
		return
	}
	o.drop()
	o.end(timedOut)
}

// drop takes the operation out of the kernel's books.
func (o *Operation) drop() {
	if o.over {
		return
	}
	o.over = true
	if o.stalled {
		o.k.stalled--
		o.k.pace.slow(o.k.stalled > 0, o.k.now, o.k.next())
	}
	o.timer.Cancel()
	if o.timeout != nil {
		o.timeout.Cancel()
	}
}
