package verbs

import (
	"fmt"
	"io"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// How much of what took time is printed, the newest: mostSpans at most, and of the runs of controllers
// over an object mostRuns, unless all is asked for.
const (
	mostSpans = 16
	mostRuns  = 5
)

// writeChanges writes, of a pod that fits nowhere, what would have to change on each node,
// the smallest change first.
func writeChanges(w io.Writer, s *view.State, o *view.Object) {
	if o.Resource != "pods" {
		return
	}
	changes := s.Scheduler.Changes(o.Ref.Key())
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(w, "  what would have to change, the smallest change first (the filters were asked again):")
	for i := range changes {
		fmt.Fprintf(w, "    %s: %s\n", changes[i].Node, view.WouldFit(&changes[i]))
	}
}

// writeRoom writes, of a pod that room is made for, on which nodes that was possible, who would
// have to go, and why it is the node that it is.
func writeRoom(w io.Writer, s *view.State, o *view.Object) {
	if o.Resource != "pods" {
		return
	}
	d := s.Scheduler.Room(o.Ref.Key())
	if d == nil {
		return
	}
	fmt.Fprintf(w, "  room is made on %s (%s); it could be made by evicting\n", d.Nominated, d.Because)
	for i := range d.Candidates {
		fmt.Fprintf(w, "    on %s: %s\n", d.Candidates[i].Node, view.WouldGo(&d.Candidates[i]))
	}
}

// writeTook writes what took time on an object's way: of a pod queues, cycle, binding and its
// kubelet's calls; of others the last runs of controllers that had something to do over it.
func writeTook(w io.Writer, s *view.State, o *view.Object, full bool) {
	if o.Resource == "pods" {
		writeSpans(w, s.PodSpans(o.Ref.Key()), mostSpans, "of its way took (virtual time; the scheduler's plugins take none)")
		return
	}
	var spans []view.Span
	idle := 0
	for _, r := range s.RunsOver(o.Ref.Key()) {
		if len(r.Actions) == 0 && r.Error == "" && !full {
			idle++
			continue
		}
		what := "run of " + r.Controller
		if r.Waited > 0 {
			what += fmt.Sprintf(", after %.3fs in its queue", r.Waited.Seconds())
		}
		if r.Retries > 0 {
			what += fmt.Sprintf(", retry %d", r.Retries)
		}
		if r.Error != "" {
			what += ": " + r.Error
		}
		spans = append(spans, view.Span{What: what, From: r.At, To: r.EndAt, Event: r.End})
	}
	title, most := "controllers ran over it (virtual time)", mostRuns
	if full {
		most = mostSpans
	}
	if idle > 0 {
		title = fmt.Sprintf("controllers ran over it (virtual time; %d of the latest runs had nothing to do)", idle)
	}
	writeSpans(w, spans, most, title)
}

// writeStages writes what the stages of a request took, if the event is one of a request.
func writeStages(w io.Writer, s *view.State, e *trace.Event) {
	n := view.RequestOf(e)
	if n == 0 {
		return
	}
	if r := s.Request(n); r != nil {
		writeSpans(w, r.Spans(), mostSpans, fmt.Sprintf("the stages of request %d took (virtual time)", n))
	}
}

func writeSpans(w io.Writer, spans []view.Span, most int, title string) {
	if len(spans) == 0 {
		return
	}
	fmt.Fprintf(w, "  what %s, %.4fs in all:\n", title, view.Elapsed(spans).Seconds())
	if left := len(spans) - most; left > 0 {
		fmt.Fprintf(w, "    … %d earlier\n", left)
		spans = spans[left:]
	}
	long, _ := view.Longest(spans)
	for _, s := range spans {
		mark := ""
		if s == long && s.Took() > 0 && len(spans) > 1 {
			mark = "  ← the longest"
		}
		took := "-"
		if s.Took() > 0 {
			took = fmt.Sprintf("%.5fs", s.Took().Seconds())
		}
		fmt.Fprintf(w, "    %12s  #%s %s%s\n", took, s.Event, s.What, mark)
	}
}
