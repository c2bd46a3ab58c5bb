package verbs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/sim"
)

func pause(_ context.Context, inv *use, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	return inv.did(inv.cfg.Cluster.Clock.Pause())
}

func resume(_ context.Context, inv *use, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	return inv.did(inv.cfg.Cluster.Clock.Resume())
}

// skip jumps to the next timer. In a script nobody else makes time pass, so the
// console itself waits until then.
func skip(ctx context.Context, inv *use, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	if !inv.MayWait() {
		return 1
	}
	if inv.clock().Paused { // where it stands, the jump is made when it moves again
		return inv.did(inv.cfg.Cluster.Clock.SkipIdle())
	}
	var from, to time.Duration
	k := inv.Kernel
	err := k.Wait(ctx, inv.Cause, "skip", func(t *sim.Task) {
		from, to = t.Elapsed(), t.Elapsed()
		if at, ok := k.NextTimer(); ok {
			to = at
			k.SkipTo(at)
			t.Sleep(at - from)
		}
	})
	if err != nil {
		return inv.did(err)
	}
	if to == from {
		return inv.did(errors.New("no timer is set: nothing will happen by itself"))
	}
	fmt.Fprintf(inv.Out, "%s skipped, %s after the start\n", (to - from).Round(time.Microsecond), to.Round(time.Microsecond))
	return 0
}

func speed(_ context.Context, inv *use, args []string) int {
	if len(args) != 1 {
		return inv.badUse()
	}
	x, err := control.ParseSpeed(args[0])
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz speed: %v\n", err)
		return 2
	}
	return inv.did(inv.cfg.Cluster.Clock.Speed(x))
}

func status(_ context.Context, inv *use, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	c := inv.clock()
	state := "running"
	if c.Paused {
		state = "paused"
		if c.Why != "" {
			state += ": " + c.Why
		}
	}
	speed := "max"
	if c.Speed > 0 {
		speed = strconv.FormatFloat(c.Speed, 'g', -1, 64) + "x"
	}
	fmt.Fprintf(inv.Out, "%s, speed %s, %s after the start, event #%s", state, speed, c.Elapsed.Round(time.Microsecond), c.Last)
	if c.Waiting > 0 {
		fmt.Fprintf(inv.Out, ", %d waiting", c.Waiting)
	}
	fmt.Fprintln(inv.Out)
	return 0
}
