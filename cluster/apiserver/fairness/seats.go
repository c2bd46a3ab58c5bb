package fairness

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Seats are those of one process of a server: the controller, and how it is recorded in
// the trace.
type Seats struct {
	*Controller
	k     *sim.Kernel
	p     *sim.Process
	alarm time.Duration // when those who wait are looked after; 0 where that is not planned
	// told are the levels' limits as the trace knows them: since requests have begun
	// to wait, or a person has changed them; nil before.
	told    []State
	pressed trace.ID // the newest request that found no seat
}

// NewSeats begins with the levels and schemas of a new cluster: a part of a server's
// start. Seats that are taken are forgotten with the process. The UIDs of the objects
// are drawn from rand.
func NewSeats(p *sim.Process, total int, rand *rand.Rand) *Seats {
	k := p.Kernel()
	return &Seats{Controller: New(k.Elapsed(), total, func() types.UID { return object.NewUID(rand) }), k: k, p: p}
}

// Stand tells how each priority level stands, by name.
func (f *Seats) Stand() []State { return f.Levels(f.k.Elapsed()) }

// SetConcurrency shares another number of seats out: kube-apiserver's
// --max-requests-inflight and --max-mutating-requests-inflight, which there take a
// new start.
func (f *Seats) SetConcurrency(t *sim.Task, total int) error {
	if total < 1 || total > mostSeats {
		return fmt.Errorf("%d: the API server serves 1 to %d requests at once", total, mostSeats)
	}
	f.Resize(t.Elapsed(), total)
	f.TellLevels(trace.FlowByPerson, t.Causes())
	f.LookAfter()
	return nil
}

const mostSeats = 1_000_000

// TellLevels emits how many seats each level has now.
func (f *Seats) TellLevels(why string, causes []trace.ID) {
	f.told = f.Stand()
	limits := &trace.FlowLimits{Total: f.Total(), Why: why}
	for _, l := range f.told {
		if !l.Exempt {
			limits.Levels = append(limits.Levels, trace.FlowLimit{
				Level: l.Level, Limit: l.Limit, Queues: l.Queues, Nominal: l.Nominal, Min: l.Min, Max: l.Max, Wanted: l.Demand.High,
			})
		}
	}
	f.k.Emit(trace.Event{Kind: trace.FlowConfig, Lane: f.p.Lane, Causes: append([]trace.ID{}, causes...), Payload: limits})
}

// TellAdjusted records limits that have been adjusted to the demand, if requests have
// had to wait and a limit has changed by a twentieth: what upstream logs.
func (f *Seats) TellAdjusted() {
	if !f.Moved() || f.told == nil {
		return
	}
	was := map[string]int{}
	for _, l := range f.told {
		was[l.Level] = l.Limit
	}
	for _, l := range f.Stand() {
		if now, before := l.Limit, was[l.Level]; 20*max(now-before, before-now) >= max(now, before, 1) && !l.Exempt {
			f.TellLevels(trace.FlowByDemand, []trace.ID{f.pressed})
			return
		}
	}
}

// Pressed notes that a request found no seat.
func (f *Seats) Pressed(id trace.ID) {
	f.pressed = id
	if f.told == nil {
		f.told = f.Stand()
	}
	f.LookAfter()
}

// LookAfter plans to look again when those who wait may get seats though no
// request ends: because a limit is adjusted, or seats kept for watchers are free.
// Where nobody waits there is nothing to plan.
func (f *Seats) LookAfter() {
	now := f.k.Elapsed()
	next, any := f.Await(now)
	if !any || f.alarm != 0 && f.alarm <= next {
		return
	}
	f.alarm = next
	f.k.After(next-now, func() {
		if f.alarm != next || !f.p.Alive() {
			return
		}
		f.alarm = 0
		f.LookAfter()
		f.TellAdjusted()
	})
}
