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
// input that started it.
func (h *History) Why(id trace.ID) []Link {
	w := &asking{h: h, seen: map[trace.ID]bool{}}
	w.ask(id, 0, -1)
	w.markMain()
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
	seen  map[trace.ID]bool
	links []Link
}

func (w *asking) ask(id trace.ID, depth, from int) {
	if len(w.links) >= maxLinks {
		return
	}
	l := Link{ID: id, Event: w.h.Event(id), Depth: depth, From: from, Again: w.seen[id]}
	if l.Event != nil {
		l.Minor = minor[l.Event.Kind]
	}
	w.links = append(w.links, l)
	if l.Again || l.Event == nil {
		return
	}
	w.seen[id] = true
	at := len(w.links) - 1
	for _, c := range l.Event.Causes {
		w.ask(c, depth+1, at)
	}
}

// markMain marks the way to the input: a command or a fault if there is one,
// else the oldest event. Of several, the one that came last, as it is the news.
func (w *asking) markMain() {
	best := 0
	for i, l := range w.links {
		if b := w.links[best]; rank(l) > rank(b) || rank(l) == rank(b) && rank(l) > 1 && l.ID.Compare(b.ID) > 0 ||
			rank(l) == rank(b) && rank(l) <= 1 && l.ID.Compare(b.ID) < 0 {
			best = i
		}
	}
	for i := best; i >= 0; i = w.links[i].From {
		w.links[i].Main = true
	}
}

func rank(l Link) int {
	if l.Event == nil {
		return 0
	}
	switch l.Event.Kind {
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
