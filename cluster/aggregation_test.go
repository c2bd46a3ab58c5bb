package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
)

// An aggregated API as an administrator meets it: metrics-server is installed, kubectl
// top shows what it says, its pod goes away, and a namespace that is deleted meanwhile
// stays until it is back. testdata/aggregation.txt is what is typed and what is seen.
// Then, from the trace: what a request that is sent on passes, and that what is said of
// the namespace leads back to the command that took metrics-server away.
func TestAggregatedAPI(t *testing.T) {
	t.Parallel()
	c := boot(t, cluster.Config{Seed: 5, Bare: true})
	golden(t, "aggregation", typed(t, c, "testdata/aggregation.txt"))

	var stages []string
	var asked uint64
	var stuck, scaled *trace.Event
	for _, e := range after(t, c, trace.ID{}) {
		switch p := e.Payload.(type) {
		case *trace.Stage:
			if p.Stage == trace.StageAggregator && p.Verdict == "pass" && asked == 0 {
				asked = p.Request
			}
		case *trace.Command:
			if e.Kind == trace.CommandStart && scaled == nil && strings.Contains(p.Line, "scale deployment metrics-server") {
				scaled = e
			}
		case *trace.Action:
			if stuck == nil && p.Controller == "namespace-controller" && strings.Contains(p.Why, "Discovery failed") {
				stuck = e
			}
		}
	}
	for _, e := range after(t, c, trace.ID{}) {
		if p, ok := e.Payload.(*trace.Stage); ok && asked != 0 && p.Request == asked {
			stages = append(stages, p.Stage)
		}
	}
	want := []string{"authentication", "audit", "impersonation", "priority-and-fairness", "authorization", "aggregator"}
	if !slices.Equal(stages, want) {
		t.Errorf("a request for metrics passed %v, want %v", stages, want)
	}
	if stuck == nil || scaled == nil || !leadsTo(c.Trace(), stuck.ID, scaled.ID) {
		t.Errorf("what is said of the namespace (%v) does not lead back to the command (%v)", stuck, scaled)
	}
}

// leadsTo reports whether an event's causes, and theirs, come to another.
func leadsTo(s *trace.Stream, from, to trace.ID) bool {
	seen := map[trace.ID]bool{}
	next := []trace.ID{from}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if id == to {
			return true
		}
		e, _, ok := s.At(id)
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		next = append(next, e.Causes...)
	}
	return false
}
