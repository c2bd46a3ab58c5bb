package view

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Fairness is API priority and fairness as far as requests have felt it: a level
// whose requests all found a seat at once is not in it.
type Fairness struct {
	Limits *trace.FlowLimits // as they were changed; nil where they were not
	Levels []FlowLevel       // by name; not to be changed
	Event  trace.ID          // the newest of it
}

// FlowLevel is a priority level in which requests have queued or were turned down.
type FlowLevel struct {
	Name     string
	Limit    int         // seats it has
	Nominal  int         // seats by its share; 0 where that is not known
	Queues   []FlowQueue // in which somebody waits, by number
	Served   uint64      // requests that have waited and were served
	Rejected uint64      // with 429
	Newest   *trace.FlowWait
	Event    trace.ID
}

// FlowQueue is a queue in which requests wait.
type FlowQueue struct {
	Number  int
	Waiting int
	Flow    string // of the newest
}

// Borrowed is how many seats the level has of others, or, below zero, how
// many others may have of it.
func (l *FlowLevel) Borrowed() int {
	if l.Nominal == 0 {
		return 0
	}
	return l.Limit - l.Nominal
}

// Untouched are the levels of the newest limits in which nobody has had to wait.
func (f *Fairness) Untouched() (all []trace.FlowLimit) {
	if f.Limits == nil {
		return nil
	}
	for _, l := range f.Limits.Levels {
		if !slices.ContainsFunc(f.Levels, func(o FlowLevel) bool { return o.Name == l.Level }) {
			all = append(all, l)
		}
	}
	return all
}

// Waiting is how many requests wait in all queues of the level.
func (l *FlowLevel) Waiting() (n int) {
	for _, q := range l.Queues {
		n += q.Waiting
	}
	return n
}

func init() {
	on(trace.FlowConfig, func(b *Builder, e *trace.Event, p *trace.FlowLimits) {
		f := &b.server(e.Lane.String()).Fairness
		f.Limits, f.Event = p, e.ID
		f.Levels = slices.Clone(f.Levels)
		for i := range f.Levels {
			for _, l := range p.Levels {
				if l.Level == f.Levels[i].Name {
					f.Levels[i].Limit, f.Levels[i].Nominal = l.Limit, l.Nominal
				}
			}
		}
	})
	on(trace.FlowQueued, func(b *Builder, e *trace.Event, p *trace.FlowWait) {
		l := b.flowLevel(e, p)
		l.queue(p, 1)
	})
	say(trace.FlowConfig, func(e *trace.Event, p *trace.FlowLimits) string {
		var parts []string
		for _, l := range p.Levels {
			part := fmt.Sprintf("%s %d", l.Level, l.Limit)
			switch b := l.Borrowed(); {
			case b > 0:
				part += fmt.Sprintf(" (%d borrowed)", b)
			case b < 0:
				part += fmt.Sprintf(" (%d to lend)", -b)
			}
			parts = append(parts, part)
		}
		begin := fmt.Sprintf("%s serves %s at once now", called(otherServer(e)), count(p.Total, "request"))
		switch p.Why {
		case trace.FlowByDemand:
			begin = "priority levels lend one another seats, by what was wanted of each in the last ten seconds"
		case trace.FlowByObject:
			begin = fmt.Sprintf("the %s are shared out again, for a priority level has changed", count(p.Total, "seat"))
		}
		return begin + ": " + strings.Join(parts, ", ")
	})
	say(trace.FlowQueued, func(_ *trace.Event, p *trace.FlowWait) string {
		return fmt.Sprintf("the request of flow %s waits in queue %d of priority level %s behind %s: all of its %s are taken",
			orElse(p.Flow, p.Schema), p.Queue, p.Level, count(p.Ahead, "request"), count(p.Limit, "seat"))
	})
}

// flowLevel is the builder's own copy of a level, to be changed.
func (b *Builder) flowLevel(e *trace.Event, p *trace.FlowWait) *FlowLevel {
	f := &b.server(e.Lane.String()).Fairness
	f.Event = e.ID
	f.Levels = slices.Clone(f.Levels)
	i, there := slices.BinarySearchFunc(f.Levels, p.Level, func(l FlowLevel, name string) int { return strings.Compare(l.Name, name) })
	if !there {
		f.Levels = slices.Insert(f.Levels, i, FlowLevel{Name: p.Level})
	}
	l := &f.Levels[i]
	l.Limit, l.Nominal, l.Newest, l.Event = p.Limit, p.Nominal, p, e.ID
	return l
}

// queue changes how many wait in a request's queue.
func (l *FlowLevel) queue(p *trace.FlowWait, by int) {
	l.Queues = slices.Clone(l.Queues)
	i, there := slices.BinarySearchFunc(l.Queues, p.Queue, func(q FlowQueue, n int) int { return q.Number - n })
	if !there {
		if by < 0 {
			return
		}
		l.Queues = slices.Insert(l.Queues, i, FlowQueue{Number: p.Queue})
	}
	l.Queues[i].Waiting += by
	if by > 0 {
		l.Queues[i].Flow = p.Flow
	}
	if l.Queues[i].Waiting <= 0 {
		l.Queues = slices.Delete(l.Queues, i, i+1)
	}
}

// flowPassed notes that a request which found no seat has got one, or is turned
// down.
func (b *Builder) flowPassed(e *trace.Event, p *trace.FlowWait) {
	l := b.flowLevel(e, p)
	switch p.Outcome {
	case "served":
		l.Served++
		l.queue(p, -1)
	case "time-out":
		l.Rejected++
		l.queue(p, -1)
	default:
		l.Rejected++
	}
}

// flowsGone empties the queues of a server that has died.
func (b *Builder) flowsGone(server string) {
	f := &b.server(server).Fairness
	f.Levels = slices.Clone(f.Levels)
	for i := range f.Levels {
		f.Levels[i].Queues = nil
	}
}
