// Package view is the fold of the trace: it turns the stream of events into an
// immutable picture of the whole cluster, which the screen draws, expressions query
// and lessons judge.
//
// Kubernetes has no such thing; kubectl and a dashboard put a picture together
// from the API, which knows nothing of queues, votes, scheduler verdicts or
// packet hops. Here the picture is made of events and of nothing else, so that
// a recording gives the same picture as a live cluster, and going back in time
// is folding to an earlier event.
//
// Start reading at [State], then [Builder] (how it comes about), then
// [History] (how any moment is reached) and [Explain] (an event in words).
package view

import (
	"sync/atomic"

	"kviz/cluster/trace"
)

// Builder folds events into a [State]. It belongs to one goroutine.
type Builder struct {
	s   *State
	gen uint64 // records of this generation are the builder's own

	laneNames map[trace.Lane]string
	resources map[string]string
}

// generations numbers the times between two marks of any builder.
var generations atomic.Uint64

// NewBuilder starts from nothing.
func NewBuilder() *Builder {
	return From(&State{Clock: Clock{Speed: 1}})
}

// From starts from a state, which stays as it is.
func From(s *State) *Builder {
	return &Builder{s: s.share(), gen: generations.Add(1), laneNames: map[trace.Lane]string{}, resources: map[string]string{}}
}

// Mark gives the state as it is now, for good. It takes constant time.
func (b *Builder) Mark() *State {
	mark := b.s
	b.s = mark.share()
	b.gen = generations.Add(1)
	return mark
}

// Live gives the state for a look at once: it changes with the next
// [Builder.Apply]. It costs nothing.
func (b *Builder) Live() *State { return b.s }

// share makes a state that starts out equal and can be changed alone.
func (s *State) share() *State {
	n := *s
	n.autoscalers = s.autoscalers.copy()
	n.lanes, n.processes, n.commands, n.faults, n.loads = s.lanes.copy(), s.processes.copy(), s.commands.copy(), s.faults.copy(), s.loads.copy()
	n.objects, n.owned, n.uids, n.gone, n.about = s.objects.copy(), s.owned.copy(), s.uids.copy(), s.gone.copy(), s.about.copy()
	n.families, n.unsettled = s.families.copy(), s.unsettled.copy()
	n.active, n.done, n.waiting = s.active.copy(), s.done.copy(), s.waiting.copy()
	n.watchers, n.watchCaches, n.webhooks, n.disks = s.watchers.copy(), s.watchCaches.copy(), s.webhooks.copy(), s.disks.copy()
	n.unmade, n.goneDisks = s.unmade.copy(), s.goneDisks.copy()
	n.aggregated, n.cloud = s.aggregated.copy(), s.cloud.copy()
	n.clients, n.actors = s.clients.copy(), s.actors.copy()
	n.queues, n.informers, n.controllers, n.leases = s.queues.copy(), s.informers.copy(), s.controllers.copy(), s.leases.copy()
	n.askers, n.seconds = s.askers.copy(), s.seconds.copy()
	n.nodes, n.flows = s.nodes.copy(), s.flows.copy()
	n.Store.members, n.Store.messages, n.Store.ended = s.Store.members.copy(), s.Store.messages.copy(), s.Store.ended.copy()
	n.Store.polls, n.Store.commits, n.Store.keys = s.Store.polls.copy(), s.Store.commits.copy(), s.Store.keys.copy()
	n.Store.share(&s.Store)
	n.Scheduler.pods, n.Scheduler.cycles = s.Scheduler.pods.copy(), s.Scheduler.cycles.copy()
	n.Scheduler.others, n.Scheduler.assigned = s.Scheduler.others.copy(), s.Scheduler.assigned.copy()
	n.Balancer.conns = s.Balancer.conns.copy()
	clip(&n.kubeEvents)
	clip(&n.told)
	clip(&n.ended)
	clip(&n.evictions)
	clip(&n.Store.Refused)
	return &n
}

// Apply folds one event. Events come in the order of the stream.
func (b *Builder) Apply(e *trace.Event) {
	s := b.s
	s.At, s.Last, s.Event = e.At, e.ID, e
	if Grave(e) {
		s.Grave = e
	}
	s.Events++
	b.lane(e)
	if f := folds[e.Kind]; f != nil {
		f(b, e)
	}
}
