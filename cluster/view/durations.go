package view

import (
	"cmp"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Span is how long something took: from one event to another of the same request,
// cycle, run or pod, in virtual time. What computes takes none but what is modelled, so there are no
// spans of plugins: one cycle's run at one instant.
type Span struct {
	What     string
	From, To time.Duration
	Event    trace.ID // with which it ended
}

// Took is how long.
func (s Span) Took() time.Duration { return s.To - s.From }

// Longest is the span that took longest, the first of several; false where none took
// any time.
func Longest(spans []Span) (Span, bool) {
	if len(spans) == 0 {
		return Span{}, false
	}
	s := slices.MaxFunc(spans, func(a, b Span) int { return cmp.Compare(a.Took(), b.Took()) })
	return s, s.Took() > 0
}

// Elapsed is how much time is within at least one of the spans: a call that another makes
// is in both.
func Elapsed(spans []Span) (sum time.Duration) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var end time.Duration
	for _, s := range sorted {
		if from := max(s.From, end); s.To > from {
			sum += s.To - from
		}
		end = max(end, s.To)
	}
	return sum
}

// Spans is what a request's stages took, one for each run of [Request.Stages], and the
// answer: each from the end of what was before it; the event of a write comes when it is sent to the store, so the time until the store has answered belongs to
// that stage too. The stages that look at the request's head alone have one modelled
// time, which is the first one's, and so have those of admission.
func (r *Request) Spans() []Span {
	spans := make([]Span, 0, len(r.Stages)+1)
	at := r.At
	for i, run := range r.Stages {
		to := run.At
		if run.Stage.Stage == trace.StageStorage && run.Verdict == "pass" && r.Request != nil && !r.reads() {
			switch {
			case i+1 < len(r.Stages):
				to = r.Stages[i+1].At
			case r.Done:
				to = r.At + r.Took
			}
		}
		spans = append(spans, Span{run.Stage.Stage, at, to, run.Event})
		at = to
	}
	if r.Done {
		spans = append(spans, Span{"answer", at, r.At + r.Took, r.Answered})
	}
	return spans
}

// Spans is what a scheduling cycle took: the time before it in the queues, the cycle
// itself, and the binding beside the next cycles.
func (c *Cycle) Spans() []Span {
	spans := []Span{{"in the queues", c.Queued, c.At, c.Start}}
	if c.Decision == nil {
		return spans
	}
	spans = append(spans, Span{"cycle", c.At, c.DecidedAt, c.Decided})
	if c.Bind != nil {
		spans = append(spans, Span{"binding", c.DecidedAt, c.BoundAt, c.Bound})
	}
	return spans
}

// PodSpans is what took time of a pod, from the scheduler's queues to the last thing its
// kubelet did, oldest first; what took none is left out.
func (s *State) PodSpans(pod string) []Span {
	var spans []Span
	for _, c := range s.Scheduler.RecentCycles() {
		if c.Pod == pod {
			spans = append(spans, c.Spans()...)
		}
	}
	for _, n := range s.Nodes() {
		p := n.Pod(pod)
		if p == nil {
			continue
		}
		for _, st := range p.Steps() {
			what, from, to := st.What, st.At-st.Took, st.At
			if st.Container != "" {
				what += " " + st.Container
			}
			if st.Kind == trace.RestartBackoff { // told when it begins
				from, to = st.At, st.At+st.Took
			}
			spans = append(spans, Span{what, from, to, st.Event})
		}
	}
	spans = slices.DeleteFunc(spans, func(s Span) bool { return s.Took() <= 0 })
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return spans
}

// RunsOver are the last finished runs of controllers over a key, oldest first.
func (s *State) RunsOver(key string) []*ReconcileRun {
	var runs []*ReconcileRun
	for _, c := range s.Controllers() {
		for _, r := range c.Recent() {
			if r.Key == key {
				runs = append(runs, r)
			}
		}
	}
	slices.SortStableFunc(runs, func(a, b *ReconcileRun) int { return a.End.Compare(b.End) })
	return runs
}

// Took is how long a finished run took.
func (r *ReconcileRun) Took() time.Duration { return r.EndAt - r.At }

// RequestOf is the number of the request that an event is about, 0 if it is about none.
func RequestOf(e *trace.Event) uint64 {
	if e == nil {
		return 0
	}
	switch p := e.Payload.(type) {
	case *trace.Request:
		return p.Request
	case *trace.Stage:
		return p.Request
	case *trace.Response:
		return p.Request
	}
	return 0
}
