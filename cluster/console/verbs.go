package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/host"
)

// did reports the outcome of a verb.
func (inv *Invocation) did(err error) int {
	if host.NobodyReads(err) {
		return 141 // whoever it was for reads no more: as of a program, its end by SIGPIPE says nothing
	}
	if errors.Is(err, errTold) {
		return 1
	}
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz %s: %v\n", inv.Args[1], err)
		return 1
	}
	return 0
}

func pause(_ context.Context, inv *Invocation, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	return inv.did(inv.Console.cfg.Cluster.Clock.Pause())
}

func resume(_ context.Context, inv *Invocation, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	return inv.did(inv.Console.cfg.Cluster.Clock.Resume())
}

// skip jumps to the next timer. In a script nobody else makes time pass, so the
// console itself waits until then.
func skip(ctx context.Context, inv *Invocation, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	if !inv.mayWait() {
		return 1
	}
	if inv.clock().Paused { // where it stands, the jump is made when it moves again
		return inv.did(inv.Console.cfg.Cluster.Clock.SkipIdle())
	}
	var from, to time.Duration
	k := inv.Console.cfg.Kernel
	err := inv.Console.call(ctx, inv.Cause, "skip", func(t *sim.Task) {
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

func speed(_ context.Context, inv *Invocation, args []string) int {
	if len(args) != 1 {
		return inv.badUse()
	}
	x, err := control.ParseSpeed(args[0])
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz speed: %v\n", err)
		return 2
	}
	return inv.did(inv.Console.cfg.Cluster.Clock.Speed(x))
}

func status(_ context.Context, inv *Invocation, args []string) int {
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

// standLimit is how long (in virtual time) a script's until and wait take
// without --timeout, and how far a step goes: nobody is there to end them.
const standLimit = 5 * time.Minute

func step(ctx context.Context, inv *Invocation, args []string) int {
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
	k := inv.Console.cfg.Kernel
	over := false
	var end *sim.Timer
	if inv.Script {
		// Nobody is there to end a step that finds nothing to stop at.
		if err := k.Do(func() { end = k.After(standLimit, func() { over = true; k.Pause() }) }); err != nil {
			return inv.did(ErrStopped)
		}
	}
	exit := inv.runUntilStanding(ctx, grain, func() error { return inv.Console.cfg.Cluster.Clock.Step(grain) })
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
func until(ctx context.Context, inv *Invocation, args []string) int {
	limit, expr, ok := limitAndExpr(args)
	if !ok {
		return inv.badUse()
	}
	if limit == 0 && inv.Script {
		limit = standLimit
	}
	holds, ok := inv.compile(expr)
	if !ok {
		return 2
	}
	k := inv.Console.cfg.Kernel
	var failed error
	met := false
	stop := &sim.Stop{Once: true, At: func(*trace.Event) bool {
		yes, err := holds()
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
			end = k.After(limit, func() { k.RemoveStop(stop); k.Pause() })
		}
		k.AddStop(stop)
	})
	if err != nil {
		return inv.did(ErrStopped)
	}
	start := inv.Console.cfg.Cluster.Clock.Resume
	if already {
		start = inv.Console.cfg.Cluster.Clock.Pause // it holds as it is
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
func (inv *Invocation) clock() control.Clock {
	c := inv.Console.cfg.Cluster.Clock
	c.Clock()
	_ = inv.Console.cfg.Kernel.Do(func() {})
	return c.Clock()
}

// runUntilStanding sets the cluster going with start and returns when it
// stands again. In the meantime somebody waits: so time passes in a script too.
func (inv *Invocation) runUntilStanding(ctx context.Context, grain trace.Grain, start func() error) int {
	k := inv.Console.cfg.Kernel
	// First what starts it: did time pass before, it would be the machine's to
	// say how far the cluster had come by then.
	if err := start(); err != nil {
		return inv.did(err)
	}
	if err := k.Do(func() { k.AddDemand(1) }); err != nil {
		return inv.did(ErrStopped)
	}
	defer k.Do(func() { k.AddDemand(-1) })
	for {
		standing := false
		if err := k.Do(func() { standing = k.Paused() }); err != nil {
			return inv.did(ErrStopped)
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

// waitFor waits until an expression holds.
func waitFor(ctx context.Context, inv *Invocation, args []string) int {
	limit, expr, ok := limitAndExpr(args)
	if !ok {
		return inv.badUse()
	}
	if limit == 0 {
		limit = standLimit
	}
	holds, ok := inv.compile(expr)
	if !ok {
		return 2
	}
	if !inv.mayWait() {
		return 1
	}
	var failed error
	met := false
	look := func() bool {
		if met || failed != nil {
			return false
		}
		met, failed = holds()
		return met || failed != nil
	}
	w, err := inv.Console.watchChanges(ctx, inv.Cause, limit, func(*trace.Event) bool { return look() })
	if err != nil {
		return inv.did(err)
	}
	defer w.close()
	already, why := false, error(nil) // as of now: what comes later is the kernel's to write
	_ = inv.Console.cfg.Kernel.Do(func() {
		look()
		already, why = met || failed != nil, failed
	})
	if already {
		return inv.did(why)
	}
	switch err := w.next(ctx); {
	case errors.Is(err, errLimit):
		return inv.did(fmt.Errorf("timed out after %s of virtual time, and the expression does not hold: %s", limit, expr))
	case err != nil:
		return inv.did(err)
	}
	return inv.did(failed)
}

// printVerb writes what an expression comes to.
func printVerb(_ context.Context, inv *Invocation, args []string) int {
	value := inv.Console.cfg.Value
	if len(args) == 0 || value == nil {
		return inv.badUse()
	}
	var text string
	var err error
	if do := inv.Console.cfg.Kernel.Do(func() { text, err = value(strings.Join(args, " ")) }); do != nil {
		return inv.did(ErrStopped)
	}
	if err == nil {
		fmt.Fprintln(inv.Out, text)
	}
	return inv.did(err)
}

// compile makes a condition of an expression, or says what is wrong with it.
func (inv *Invocation) compile(expr string) (Condition, bool) {
	if inv.Console.cfg.Compile == nil {
		fmt.Fprintf(inv.Err, "kviz %s: this console evaluates no expressions\n", inv.Args[1])
		return nil, false
	}
	c, err := inv.Console.cfg.Compile(expr)
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz %s: %v\n", inv.Args[1], err)
		return nil, false
	}
	return c, true
}

// limitAndExpr reads [--timeout D] EXPR; words are joined, so that short
// expressions need no quotes.
func limitAndExpr(args []string) (time.Duration, string, bool) {
	limit := time.Duration(0)
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		name, value, joined := strings.Cut(args[0], "=")
		if name != "--timeout" {
			return 0, "", false
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return 0, "", false
			}
			value, args = args[0], args[1:]
		}
		d, err := duration(value)
		if err != nil {
			return 0, "", false
		}
		limit = d
	}
	expr := strings.TrimSpace(strings.Join(args, " "))
	return limit, expr, expr != ""
}

func faultVerb(ctx context.Context, inv *Invocation, args []string) int {
	m := inv.Console.cfg.Cluster.Faults
	kinds := m.Faults()
	switch {
	case len(args) > 0 && args[0] == "list":
		return inv.listFaults(kinds, args[1:])
	case len(args) < 2:
		return inv.badUse()
	}
	var names, applies []string
	for _, f := range kinds {
		names = append(names, f.Name)
		if f.Name == args[0] {
			applies = append(applies, f.Target)
		}
	}
	if len(applies) == 0 {
		return inv.unknown("fault", args[0], names)
	}
	if targets := m.Targets(); !contains(targets, args[1]) {
		kind, _, _ := strings.Cut(args[1], "/")
		others := slices.ContainsFunc(targets, func(t string) bool { return strings.HasPrefix(t, kind+"/") })
		if meant := sameName(targets, args[1], applies); meant != "" && !others {
			fmt.Fprintf(inv.Err, "kviz fault: unknown target %q; did you mean %q? (kviz fault list tells all)\n", args[1], meant)
			return 2
		}
		return inv.unknown("target", args[1], ofKinds(targets, args[1], applies))
	}
	return inv.did(m.Fault(ctx, control.Fault{Name: args[0], Target: args[1], Args: args[2:], Cause: inv.Cause}))
}

// listFaults tells what can be done to each kind of target, or all of one kind.
func (inv *Invocation) listFaults(kinds []control.FaultKind, of []string) int {
	targets := inv.Console.cfg.Cluster.Faults.Targets()
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	if len(of) > 0 {
		kind, _, _ := strings.Cut(of[0], "/")
		found := false
		for _, f := range kinds {
			if f.Target == kind {
				fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(f.Name+" "+f.Args), f.Means)
				found = true
			}
		}
		if !found {
			return inv.unknown("target", of[0], targets)
		}
		_ = w.Flush()
		fmt.Fprintf(inv.Out, "targets now: %s\n", strings.Join(ofKinds(targets, kind, []string{kind}), " "))
		return 0
	}
	var order []string
	names := map[string][]string{}
	for _, f := range kinds {
		if names[f.Target] == nil {
			order = append(order, f.Target)
		}
		names[f.Target] = append(names[f.Target], f.Name)
	}
	fmt.Fprintln(w, "TARGET\tFAULTS")
	for _, kind := range order {
		fmt.Fprintf(w, "%s\t%s\n", kind, strings.Join(names[kind], ", "))
	}
	_ = w.Flush()
	fmt.Fprintf(inv.Out, "targets now: %s\nkviz fault list TARGET tells what each of its faults does\n", strings.Join(targets, " "))
	return 0
}

// sameName is the target of the kinds that has the name of a word, where its kind is wrong
// or left out: member/a for store/a, node/node-2 for node-2; "" if there is none.
func sameName(targets []string, word string, kinds []string) string {
	name := word[strings.IndexByte(word, '/')+1:]
	for _, kind := range append([]string{"member", "node"}, kinds...) { // what people mean by a bare name
		if !contains(kinds, kind) {
			continue
		}
		if t := kind + "/" + name; contains(targets, t) {
			return t
		}
	}
	return ""
}

// ofKinds are the targets that a fault applies to: those of the kind that word
// begins with, if it is one of them.
func ofKinds(targets []string, word string, kinds []string) []string {
	kindOf := func(t string) string { k, _, _ := strings.Cut(t, "/"); return k }
	if k := kindOf(word); contains(kinds, k) {
		kinds = []string{k}
	}
	var fit []string
	for _, t := range targets {
		if contains(kinds, kindOf(t)) {
			fit = append(fit, t)
		}
	}
	return fit
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func (inv *Invocation) unknown(what, name string, known []string) int {
	fmt.Fprintf(inv.Err, "kviz %s: unknown %s %q", inv.Args[1], what, name)
	if near := nearest(name, known); near != "" {
		fmt.Fprintf(inv.Err, "; did you mean %q? (kviz fault list tells all)\n", near)
		return 2
	}
	if len(known) == 0 {
		fmt.Fprintf(inv.Err, ", and there is none of its kind now (kviz fault list tells all)\n")
		return 2
	}
	fmt.Fprintf(inv.Err, ": one of %s\n", strings.Join(known, ", "))
	return 2
}
