// Package drive drives the cluster as a debugger drives a program: pause, step, speed,
// run until, breakpoints. It also knows how far the start of the cluster is.
//
// Start reading at [Driver].
package drive

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/words"
)

// Cluster is what can be driven. All methods may be called from any goroutine and return
// at once.
type Cluster interface {
	Clock
	Stepper
	Breaker
}

// Clock is the cluster's clock.
type Clock interface {
	Clock() control.Clock
	Pause() error
	Resume() error
	Speed(x float64) error
	SkipIdle() error
}

// Stepper lets a cluster that stands go on, and stand again.
type Stepper interface {
	Step(grain trace.Grain) error
	// StepOf runs to the next thing, of a grain or coarser, that a command or a fault
	// leads to.
	StepOf(of trace.ID, least trace.Grain) error
	Until(expr string) error
}

// Breaker has breakpoints.
type Breaker interface {
	// Break sets a breakpoint. An expression that asks about the event is
	// looked at with every event, and makes the cluster stand after each for
	// which it holds; one that asks about the state alone does when it begins
	// to hold. A bad expression is refused with the place and the known names.
	Break(expr string) (control.Breakpoint, error)
	// Breakpoints lists those there are, by number.
	Breakpoints() []control.Breakpoint
	// Unbreak removes one.
	Unbreak(number int) error
}

// Driver drives a cluster, which may still be starting.
type Driver struct {
	cluster Cluster // nil while it starts
	clock   control.Clock
	grain   trace.Grain // how far a step goes
	boot    string      // how far the start is; "" when it is over
	failed  error       // why the cluster could not start
	asked   int         // looks at the trace until what was asked for has had time to happen
	follows follows
}

// New makes a driver. Without a cluster, boot says what is being done about it; "" is
// nothing: there will be none.
func New(c Cluster, boot string) *Driver {
	return &Driver{cluster: c, grain: trace.GrainStage, boot: boot}
}

// Started takes the cluster, or says why there is none.
func (d *Driver) Started(c Cluster, failed error) {
	d.cluster, d.boot, d.failed = c, "", nil
	if failed != nil {
		d.cluster, d.failed = nil, fmt.Errorf("the cluster could not start: %w", failed)
	}
}

// Absent says why there is no cluster, where there will be one or should be.
func (d *Driver) Absent() string {
	if d.failed != nil {
		return d.failed.Error()
	}
	return "the cluster is still starting"
}

// Booting says how far the start of the cluster is.
func (d *Driver) Booting(progress string) { d.boot = progress }

// Boot is how far the start of the cluster is, "" when it is over.
func (d *Driver) Boot() string { return d.boot }

// Failed is why the cluster could not start.
func (d *Driver) Failed() error { return d.failed }

// Clock is the clock as it was at the last update.
func (d *Driver) Clock() control.Clock { return d.clock }

// Grain is how far a step goes.
func (d *Driver) Grain() trace.Grain { return d.grain }

// SetGrain changes it.
func (d *Driver) SetGrain(g trace.Grain) action.Action {
	d.grain, d.follows.left = g, true
	return action.Notice{Text: "a step now ends at: " + g.String()}
}

// Elapsed is the cluster's virtual time, at least that of its newest event.
func (d *Driver) Elapsed(newest time.Duration) time.Duration {
	if d.cluster == nil {
		return newest
	}
	return max(d.clock.Elapsed, newest)
}

// Update looks at the clock and reports whether it shows something else.
func (d *Driver) Update() (changed bool) {
	if d.asked > 0 {
		d.asked--
	}
	if d.cluster == nil {
		return false
	}
	now := d.cluster.Clock()
	now.Elapsed = now.Elapsed.Truncate(100 * time.Millisecond) // as the screen shows it
	changed = now != d.clock
	d.clock = now
	d.follows.over(now.Why)
	return changed
}

// Busy reports whether the next look at the trace will find something.
func (d *Driver) Busy() bool {
	return d.boot != "" || d.asked > 0 || d.cluster != nil && !d.clock.Paused
}

// looks is for how many looks at the trace a request may take.
const looks = 6

// Expect has the trace looked at, though the cluster may stand.
func (d *Driver) Expect() { d.asked = looks }

// Do does one of the keymap's actions that begin with "clock.".
func (d *Driver) Do(name string) action.Action {
	switch name {
	case keymap.Pause:
		if d.clock.Paused {
			return d.ask(Cluster.Resume, "")
		}
		return d.ask(Cluster.Pause, "")
	case keymap.StepInto, keymap.StepOver, keymap.StepFar:
		if of := d.Followed(); !of.ID.IsZero() {
			return d.ask(func(c Cluster) error { return c.StepOf(of.ID, AlongPath(name)) }, "")
		}
		return d.ask(func(c Cluster) error { return c.Step(d.StepOf(name)) }, "")
	case keymap.Faster, keymap.Slower:
		x := NextSpeed(d.clock.Speed, name == keymap.Faster)
		if refused := d.SetSpeed(x); refused != nil {
			return refused
		}
		d.clock.Speed = x // the next press goes on from there, though the clock was not looked at since
		return action.Notice{Text: "speed " + words.Speed(x)}
	case keymap.SkipIdle:
		return d.ask(Cluster.SkipIdle, "")
	}
	return nil
}

// SetSpeed sets how many seconds pass in the cluster per real second; its result says why
// it did not.
func (d *Driver) SetSpeed(x float64) action.Action {
	return d.ask(func(c Cluster) error { return c.Speed(x) }, "")
}

// StepOf is the grain of a key that steps.
func (d *Driver) StepOf(name string) trace.Grain {
	switch name {
	case keymap.StepOver:
		return trace.GrainDecision
	case keymap.StepFar:
		return trace.GrainConverged
	}
	return d.grain
}

// AlongPath is the grain at which a key that steps along a path ends, at least.
func AlongPath(name string) trace.Grain {
	switch name {
	case keymap.StepOver:
		return trace.GrainDecision
	case keymap.StepFar:
		return trace.GrainConverged
	}
	return trace.GrainRaft
}

// AskUntil asks for the expression until which the cluster is to run.
var AskUntil = action.Prompt{
	For: action.ForUntil, Title: "Run until",
	Intro: "A CEL expression over the state, such as  store.leader == \"b\"  or  nodes[\"node-1\"].ready",
}

// Until runs until an expression holds; for a bad one the prompt opens again.
func (d *Driver) Until(expr string) action.Action {
	if strings.TrimSpace(expr) == "" {
		return nil
	}
	if d.cluster == nil {
		return d.absent()
	}
	if err := d.cluster.Until(expr); err != nil {
		again := AskUntil
		again.Text, again.Error = expr, err.Error()
		return again
	}
	d.Expect()
	return action.Notice{Text: "runs until " + expr}
}

func (d *Driver) absent() action.Action { return action.Notice{Text: d.Absent()} }

// ask asks the cluster for something. What it answers is said, or what was done.
func (d *Driver) ask(f func(Cluster) error, done string) action.Action {
	if d.cluster == nil {
		return d.absent()
	}
	if err := f(d.cluster); err != nil {
		return action.Notice{Text: err.Error()}
	}
	d.Expect()
	d.Update()
	if done == "" {
		return nil
	}
	return action.Notice{Text: done}
}
