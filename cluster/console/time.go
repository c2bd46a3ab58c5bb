package console

import (
	"context"
	"fmt"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
)

// sleep lets virtual time pass: sleep 5, sleep 1m30s.
func sleep(ctx context.Context, inv *command.Invocation) int {
	if len(inv.Args) != 2 {
		fmt.Fprintln(inv.Err, "usage: sleep DURATION   (of virtual time: 5, 0.5, 90s, 2m)")
		return 2
	}
	d, err := command.ParseDuration(inv.Args[1])
	if err != nil {
		fmt.Fprintf(inv.Err, "sleep: %v\n", err)
		return 2
	}
	if !inv.MayWait() {
		return 1
	}
	if err := inv.Kernel.Wait(ctx, inv.Cause, "sleep", func(t *sim.Task) {
		if until, ok := command.Deadline(ctx); ok {
			d = max(0, min(d, until-t.Elapsed()))
		}
		t.Sleep(d)
	}); err != nil {
		fmt.Fprintf(inv.Err, "sleep: %v\n", err)
		return 1
	}
	return 0
}

// timeout ends a command that waits after a time (virtual): timeout 30s kubectl
// get pods -w. The exit status is then 124.
func (c *Console) timeout(ctx context.Context, inv *command.Invocation) int {
	if len(inv.Args) < 3 {
		fmt.Fprintln(inv.Err, "usage: timeout DURATION COMMAND [ARGS]   (of virtual time)")
		return 2
	}
	d, err := command.ParseDuration(inv.Args[1])
	if err != nil {
		fmt.Fprintf(inv.Err, "timeout: %v\n", err)
		return 2
	}
	run, _ := c.find(inv.Args[2])
	if run == nil || ofShell[inv.Args[2]] != nil && session(ctx) == nil {
		fmt.Fprintf(inv.Err, "timeout: %s: command not found\n", inv.Args[2])
		return 127
	}
	k := inv.Kernel
	var until, now time.Duration
	_ = k.Do(func() { until = k.Elapsed() + d })
	if outer, ok := command.Deadline(ctx); ok {
		until = min(until, outer)
	}
	inner := *inv
	inner.Args = inv.Args[2:]
	exit := run(command.WithDeadline(ctx, until), &inner)
	inv.Untold = inner.Untold
	_ = k.Do(func() { now = k.Elapsed() })
	if now >= until {
		return 124
	}
	return exit
}
