package sim

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Turn is a part of a script that computes beside the kernel: the script itself, or one of its
// jobs in the background. Of all parts one computes at a time. A part that calls the kernel gives
// its turn up until its call has ended. The turn then goes to the part that has been ready for the
// longest time, once nothing else is ready to run at this instant. Under [Kernel.SetDemand]
// virtual time moves only when nobody computes. So how long anybody computes does not show in
// the trace.
//
// A Turn travels in a context ([WithTurn]). One that has not begun changes nothing.
type Turn struct {
	k *Kernel
	// before is called on the caller's goroutine before a turn is given up for a call.
	before func(context.Context)
	roused chan struct{} // closed, on the kernel's goroutine, by Rouse

	mu    sync.Mutex
	state turnState
	given chan struct{} // closed once it holds; nil before it has begun
}

type turnState int

const (
	turnOff   turnState = iota // not begun, or ended
	turnWaits                  // for a call's end
	turnReady                  // for its turn
	turnHolds
)

// turns is who computes, and who is to; on the kernel's goroutine.
type turns struct {
	holder *Turn
	ready  []*Turn
	now    atomic.Pointer[Turn] // holder, for other goroutines
}

type turnKey struct{}

// WithTurn is ctx for what a part of a script does.
func WithTurn(ctx context.Context, t *Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnOf is the turn of a context, nil where there is none that has begun.
func TurnOf(ctx context.Context) *Turn {
	if t, ok := ctx.Value(turnKey{}).(*Turn); ok && t.Begun() {
		return t
	}
	return nil
}

// NewTurn makes one that has not begun. before, if given, is called each time before it is given
// up for a call, with the call's context.
func (k *Kernel) NewTurn(before func(context.Context)) *Turn {
	return &Turn{k: k, before: before, roused: make(chan struct{})}
}

// Begun reports whether it takes turns.
func (t *Turn) Begun() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state != turnOff
}

// Begin has it wait for its turn, behind those that do; the first one has it at once.
func (t *Turn) Begin() error {
	return t.k.Do(func() {
		t.set(turnReady)
		if ts := &t.k.turns; ts.holder == nil && len(ts.ready) == 0 {
			ts.holder = t
			t.set(turnHolds)
		} else {
			ts.ready = append(ts.ready, t)
		}
		t.k.computes()
	})
}

// End gives it up for good. then, if given, is called on the kernel's goroutine with it.
func (t *Turn) End(then func()) error {
	return t.k.Do(func() {
		ts := &t.k.turns
		ts.ready = slices.DeleteFunc(ts.ready, func(o *Turn) bool { return o == t })
		if ts.holder == t {
			ts.holder = nil
		}
		t.set(turnOff)
		if then != nil {
			then()
		}
		t.k.computes()
	})
}

// Rouse ends a part: what it calls, or has called, fails with [context.Canceled], once it has its turn. It is called on
// the kernel's goroutine.
func (t *Turn) Rouse() {
	if !t.isRoused() {
		close(t.roused)
	}
	t.back()
}

func (t *Turn) isRoused() bool {
	select {
	case <-t.roused:
		return true
	default:
		return false
	}
}

// Await waits until it has its turn. One that has not begun waits for nothing.
func (t *Turn) Await() {
	for t != nil {
		t.mu.Lock()
		state, given := t.state, t.given
		t.mu.Unlock()
		if state == turnHolds || state == turnOff {
			return
		}
		select {
		case <-given:
		case <-t.k.inbox.closed():
			return
		}
	}
}

// yield gives it up, on the kernel's goroutine.
func (t *Turn) yield() {
	if t == nil || t.k.turns.holder != t {
		return
	}
	t.k.turns.holder = nil
	t.set(turnWaits)
	t.k.computes()
}

// back has it wait for its turn again, on the kernel's goroutine: what it waited for has come.
func (t *Turn) back() {
	if t == nil || !t.waits() {
		return
	}
	t.set(turnReady)
	t.k.turns.ready = append(t.k.turns.ready, t)
	t.k.computes()
}

func (t *Turn) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state == turnWaits
}

// leaves is what comes before a call; it refuses who has been ended meanwhile.
func (t *Turn) leaves(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if t.isRoused() {
		return context.Canceled
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.before != nil {
		t.before(ctx)
	}
	return nil
}

// returns is what comes after a call: until the turn has come again.
func (t *Turn) returns(err error) {
	if err != nil { // nobody waits for its end any longer
		_ = t.k.Do(t.back)
	}
	t.Await()
}

// give gives the next one its turn, and reports whether it did. While the cluster stands it does
// not matter what would run.
func (k *Kernel) give() bool {
	ts := &k.turns
	if ts.holder != nil || len(ts.ready) == 0 || !k.gate.standing && (k.runq.len() > 0 || k.inbox.waiting() > 0) {
		return false
	}
	t := ts.ready[0]
	ts.ready = ts.ready[1:]
	ts.holder = t
	k.computes()
	t.set(turnHolds)
	return true
}

// computes notes whether anybody computes, or is about to.
func (k *Kernel) computes() {
	k.turns.now.Store(k.turns.holder)
	if held := k.turns.holder != nil || len(k.turns.ready) > 0; k.pace.held != held {
		if k.pace.held = held; !held && k.pace.demanded {
			k.pace.anchor(k.now) // nothing has passed while somebody computed
		}
	}
}

// Demand has virtual time pass for somebody who waits beside the kernel, and gives his turn up;
// the function that it gives ends that.
func (k *Kernel) Demand(ctx context.Context) (end func(), err error) {
	t := TurnOf(ctx)
	if err := t.leaves(ctx); err != nil {
		return nil, err
	}
	if err := k.Do(func() { k.AddDemand(1); t.yield() }); err != nil {
		return nil, err
	}
	return func() {
		_ = k.Do(func() { k.AddDemand(-1); t.back() })
		t.Await()
	}, nil
}

// set changes its state.
func (t *Turn) set(s turnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s == turnOff, s == turnHolds:
		if t.given != nil {
			close(t.given)
		}
		t.given = nil
	case t.given == nil:
		t.given = make(chan struct{})
	}
	t.state = s
}
