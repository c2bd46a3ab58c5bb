package view

import (
	"kviz/cluster/trace"
)

// maxLinks bounds the answer to one question.
const maxLinks = 512

// Link is one event in the answer to "why?": the event asked about first, then
// its causes, each right after the event it caused.
type Link struct {
	ID    trace.ID
	Event *trace.Event // nil when the event is not kept any more
	Depth int          // 0 for the event asked about
	From  int          // index of the link it is a cause of; -1 for the first
	Main  bool         // on the way to what started it all
	Minor bool         // plumbing (a pipeline stage, a cache, a queue move) that a short answer leaves out
	Again bool         // its own causes are listed at an earlier link
}

// Why lists the causes of an event, the causes of those, and so on, down to
// inputs: console commands, faults, timers. The way marked Main leads to the
// input that started it, and comes first at every fork.
func (h *History) Why(id trace.ID) []Link {
	w := &asking{h: h, main: h.mainWay(id), seen: map[trace.ID]bool{}}
	w.ask(id, 0, -1)
	return w.links
}

// Chain is the short answer to "why?": the main way of [History.Why] without
// its plumbing, the event asked about first.
func (h *History) Chain(id trace.ID) []Link {
	var out []Link
	for i, l := range h.Why(id) {
		if l.Main && (i == 0 || !l.Minor) {
			out = append(out, l)
		}
	}
	return out
}

type asking struct {
	h     *History
	main  map[trace.ID]bool
	seen  map[trace.ID]bool
	links []Link
}

func (w *asking) ask(id trace.ID, depth, from int) {
	if len(w.links) >= maxLinks && !w.main[id] {
		return
	}
	l := Link{ID: id, Event: w.h.Event(id), Depth: depth, From: from, Again: w.seen[id]}
	l.Main = w.main[id] && !l.Again
	if l.Event != nil {
		l.Minor = minor[l.Event.Kind]
	}
	w.links = append(w.links, l)
	if l.Again || l.Event == nil {
		return
	}
	w.seen[id] = true
	at := len(w.links) - 1
	for _, first := range []bool{true, false} {
		for _, c := range l.Event.Causes {
			if (l.Main && w.main[c]) == first {
				w.ask(c, depth+1, at)
			}
		}
	}
}

// maxAsked bounds how many events a search for the beginning looks at.
const maxAsked = 20_000

// mainWay is the shortest way from an event to what started it: a command if
// there is one among its causes, else a fault, else the oldest event. Of
// several commands the last is taken: it is the news.
func (h *History) mainWay(id trace.ID) map[trace.ID]bool {
	type step struct {
		id   trace.ID
		from int
	}
	steps := []step{{id, -1}}
	seen := map[trace.ID]bool{id: true}
	best, bestRank := 0, 0
	for i := 0; i < len(steps) && i < maxAsked; i++ {
		e := h.Event(steps[i].id)
		if e == nil {
			continue
		}
		r := rank(e)
		older := steps[i].id.Compare(steps[best].id) < 0
		if r > bestRank || r == bestRank && older == (r == 1) {
			best, bestRank = i, r
		}
		for _, c := range e.Causes {
			if !seen[c] {
				seen[c] = true
				steps = append(steps, step{c, i})
			}
		}
	}
	way := map[trace.ID]bool{}
	for i := best; i >= 0; i = steps[i].from {
		way[steps[i].id] = true
	}
	return way
}

func rank(e *trace.Event) int {
	switch e.Kind {
	case trace.CommandStart:
		return 3
	case trace.FaultInjected, trace.FaultHealed:
		return 2
	}
	return 1
}

// minor are the kinds that a short answer leaves out.
var minor = map[trace.Kind]bool{
	trace.RequestReceived: true,
	trace.RequestStage:    true,
	trace.RequestDone:     true,
	trace.WatchCacheEvent: true,
	trace.WatchDelivered:  true,
	trace.QueueAdd:        true,
	trace.QueueGet:        true,
	trace.QueueDone:       true,
	trace.QueueDelay:      true,
	trace.ReconcileStart:  true,
	trace.ReconcileEnd:    true,
	trace.SchedCycle:      true,
	trace.SchedPoint:      true,
	trace.SchedFilter:     true,
	trace.SchedScore:      true,
	trace.SchedQueue:      true,
	trace.PodWorker:       true,
}

// Followed lists what an event caused directly, oldest first (at most 1,000 of
// the newest).
func (h *History) Followed(id trace.ID) []trace.ID {
	_, pos, ok := h.stream.At(id)
	if !ok {
		return nil
	}
	h.mu.Lock()
	positions := h.links.of(pos, 1000)
	h.mu.Unlock()
	out := make([]trace.ID, 0, len(positions))
	for _, p := range positions {
		if e := h.stream.Get(p); e != nil {
			out = append(out, e.ID)
		}
	}
	return out
}

// WhyRule is the event that wrote a rule of a node, given as iptables-save
// prints it; the zero ID if there is no such rule.
func (s *State) WhyRule(node, rule string) trace.ID {
	n := s.Node(node)
	if n == nil {
		return trace.ID{}
	}
	r, _ := n.FindRule(rule)
	return r.Event
}

// WhyObject is the event that last wrote (or deleted) an object; the zero ID
// if it was never seen.
func (s *State) WhyObject(ref trace.Ref) trace.ID {
	if o := s.Find(ref); o != nil {
		return o.Changed
	}
	return trace.ID{}
}
