package cluster

import (
	"sync/atomic"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// clock drives the kernel's: pause, step, speed. What it shows of it takes no asking the
// kernel and waiting for an answer.
type clock struct {
	k       *sim.Kernel
	life    *lifetime
	store   tempered
	stream  *trace.Stream
	shown   atomic.Pointer[control.Clock]
	pending atomic.Bool

	speed float64 // kernel's goroutine, as what follows
	why   string  // why the cluster stands
	steps pathSteps
}

// tempered is the store as far as the clock drives it.
type tempered interface {
	// single lets one thing go of what is held in the store; false: nothing is.
	single() bool
	// bare says that the store has no members whose work could be stepped.
	bare() bool
	tempo(speed float64)
}

func newClock(k *sim.Kernel, life *lifetime, store tempered, stream *trace.Stream, speed float64) *clock {
	c := &clock{k: k, life: life, store: store, stream: stream, speed: speed}
	c.shown.Store(&control.Clock{Speed: speed})
	return c
}

// Clock is the state of the clock, at most a moment old.
func (c *clock) Clock() control.Clock {
	if !c.pending.Swap(true) {
		c.k.PostControl(func() {
			c.pending.Store(false)
			c.show()
		})
	}
	shown := *c.shown.Load()
	shown.Ended = c.life.Err()
	return shown
}

// show publishes the state of the clock; on the kernel's goroutine.
func (c *clock) show() {
	c.shown.Store(&control.Clock{
		Paused: c.k.Paused(), Speed: c.speed, Elapsed: c.k.Elapsed(), Last: c.k.Last(),
		Waiting: c.k.Waiting(), Why: c.why,
	})
}

// act runs fn on the kernel's goroutine, even while the cluster stands, and
// notes the change of the clock in the wall-clock lane.
func (c *clock) act(fn func()) error {
	ok := c.k.PostControl(func() {
		fn()
		c.note()
	})
	if !ok {
		return sim.ErrStopped
	}
	return nil
}

// change is act for what makes the cluster stand or move, and why.
func (c *clock) change(why string, fn func()) error {
	return c.act(func() {
		c.why = why
		c.endStepOf()
		fn()
	})
}

// stands notes why the cluster has come to stand at an event that has just been emitted.
func (c *clock) stands(why string) {
	c.why = why
	c.k.Unseen(func() { c.k.After(0, c.note) })
}

// booted gives the clock its speed: booting itself is as fast as the machine allows.
func (c *clock) booted() { c.setSpeed() }

func (c *clock) setSpeed() {
	c.k.SetSpeed(c.speed)
	c.store.tempo(c.speed)
}

// note tells of the clock in the trace and shows it.
func (c *clock) note() {
	c.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.ClockChanged,
		Payload: &trace.Clock{Paused: c.k.Paused(), Speed: c.speed, Why: c.why},
	})
	c.show()
}

// notePace tells that virtual time falls behind its speed, or keeps up again.
func notePace(k *sim.Kernel, p sim.Pace) {
	why := ""
	switch {
	case p.Behind() && p.Store:
		why = "the store's disks are slow"
	case p.Behind():
		why = "the machine is busy"
	}
	k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.ClockPace,
		Payload: &trace.Pace{Speed: p.Speed, Actual: p.Actual, Why: why},
	})
}

// Pause makes the cluster stand still.
func (c *clock) Pause() error { return c.change("you paused", c.k.Pause) }

// Resume lets the cluster run.
func (c *clock) Resume() error { return c.change("", c.k.Resume) }

// Step runs to the next event of the grain or a coarser one. At the grain of
// raft it lets exactly one thing go of what is held, if anything is: a message
// between members, or the election timeout of a member without a leader; else the
// cluster goes on to the next thing that a member does. A store without members
// is stepped by what it commits.
func (c *clock) Step(g trace.Grain) error {
	return c.change("step "+g.String(), func() {
		switch {
		case g != trace.GrainRaft:
		case c.store.bare():
			g = trace.GrainCommit
		case c.k.Paused() && c.store.single():
			return
		}
		c.k.Step(g)
	})
}

// Speed sets virtual seconds per real second; 0 is as fast as possible.
func (c *clock) Speed(x float64) error {
	if err := control.CheckSpeed(x); err != nil {
		return err
	}
	return c.act(func() {
		c.speed = x
		select {
		case <-c.life.ready:
			c.setSpeed()
		default: // see booted
		}
	})
}

// SkipIdle jumps to the next timer.
func (c *clock) SkipIdle() error { return c.act(c.k.SkipIdle) }
