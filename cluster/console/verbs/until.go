package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// standLimit is how long (in virtual time) a script's until and wait take
// without --timeout, and how far a step goes: nobody is there to end them.
const standLimit = 5 * time.Minute

func step(ctx context.Context, inv *use, args []string) int {
	grain := trace.GrainWatch
	switch len(args) {
	case 0:
	case 1:
		var err error
		if grain, err = trace.ParseGrain(args[0]); err != nil {
			fmt.Fprintf(inv.Err, "kviz step: %v\n", err)
			return 2
		}
	default:
		return inv.badUse()
	}
	k := inv.Kernel
	over := false
	var end *sim.Timer
	if inv.Script {
		// Nobody is there to end a step that finds nothing to stop at.
		if err := k.Do(func() { k.Unseen(func() { end = k.After(standLimit, func() { over = true; k.Pause() }) }) }); err != nil {
			return inv.did(command.ErrStopped)
		}
	}
	exit := inv.runUntilStanding(ctx, grain, func() error { return inv.cfg.Cluster.Clock.Step(grain) })
	_ = k.Do(func() {
		if end != nil {
			end.Cancel()
		}
	})
	if exit == 0 && over {
		return inv.did(fmt.Errorf("nothing of the grain %s happened within %s; the cluster stands", grain, standLimit))
	}
	return exit
}

// until runs the cluster until an expression holds, and leaves it standing
// there.
func until(ctx context.Context, inv *use, args []string) int {
	limit, expr, ok := limitAndExpr(args)
	if !ok {
		return inv.badUse()
	}
	if limit == 0 && inv.Script {
		limit = standLimit
	}
	condition, ok := inv.compile(expr)
	if !ok {
		return 2
	}
	k := inv.Kernel
	var failed error
	met := false
	stop := &sim.Stop{Once: true, At: func(*trace.Event) bool {
		yes, err := condition.Holds()
		if err != nil {
			failed = err
		}
		met = yes
		return yes || err != nil
	}}
	var end *sim.Timer
	already := false
	err := k.Do(func() {
		if already = stop.At(nil); already {
			return
		}
		// The clock's limit is a stop of its own, at the first event after it.
		if limit > 0 {
			k.Unseen(func() { end = k.After(limit, func() { k.RemoveStop(stop); k.Pause() }) })
		}
		k.AddStop(stop)
	})
	if err != nil {
		return inv.did(command.ErrStopped)
	}
	start := inv.cfg.Cluster.Clock.Resume
	if already {
		start = inv.cfg.Cluster.Clock.Pause // it holds as it is
	}
	exit := inv.runUntilStanding(ctx, trace.GrainConverged, start)
	_ = k.Do(func() {
		k.RemoveStop(stop)
		if end != nil {
			end.Cancel()
		}
	})
	switch {
	case exit != 0:
		return exit
	case failed != nil:
		return inv.did(failed)
	case !met:
		return inv.did(fmt.Errorf("the expression did not hold within %s; the cluster stands", limit))
	}
	return 0
}

// clock is the state of the clock now; what a Clock has at hand may be a
// moment old, and is renewed when it is asked.
func (inv *use) clock() control.Clock {
	c := inv.cfg.Cluster.Clock
	c.Clock()
	_ = inv.Kernel.Do(func() {})
	return c.Clock()
}

// runUntilStanding sets the cluster going with start and returns when it
// stands again. In the meantime somebody waits: so time passes in a script too.
func (inv *use) runUntilStanding(ctx context.Context, grain trace.Grain, start func() error) int {
	k := inv.Kernel
	// First what starts it: did time pass before, it would be the machine's to
	// say how far the cluster had come by then.
	if err := start(); err != nil {
		return inv.did(err)
	}
	end, err := k.Demand(ctx)
	if err != nil {
		return inv.did(command.ErrStopped)
	}
	defer end()
	for {
		standing := false
		if err := k.Do(func() { standing = k.Paused() }); err != nil {
			return inv.did(command.ErrStopped)
		}
		if standing {
			c := inv.clock()
			last := c.Last
			if grain != trace.GrainRaft {
				last.Sub = 0 // what the members said since is not the same in the next run
			}
			fmt.Fprintf(inv.Out, "stands at event #%s, %s\n", last, c.Elapsed.Round(time.Microsecond))
			return 0
		}
		select {
		case <-ctx.Done():
			return inv.did(ctx.Err())
		case <-time.After(time.Millisecond): // of real time; while it runs, the trace does not depend on it
		}
	}
}

// membersLimit is how much of its limit a wait for the members of the store gives
// them by the machine's clock too: in a script minutes of virtual time may pass
// between two of their heartbeats.
const membersLimit = 10 * time.Second

// waitFor waits until an expression holds.
func waitFor(ctx context.Context, inv *use, args []string) int {
	limit, expr, ok := limitAndExpr(args)
	if !ok {
		return inv.badUse()
	}
	if limit == 0 {
		limit = standLimit
	}
	condition, ok := inv.compile(expr)
	if !ok {
		return 2
	}
	if !inv.MayWait() {
		return 1
	}
	var failed error
	met := false
	look := func() bool {
		if met || failed != nil {
			return false
		}
		met, failed = condition.Holds()
		return met || failed != nil
	}
	w, err := inv.Kernel.Changes(ctx, inv.Cause, limit, func(*trace.Event) bool { return look() })
	if err != nil {
		return inv.did(err)
	}
	defer w.Close()
	now := func() (over bool, why error) { // later looks are the kernel's to write
		_ = inv.Kernel.Do(func() {
			look()
			over, why = met || failed != nil, failed
		})
		return over, why
	}
	if over, why := now(); over {
		return inv.did(why)
	}
	patience := time.After(min(limit, membersLimit))
	err = w.Next(ctx)
	for waits := condition.Members; waits && errors.Is(err, command.ErrLimit); {
		if over, why := now(); over {
			return inv.did(why)
		}
		select {
		case <-patience:
			waits = false
		case <-ctx.Done():
			return inv.did(ctx.Err())
		case <-time.After(time.Millisecond): // of the machine's time; in a script virtual time stands meanwhile
		}
	}
	switch {
	case errors.Is(err, command.ErrLimit):
		return inv.did(fmt.Errorf("timed out after %s of virtual time, and the expression does not hold: %s", limit, expr))
	case err != nil:
		return inv.did(err)
	}
	return inv.did(failed)
}
