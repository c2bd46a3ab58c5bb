package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kviz/cluster/trace"
)

const maxCommands = 64

func init() {
	on(trace.RunStart, func(b *Builder, e *trace.Event, p *trace.Run) {
		b.s.Run = Run{Run: *p, Start: e.ID}
		b.s.Store.Quota = cmp.Or(p.Quota, DefaultQuota)
	})
	folds[trace.Ready] = func(b *Builder, e *trace.Event) {
		b.s.Run.Ready, b.s.Run.ReadyAt = true, e.At
	}
	on(trace.InvariantBroken, func(b *Builder, e *trace.Event, p *trace.Broken) { b.s.Run.Broken = p })
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
	on(trace.FaultInjected, func(b *Builder, e *trace.Event, p *trace.Fault) { faultInjected(b, e, p); b.turnDisks(e) })
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

// mends says which faults a name undoes, as the catalogue of faults has it.
var mends = map[string][]string{
	"start":   {"stop", "crash", "power-cut"},
	"restart": {"stop", "crash", "power-cut"},
	"rejoin":  {"stop", "crash", "power-cut", "corrupt", "wipe", "cut", "mute", "deafen", "delay", "drop", "duplicate", "reorder", "slow", "fill"},
	"remove":  {"stop", "crash", "power-cut", "corrupt", "wipe", "cut", "mute", "deafen", "delay", "drop", "duplicate", "reorder", "slow", "fill"},
	"heal":    {"cut", "mute", "deafen", "delay", "drop", "duplicate", "reorder", "slow", "fill", "partition", "stall", "lie"},
	"fast":    {"slow"},
	"free":    {"fill"},
	"renew":   {"expire"},

	"fast-elections": {"slow-elections"},

	"mend-cni": {"break-cni"},
	"relieve":  {"pressure"},
}

// passing reports faults that are over as soon as they have happened.
func passing(p *trace.Fault) bool {
	switch p.Fault {
	case "lead", "flush", "quota", "split-vote", "recover", "add-learner", "add-voter", "promote", "snapshot", "defrag", "compact", "disarm", "reinstall":
		return true
	case "wipe":
		return p.Target == "store"
	case "crash":
		return strings.HasPrefix(p.Target, "pod/")
	case "cut": // what watches opens another connection
		return strings.HasPrefix(p.Target, "watch/") || strings.HasPrefix(p.Target, "informer/")
	}
	return false
}

// everyMember is faults of the store that are the same fault of every member.
func (b *Builder) everyMember(p *trace.Fault) bool {
	if p.Target != "store" || !slices.Contains([]string{"stop", "crash", "start", "heal"}, p.Fault) {
		return false
	}
	for name, m := range entries(b.s.Store.members) {
		q := *p
		q.Target = "member/" + name
		if !m.Left && !b.mend(&q) {
			b.s.faults.set(faultKey(q.Target, q.Fault, q.Detail), &Fault{Fault: q, Event: b.s.Last, Since: b.s.At})
		}
	}
	b.mend(p)
	return true
}

func faultInjected(b *Builder, e *trace.Event, p *trace.Fault) {
	if p.Fault == "quota" {
		if n, err := humanize.ParseBytes(p.Detail); err == nil { // else it was refused
			b.s.Store.Quota = int64(n)
		}
	}
	if b.everyMember(p) || b.mend(p) || passing(p) {
		return
	}
	if p.Fault == "slow" || p.Fault == "slow-elections" { // a knob: turned anew, it stands elsewhere
		for key, f := range entries(b.s.faults) {
			if f.Target == p.Target && f.Fault.Fault == p.Fault {
				b.s.faults.delete(key)
			}
		}
	}
	b.s.faults.set(faultKey(p.Target, p.Fault, p.Detail), &Fault{Fault: *p, Event: e.ID, Since: e.At})
}

// faultHealed takes a healing by its name ("start") or by that of the fault
// that is over ("stop").
func faultHealed(b *Builder, e *trace.Event, p *trace.Fault) {
	if b.everyMember(p) || b.mend(p) || passing(p) {
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
