package sim

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrTimeout is returned by [Task.Await] when the operation did not end within
// its limit of virtual time.
var ErrTimeout = errors.New("timed out")

// await is one operation of the real store that a task waits for.
type await struct {
	task    *Task
	done    atomic.Bool // set by the store's goroutine
	stalled bool        // past its due time, out of the timer heap
	over    bool        // the task has been resumed
	timeout *Timer
	timer   *Timer
}

func (a *await) finished() bool { return a.done.Load() }

// Await runs an operation outside the simulation. start must begin it and
// return at once; done must be called exactly once, from any goroutine, when
// it has ended. The task goes on after modelled virtual time, in the order in
// which operations fall due, once the operation has really ended; while it has
// not, nothing later happens. Where the store cannot answer (see
// Config.Healthy) the rest of the cluster goes on, virtual time runs no faster
// than real time, and after timeout of virtual time Await gives ErrTimeout.
func (t *Task) Await(modelled, timeout time.Duration, start func(done func())) error {
	t.mustRun("Await")
	k := t.k
	a := &await{task: t}
	timedOut := false
	a.timer = k.addTimer(modelled, func() {
		a.settle(k)
	}, a)
	if timeout > 0 {
		a.timeout = k.After(max(timeout, modelled+1), func() {
			if !a.over && !a.finished() {
				timedOut = true
				a.settle(k)
			}
		})
	}
	start(func() {
		if a.done.Swap(true) {
			panic("sim: Await's done was called twice; an operation ends once")
		}
		k.inbox.ring()
		k.inbox.put(func() { a.landed(k) }, true)
	})
	t.park(func() { a.drop(k) })
	if timedOut {
		return ErrTimeout
	}
	return nil
}

// landed runs on the kernel's goroutine after the store has answered.
func (a *await) landed(k *Kernel) {
	if a.stalled && !a.over {
		a.settle(k)
	}
}

func (a *await) stall(k *Kernel) {
	a.stalled = true
	k.stalled++
	k.pace.anchor(k.now)
	if a.finished() {
		a.settle(k)
	}
}

// settle makes the task ready.
func (a *await) settle(k *Kernel) {
	if a.over {
		return
	}
	a.drop(k)
	a.task.ready()
}

// drop takes the operation out of the kernel's books.
func (a *await) drop(k *Kernel) {
	if a.over {
		return
	}
	a.over = true
	if a.stalled {
		k.stalled--
	}
	a.timer.Cancel()
	if a.timeout != nil {
		a.timeout.Cancel()
	}
}
