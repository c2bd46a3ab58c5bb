package sim

import (
	"context"

	"kviz/cluster/trace"
)

// Inputs that are the kernel's own.
const (
	InputTask    = "task"          // of somebody who asks for it again when asked again himself (see CallAs)
	InputStalled = "store.stalled" // an operation, by its number, was taken out of the way
	InputLanded  = "store.landed"  // one that had been ended
)

// Enter notes that something enters the run from outside, at this place, and gives its
// number. It is called on the kernel's goroutine by what was posted, before that does
// anything. data is what is needed to make it again, as [trace.Input.Encode] takes it, or the
// input of a run that is run again.
//
// The number of wake-ups that came before says where the place is, as virtual time alone does
// not: between two of them nothing happens by itself, so what enters there again, at the
// same virtual time, finds the cluster as it was. In the midst of a wake-up the event after which
// its task stands says it.
func (k *Kernel) Enter(what string, data any) uint64 {
	k.entered++
	in := &trace.Input{What: what, Number: k.entered, Steps: k.steps, At: k.now}
	in.Within = k.within()
	if again, ok := data.(*trace.Input); ok {
		in.Data = again.Data
	} else {
		in.Encode(data)
	}
	if k.last.Sub++; k.cfg.Sink != nil && !k.stopping {
		k.cfg.Sink.Append(&trace.Event{ID: k.last, At: k.now, Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.InputEntered, Payload: in})
	}
	return k.entered
}

// within is the event after which a task stands in the midst of a step, 0 if none does: also when
// the cluster may move again and the task has not yet, for what enters then finds half of a step.
func (k *Kernel) within() uint64 {
	if k.runq.len() == 0 {
		return 0
	}
	return k.runq.first().within // it is the first in line, see Emit
}

// Unseen does something that is not part of the run: the tasks and timers that it makes
// wait or look, and change nothing. They are left out of the count of wake-ups, because
// they are not there when the run is repeated.
func (k *Kernel) Unseen(fn func()) {
	before := k.unseen
	k.unseen = true
	defer func() { k.unseen = before }()
	fn()
}

// Attend is [Kernel.Call] for a task that waits, or looks, and changes nothing (see
// Unseen).
func (k *Kernel) Attend(ctx context.Context, p *Process, name string, fn func(*Task)) error {
	return k.Call(ctx, p, name, fn, func() { k.unseen = true })
}

// CallAs is [Kernel.Call] for a task that cannot be recorded as data: it is made again by
// code that is run again, which key names. In a repeated run it waits for its place.
//
// A context without a turn belongs to the part of a script that holds the turn now: only commands have keys.
func (k *Kernel) CallAs(ctx context.Context, key string, p *Process, name string, fn func(*Task)) error {
	turn := TurnOf(ctx)
	if turn == nil {
		turn = k.turns.now.Load()
	}
	return k.call(ctx, turn, p, name, fn, func(start, yield func()) bool { return k.putAs(key, start, yield) })
}

// DoAs is [Kernel.Do] of the same kind.
func (k *Kernel) DoAs(key string, fn func()) error {
	done := make(chan struct{})
	return k.await(context.Background(), done, nil, k.putAs(key, nil, func() { defer close(done); fn() }))
}

// putAs posts what key's code asks for, as work or, without any, as a control function; of work,
// control is what goes with it. It reports whether the kernel still runs.
func (k *Kernel) putAs(key string, work, control func()) bool {
	one := &asked{control: work == nil, key: key, fn: func() {
		k.Enter(InputTask, key)
		if work != nil {
			work()
		} else {
			control()
		}
	}}
	if !k.repeating.Load() {
		if one.control {
			return k.inbox.put(one.fn, true)
		}
		return k.inbox.putBoth(one.fn, control)
	}
	return k.PostControl(func() {
		if k.again == nil {
			k.inbox.put(one.fn, one.control)
			return
		}
		k.again.asked = append(k.again.asked, one)
	})
}

// asked is what waits for its place in a run that is run again.
type asked struct {
	key     string
	control bool
	fn      func()
}

func (q *fifo) first() *Task { return q.items[q.head] }
