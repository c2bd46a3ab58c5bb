package view

import (
	"slices"

	"kviz/cluster/trace"
)

const maxCommands = 64

func init() {
	on(trace.RunStart, func(b *Builder, e *trace.Event, p *trace.Run) {
		b.s.Run = Run{Run: *p, Start: e.ID}
	})
	folds[trace.Ready] = func(b *Builder, e *trace.Event) {
		b.s.Run.Ready, b.s.Run.ReadyAt = true, e.At
	}
	on(trace.InvariantBroken, func(b *Builder, e *trace.Event, p *trace.Broken) { b.s.Run.Broken = p })
	on(trace.ClockChanged, func(b *Builder, e *trace.Event, p *trace.Clock) {
		b.s.Clock = Clock{Paused: p.Paused, Speed: p.Speed, Why: p.Why}
	})
	on(trace.ProcessStart, func(b *Builder, e *trace.Event, p *trace.Process) {
		x := b.process(e, p)
		x.Up = true
		x.Starts++
	})
	on(trace.ProcessExit, func(b *Builder, e *trace.Event, p *trace.Process) {
		b.process(e, p).Up = false
		if p.Process == trace.CompAPIServer {
			b.serverDied(e)
		}
		b.workersDied(p.Process)
	})
	on(trace.CommandStart, func(b *Builder, e *trace.Event, p *trace.Command) {
		b.s.commands.set(order(e.ID), &Command{gen: gen{b.gen}, Line: p.Line, Source: p.Source, Start: e.ID, At: e.At})
		b.s.commands.trim(maxCommands)
	})
	on(trace.CommandEnd, commandEnd)
	on(trace.FaultInjected, faultInjected)
	on(trace.FaultHealed, faultHealed)
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

// mends says which faults a name undoes, as the catalogue of faults has it.
var mends = map[string][]string{
	"start":   {"stop", "crash"},
	"restart": {"stop", "crash"},
	"heal":    {"cut", "delay", "drop", "slow", "fill"},
	"fast":    {"slow"},
	"free":    {"fill"},

	"mend-cni": {"break-cni"},
	"relieve":  {"pressure"},
}

// passing reports faults that are over as soon as they have happened.
func passing(p *trace.Fault) bool {
	return p.Fault == "lead" || p.Fault == "flush" || p.Fault == "crash" && len(p.Target) > 4 && p.Target[:4] == "pod/"
}

func faultInjected(b *Builder, e *trace.Event, p *trace.Fault) {
	if b.mend(p) || passing(p) {
		return
	}
	b.s.faults.set(faultKey(p.Target, p.Fault, p.Detail), &Fault{Fault: *p, Event: e.ID, Since: e.At})
}

// faultHealed takes a healing by its name ("start") or by that of the fault
// that is over ("stop").
func faultHealed(b *Builder, e *trace.Event, p *trace.Fault) {
	if b.mend(p) {
		return
	}
	for key, f := range entries(b.s.faults) {
		if f.Target == p.Target && f.Fault.Fault == p.Fault {
			b.s.faults.delete(key)
		}
	}
}

// mend takes out what the fault undoes and reports whether it is one that
// undoes something.
func (b *Builder) mend(p *trace.Fault) bool {
	undone, known := mends[p.Fault]
	if !known {
		return false
	}
	for key, f := range entries(b.s.faults) {
		if f.Target == p.Target && slices.Contains(undone, f.Fault.Fault) {
			b.s.faults.delete(key)
		}
	}
	return true
}

func faultKey(target, fault, detail string) string {
	return target + "\x00" + fault + "\x00" + detail
}
