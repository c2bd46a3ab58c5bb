package view

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

const maxCycles = 50

func init() {
	on(trace.SchedConfigured, func(b *Builder, e *trace.Event, p *trace.SchedConfiguration) {
		if in := inPod(e.Lane); in != "" {
			o := edit(b, b.s.Scheduler.others, in)
			o.Pod, o.Configured, o.ConfiguredBy = in, p, e.ID
			return
		}
		b.s.Scheduler.Configured, b.s.Scheduler.ConfiguredBy = p, e.ID
	})
	on(trace.SchedQueue, schedQueue)
	on(trace.SchedStay, schedStay)
	on(trace.SchedCycle, schedCycle)
	on(trace.SchedPoint, func(b *Builder, e *trace.Event, p *trace.ExtensionPoint) {
		if p.Point == preEnqueue {
			gate(b, p)
		}
		if c := b.cycle(e, p.Pod); c != nil {
			c.points = append(c.points, PointRun{p, e.ID})
		}
	})
	on(trace.SchedFilter, func(b *Builder, e *trace.Event, p *trace.FilterVerdict) {
		if c := b.cycle(e, p.Pod); c != nil {
			c.filters = append(c.filters, NodeFilter{p, e.ID})
		}
	})
	on(trace.SchedScore, func(b *Builder, e *trace.Event, p *trace.NodeScore) {
		if c := b.cycle(e, p.Pod); c != nil {
			c.scores = append(c.scores, NodeScores{p, e.ID})
		}
	})
	on(trace.SchedDecision, func(b *Builder, e *trace.Event, p *trace.Decision) {
		if c := b.cycle(e, p.Pod); c != nil {
			c.Decision, c.Decided, c.DecidedAt = p, e.ID, e.At
		}
	})
	on(trace.SchedPermit, schedPermit)
	on(trace.SchedBind, func(b *Builder, e *trace.Event, p *trace.Decision) {
		if p.Message == "" {
			b.s.Scheduler.Bound++
			b.second(e).Bound++
			b.s.Scheduler.pods.delete(p.Pod)
		}
		if c := b.cycle(e, p.Pod); c != nil {
			c.Bind, c.Bound, c.BoundAt = p, e.ID, e.At
		}
	})
}

// preEnqueue is the extension point before a pod is in a queue.
const preEnqueue = "PreEnqueue"

// gate remembers which plugin keeps a pod out of the active queue; one that all let pass has a note of none.
func gate(b *Builder, p *trace.ExtensionPoint) {
	by, why := "", ""
	if p.Note != "" && len(p.Plugins) == 1 {
		by, why = p.Plugins[0], p.Note
	}
	if by == "" && b.s.Scheduler.Pod(p.Pod) == nil {
		return
	}
	x := edit(b, b.s.Scheduler.pods, p.Pod)
	x.Gate, x.GatedBy = why, by
}

func schedQueue(b *Builder, e *trace.Event, p *trace.SchedQueueMove) {
	s := &b.s.Scheduler
	in := inPod(e.Lane)
	if in == "" {
		s.Active, s.Backoff, s.Unschedulable = p.Active, p.Backoff, p.Unschedulable
	}
	if p.To == "" {
		s.pods.delete(p.Pod)
		return
	}
	x := edit(b, s.pods, p.Pod)
	if x.Pod == "" {
		x.Came = e.At
	}
	x.Pod, x.In, x.Queue, x.Cause, x.Attempts, x.Since, x.Event, x.Permit = p.Pod, in, p.To, p.Event, p.Attempts, e.At, e.ID, nil
	x.Stay, x.StayEvent = nil, trace.ID{}
	x.Moves = append(x.Moves[:len(x.Moves):len(x.Moves)], QueueMove{p, e.ID})
	x.Moves = x.Moves[max(0, len(x.Moves)-maxMoves):]
}

// schedPermit has a pod that waits at Permit be among those of the queues, where people look for it.
func schedPermit(b *Builder, e *trace.Event, p *trace.PermitWait) {
	s := &b.s.Scheduler
	c := b.cycle(e, p.Pod)
	if c != nil {
		c.Permit, c.Permitted = p, e.ID
	}
	if len(p.Pending) == 0 {
		s.pods.delete(p.Pod)
		return
	}
	x := edit(b, s.pods, p.Pod)
	if x.Pod == "" {
		x.Came, x.Since = e.At, e.At
		if c != nil {
			x.Attempts = c.Attempt
		}
	}
	x.Pod, x.In, x.Queue, x.Event, x.Permit = p.Pod, inPod(e.Lane), "permit", e.ID, p
}

func schedStay(b *Builder, e *trace.Event, p *trace.SchedQueueStay) {
	if b.s.Scheduler.Pod(p.Pod) == nil {
		return
	}
	x := edit(b, b.s.Scheduler.pods, p.Pod)
	x.Stay, x.StayEvent = p, e.ID
}

func schedCycle(b *Builder, e *trace.Event, p *trace.SchedCycleStart) {
	s := &b.s.Scheduler
	s.Cycles++
	queued := e.At
	var moves []QueueMove
	if x := s.Pod(p.Pod); x != nil {
		queued, moves = x.Came, x.Moves
	}
	s.pods.delete(p.Pod)
	in, configured, by := inPod(e.Lane), s.Configured, s.ConfiguredBy
	if in != "" {
		configured, by = nil, trace.ID{}
		if o := s.Other(in); o != nil {
			configured, by = o.Configured, o.ConfiguredBy
		}
	}
	s.cycles.set(s.Cycles, &Cycle{
		gen: gen{b.gen}, Number: s.Cycles, Pod: p.Pod, In: in, Attempt: p.Attempt, NodeCount: p.Nodes,
		Priority: p.Priority, Queued: queued, Start: e.ID, At: e.At,
		Moves: moves, ProfileName: profileName(p), configured: configured, ConfiguredBy: by,
	})
	s.cycles.trim(maxCycles)
}

// schedulerEnded forgets a scheduler whose container has ended, and what it kept in memory.
func (b *Builder) schedulerEnded(e *trace.Event, pod string) {
	s := &b.s.Scheduler
	if _, ran := s.others.delete(pod); !ran {
		return
	}
	for key, p := range entries(s.pods) {
		if p.In == pod {
			s.pods.delete(key)
		}
	}
	b.workersDied(e, trace.Lane{Component: trace.CompPod, Instance: pod}.String())
}

// schedulersOff forgets those on a node that has lost its power, whose containers end without a word.
func (b *Builder) schedulersOff(e *trace.Event, p *trace.Fault) {
	node, ok := strings.CutPrefix(p.Target, "node/")
	if !ok || p.Fault != "stop" {
		return
	}
	for pod := range entries(b.s.Scheduler.others) {
		namespace, name, _ := strings.Cut(pod, "/")
		if o := b.s.Object("pods", namespace, name); o != nil {
			if is, ok := o.Value.(*corev1.Pod); ok && is.Spec.NodeName == node {
				b.schedulerEnded(e, pod)
			}
		}
	}
}

// cycle is a scheduler's newest cycle of the pod, ready to be changed. Binding runs
// beside the next cycles, so it need not be the newest of all.
func (b *Builder) cycle(e *trace.Event, pod string) *Cycle {
	in := inPod(e.Lane)
	var c *Cycle
	b.s.Scheduler.cycles.back(func(_ uint64, x *Cycle) bool {
		if x.Pod == pod && x.In == in {
			c = x
		}
		return c == nil
	})
	if c == nil {
		return nil
	}
	return edit(b, b.s.Scheduler.cycles, c.Number)
}
