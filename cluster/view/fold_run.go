package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"

	"kviz/cluster/trace"
)

const (
	maxCommands = 64
	maxSpoiled  = 64
)

func init() {
	on(trace.RunStart, func(b *Builder, e *trace.Event, p *trace.Run) {
		b.s.Run = Run{Run: *p, Start: e.ID}
		b.s.Store.Quota = cmp.Or(p.Quota, DefaultQuota)
	})
	folds[trace.Ready] = func(b *Builder, e *trace.Event) {
		b.s.Run.Ready, b.s.Run.ReadyAt = true, e.At
	}
	on(trace.InvariantBroken, func(b *Builder, e *trace.Event, p *trace.Broken) { b.s.Run.Broken = p })
	on(trace.ObjectUndecodable, func(b *Builder, e *trace.Event, p *trace.Undecodable) {
		if len(b.s.Run.Spoiled) == maxSpoiled {
			return
		}
		spoiled := maps.Clone(b.s.Run.Spoiled)
		if spoiled == nil {
			spoiled = map[string]string{}
		}
		spoiled[p.Key] = p.Error
		b.s.Run.Spoiled = spoiled
	})
	for _, k := range []trace.Kind{trace.ProcessPanic, trace.EdgePanic} {
		on(k, func(b *Builder, e *trace.Event, p *trace.Panicked) { b.s.Run.Panics++ })
	}
	on(trace.ClockChanged, func(b *Builder, e *trace.Event, p *trace.Clock) {
		now := Clock{Paused: p.Paused, Speed: p.Speed, Why: p.Why}
		if now.Speed == b.s.Clock.Speed {
			now.Actual, now.Behind = b.s.Clock.Actual, b.s.Clock.Behind
		}
		b.s.Clock = now
	})
	on(trace.ClockPace, func(b *Builder, e *trace.Event, p *trace.Pace) {
		b.s.Clock.Actual, b.s.Clock.Behind = 0, p.Why
		if p.Why != "" {
			b.s.Clock.Actual = p.Actual
		}
	})
	on(trace.ProcessStart, func(b *Builder, e *trace.Event, p *trace.Process) {
		x := b.process(e, p)
		x.Up = true
		x.Starts++
	})
	on(trace.ProcessExit, func(b *Builder, e *trace.Event, p *trace.Process) {
		b.process(e, p).Up = false
		if e.Lane.Component == trace.CompAPIServer {
			b.serverDied(e)
		}
		b.workersDied(e, p.Process)
	})
	on(trace.CommandStart, func(b *Builder, e *trace.Event, p *trace.Command) {
		b.s.commands.set(order(e.ID), &Command{gen: gen{b.gen}, Line: p.Line, Source: p.Source, Start: e.ID, At: e.At})
		b.s.commands.trim(maxCommands)
	})
	on(trace.CommandEnd, commandEnd)
	on(trace.FaultInjected, func(b *Builder, e *trace.Event, p *trace.Fault) {
		faultInjected(b, e, p)
		b.turnDisks(e)
		b.schedulersOff(e, p)
	})
	on(trace.FaultHealed, func(b *Builder, e *trace.Event, p *trace.Fault) { faultHealed(b, e, p); b.turnDisks(e) })
}

func (b *Builder) process(e *trace.Event, p *trace.Process) *Process {
	x := edit(b, b.s.processes, p.Process)
	x.Name, x.Reason, x.Event, x.Since = p.Process, p.Reason, e.ID, e.At
	return x
}

// commandEnd ends the command that the event names as its cause, else the
// newest one with its line that still runs.
func commandEnd(b *Builder, e *trace.Event, p *trace.Command) {
	key, found := uint64(0), false
	b.s.commands.back(func(k uint64, c *Command) bool {
		if slices.Contains(e.Causes, c.Start) || !c.Done && c.Line == p.Line {
			key, found = k, true
		}
		return !found
	})
	if !found {
		return
	}
	c := edit(b, b.s.commands, key)
	c.Done, c.End, c.EndAt, c.Exit, c.Output = true, e.ID, e.At, p.Exit, p.Output
}

// everyMember reports whether a fault of the store is the same fault of every member, and
// takes it as theirs.
func (b *Builder) everyMember(p *trace.Fault, injected bool) bool {
	if !p.Members {
		return false
	}
	for name, m := range entries(b.s.Store.members) {
		q := *p
		q.Target = "member/" + name
		if m.Left {
			continue
		}
		b.undo(&q)
		if injected {
			b.s.faults.set(faultKey(q.Target, q.Fault, q.Detail), &Fault{Fault: q, Event: b.s.Last, Since: b.s.At})
		}
	}
	b.undo(p)
	return true
}

func faultInjected(b *Builder, e *trace.Event, p *trace.Fault) {
	if p.Fault == "quota" {
		if n, err := humanize.ParseBytes(p.Detail); err == nil { // else it was refused
			b.s.Store.Quota = int64(n)
		}
	}
	if b.everyMember(p, true) {
		return
	}
	b.undo(p)
	if !p.Passing {
		b.s.faults.set(faultKey(p.Target, p.Fault, p.Detail), &Fault{Fault: *p, Event: e.ID, Since: e.At})
	}
}

// faultHealed takes a healing by its name ("start") or by that of the fault
// that is over ("stop").
func faultHealed(b *Builder, _ *trace.Event, p *trace.Fault) {
	if b.everyMember(p, false) {
		return
	}
	b.undo(p)
	b.mendLinks(p)
	for key, f := range entries(b.s.faults) {
		if f.Target == p.Target && f.Fault.Fault == p.Fault {
			b.s.faults.delete(key)
		}
	}
}

// undo takes out what is over with a fault.
func (b *Builder) undo(p *trace.Fault) {
	if len(p.Peers) > 0 { // only on some links
		return
	}
	for key, f := range entries(b.s.faults) {
		if f.Target == p.Target && slices.Contains(p.Undoes, f.Fault.Fault) {
			b.s.faults.delete(key)
		}
	}
}

func faultKey(target, fault, detail string) string {
	return target + "\x00" + fault + "\x00" + detail
}
