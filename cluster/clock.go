package cluster

import (
	"errors"
	"fmt"
	"sync/atomic"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// clock is the state of the kernel's clock as others see it, without asking
// the kernel and waiting for an answer.
type clock struct {
	shown   atomic.Pointer[control.Clock]
	pending atomic.Bool
}

func (c *clock) set(v control.Clock) { c.shown.Store(&v) }

// Clock is the state of the clock, at most a moment old.
func (c *Cluster) Clock() control.Clock {
	if !c.clock.pending.Swap(true) {
		c.k.PostControl(func() {
			c.clock.pending.Store(false)
			c.showClock()
		})
	}
	shown := *c.clock.shown.Load()
	shown.Ended = c.Err()
	return shown
}

// showClock publishes the state of the clock; on the kernel's goroutine.
func (c *Cluster) showClock() {
	c.clock.set(control.Clock{
		Paused: c.k.Paused(), Speed: c.cfg.Speed, Elapsed: c.k.Elapsed(), Last: c.k.Last(),
		Waiting: c.k.Waiting(), Why: c.why,
	})
}

// change runs fn on the kernel's goroutine, even while the cluster stands, and
// notes the change of the clock in the wall-clock lane.
func (c *Cluster) change(why string, fn func()) error {
	ok := c.k.PostControl(func() {
		c.why = why
		fn()
		c.noteClock()
	})
	if !ok {
		return sim.ErrStopped
	}
	return nil
}

func (c *Cluster) noteClock() {
	c.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.ClockChanged,
		Payload: &trace.Clock{Paused: c.k.Paused(), Speed: c.cfg.Speed, Why: c.why},
	})
	c.showClock()
}

// notePace tells that virtual time falls behind its speed, or keeps up again.
func (c *Cluster) notePace(p sim.Pace) {
	why := ""
	switch {
	case p.Behind() && p.Store:
		why = "the store's disks are slow"
	case p.Behind():
		why = "the machine is busy"
	}
	c.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.ClockPace,
		Payload: &trace.Pace{Speed: p.Speed, Actual: p.Actual, Why: why},
	})
}

// Pause makes the cluster stand still.
func (c *Cluster) Pause() error { return c.change("you paused", c.k.Pause) }

// Resume lets the cluster run.
func (c *Cluster) Resume() error { return c.change("", c.k.Resume) }

// Step runs to the next event of the grain or a coarser one. At the grain of
// raft it lets exactly one message between members go, if one is held; else the
// cluster goes on to the next thing that it or a member does.
func (c *Cluster) Step(g trace.Grain) error {
	return c.change("step "+g.String(), func() {
		if g == trace.GrainRaft && c.k.Paused() && c.release() {
			return
		}
		c.k.Step(g)
	})
}

// Speed sets virtual seconds per real second; 0 is as fast as possible.
func (c *Cluster) Speed(x float64) error {
	if x < 0 || x > 0 && x < 0.001 {
		return fmt.Errorf("speed %g: want 0 (as fast as possible) or at least 0.001", x)
	}
	return c.change(c.why, func() {
		c.cfg.Speed = x
		select {
		case <-c.ready:
			c.k.SetSpeed(x)
		default: // booting is always fast
		}
	})
}

// SkipIdle jumps to the next timer.
func (c *Cluster) SkipIdle() error { return c.change(c.why, c.k.SkipIdle) }

// Until runs until the expression holds after an event, then stands.
func (c *Cluster) Until(src string) error {
	cond, err := c.compile(src)
	if err != nil {
		return err
	}
	return c.change("running until "+src, func() {
		c.k.AddStop(&sim.Stop{Once: true, At: cond, Hit: func(e *trace.Event) {
			c.why = fmt.Sprintf("#%s: %s", e.ID, src)
			c.k.After(0, c.noteClock)
		}})
		c.k.Resume()
	})
}

var errNoExpression = errors.New("an expression is wanted, such as store.leader == \"a\"")
