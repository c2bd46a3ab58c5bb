package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Asker is how one client keeps itself informed of one kind: by asking for it again
// and again, or by one watch that tells it.
type Asker struct {
	gen
	Client   string
	Resource string
	Asked    uint64 // reads: get, list, watch
	Lists    uint64
	Watches  uint64
	Told     uint64 // events
	Last     trace.ID

	asked, told []tick
}

func (a *Asker) seal() {
	clip(&a.asked)
	clip(&a.told)
}

// tick is how often something happened in a second.
type tick struct {
	second int64
	n      int
}

const (
	maxTicks  = 60 // seconds, which is what a rate is of
	maxAskers = 1024
)

// Minute is the time that rates are taken of.
const Minute = maxTicks * time.Second

func ticked(list []tick, at time.Duration) []tick {
	second := int64(at / time.Second)
	if n := len(list); n > 0 && list[n-1].second == second {
		list = slices.Clone(list) // the last one changes, and other states share it
		list[n-1].n++
		return list
	}
	return recent(list, tick{second, 1}, maxTicks)
}

// within is how often it happened in the minute before a moment.
func within(list []tick, at time.Duration) (n int) {
	for _, x := range last(list, maxTicks) {
		if x.second > int64((at-Minute)/time.Second) {
			n += x.n
		}
	}
	return n
}

// AskedWithin is how many reads it has sent in the minute before a moment.
func (a *Asker) AskedWithin(at time.Duration) int { return within(a.asked, at) }

// ToldWithin is how many watch events it was sent in the minute before a moment.
func (a *Asker) ToldWithin(at time.Duration) int { return within(a.told, at) }

// Polls reports whether it lists again and again instead of watching.
func (a *Asker) Polls() bool { return a.Watches+a.Told == 0 && a.Lists > 1 }

// Askers lists who has read what: first of what somebody polls, and of that first who
// asked most in the minute before now, then who was sent most.
func (s *State) Askers() []*Asker {
	all := s.askers.values()
	polled := map[string]int{}
	for _, a := range all {
		if a.Polls() && a.AskedWithin(s.At) > 0 {
			polled[a.Resource] = 1
		}
	}
	slices.SortStableFunc(all, func(a, b *Asker) int {
		return cmp.Or(polled[b.Resource]-polled[a.Resource], b.AskedWithin(s.At)-a.AskedWithin(s.At), b.ToldWithin(s.At)-a.ToldWithin(s.At))
	})
	return all
}

// reads notes a read.
func (b *Builder) reads(e *trace.Event, p *trace.Request) {
	switch p.Verb {
	case "get", "list", "watch":
	default:
		return
	}
	a := b.asker(p.Client, p.Resource)
	a.Asked++
	switch p.Verb {
	case "list":
		a.Lists++
	case "watch":
		a.Watches++
	}
	a.asked, a.Last = ticked(a.asked, e.At), e.ID
}

func (b *Builder) asker(client, resource string) *Asker {
	a := edit(b, b.s.askers, client+"\x00"+resource)
	if a.Client == "" {
		a.Client, a.Resource = client, resource
		b.s.askers.trim(maxAskers)
	}
	return a
}

// How says how a client keeps itself informed.
func (s *State) How(a *Asker) string {
	switch i := s.Informer(a.Client, a.Resource); {
	case a.Polls():
		return "polls"
	case i != nil && i.Handlers > 1:
		return fmt.Sprintf("1 watch, %d handlers", i.Handlers)
	case a.Watches+a.Told > 0:
		return "watches"
	}
	return "asks when it must"
}
