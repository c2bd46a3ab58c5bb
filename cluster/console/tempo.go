package console

import (
	"context"
	"fmt"
	"time"

	"kviz/cluster/sim"
)

// pause lets a second of virtual time pass, or as much as is left of the limit
// of w.
func (k *kubectlRun) pause(ctx context.Context, w *changes) error {
	over := false
	err := k.c.call(ctx, k.inv.Cause, "sleep", func(t *sim.Task) {
		d := time.Second
		if w.until > 0 && w.until-t.Elapsed() <= d {
			d, over = w.until-t.Elapsed(), true
		}
		t.Sleep(d)
	})
	if err == nil && over {
		return errLimit
	}
	return err
}

// sleep lets virtual time pass: sleep 5, sleep 1m30s.
func sleep(ctx context.Context, inv *Invocation) int {
	if len(inv.Args) != 2 {
		fmt.Fprintln(inv.Err, "usage: sleep DURATION   (of virtual time: 5, 0.5, 90s, 2m)")
		return 2
	}
	d, err := duration(inv.Args[1])
	if err != nil {
		fmt.Fprintf(inv.Err, "sleep: %v\n", err)
		return 2
	}
	if !inv.mayWait() {
		return 1
	}
	if err := inv.Console.call(ctx, inv.Cause, "sleep", func(t *sim.Task) {
		if until, ok := deadlineOf(ctx); ok {
			d = max(0, min(d, until-t.Elapsed()))
		}
		t.Sleep(d)
	}); err != nil {
		fmt.Fprintf(inv.Err, "sleep: %v\n", err)
		return 1
	}
	return 0
}

// duration reads "5", "0.5" (seconds) or "2m30s".
func duration(s string) (time.Duration, error) {
	if d, ok := sim.Seconds(s); ok {
		return d, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration: want 5, 0.5, 90s, 2m", s)
	}
	return d, nil
}

// date is the virtual time.
func date(_ context.Context, inv *Invocation) int {
	var now time.Time
	if err := inv.Console.cfg.Kernel.Do(func() { now = inv.Console.cfg.Kernel.Now() }); err != nil {
		fmt.Fprintf(inv.Err, "date: %v\n", ErrStopped)
		return 1
	}
	fmt.Fprintln(inv.Out, now.UTC().Format("Mon Jan _2 15:04:05 UTC 2006"))
	return 0
}

// deadlineKey holds the virtual time since the epoch at which a timeout command
// ends what it runs. It is no context deadline: the end must come at an exact
// point of the trace, not some real time later.
type deadlineKey struct{}

// deadlineOf is the deadline, and whether there is one.
func deadlineOf(ctx context.Context) (time.Duration, bool) {
	d, ok := ctx.Value(deadlineKey{}).(time.Duration)
	return d, ok
}

// timeout ends a command that waits after a time (virtual): timeout 30s kubectl
// get pods -w. The exit status is then 124.
func timeout(ctx context.Context, inv *Invocation) int {
	if len(inv.Args) < 3 {
		fmt.Fprintln(inv.Err, "usage: timeout DURATION COMMAND [ARGS]   (of virtual time)")
		return 2
	}
	d, err := duration(inv.Args[1])
	if err != nil {
		fmt.Fprintf(inv.Err, "timeout: %v\n", err)
		return 2
	}
	run := inv.Console.command(inv.Args[2])
	if run == nil {
		fmt.Fprintf(inv.Err, "timeout: %s: command not found (timeout knows the commands that wait: kubectl, kviz, sleep)\n", inv.Args[2])
		return 127
	}
	k := inv.Console.cfg.Kernel
	var until, now time.Duration
	_ = k.Do(func() { until = k.Elapsed() + d })
	if outer, ok := deadlineOf(ctx); ok {
		until = min(until, outer)
	}
	inner := *inv
	inner.Args = inv.Args[2:]
	exit := run(context.WithValue(ctx, deadlineKey{}, until), &inner)
	inv.untold = inner.untold
	_ = k.Do(func() { now = k.Elapsed() })
	if now >= until {
		return 124
	}
	return exit
}
