package view_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// The node that came second, and what it lost by.
func TestRunnerUp(t *testing.T) {
	scored := func(node string, fit, balanced int64) *trace.NodeScore {
		return &trace.NodeScore{Pod: "demo/a", Node: node, Total: fit + balanced, Scores: []trace.PluginScore{
			{Plugin: "NodeResourcesFit", Weight: 1, Weighted: fit}, {Plugin: "NodeResourcesBalancedAllocation", Weight: 3, Weighted: balanced},
		}}
	}
	for _, c := range []struct {
		scores []*trace.NodeScore
		d      trace.Decision
		want   string
	}{
		{
			[]*trace.NodeScore{scored("n1", 90, 240), scored("n2", 93, 250), scored("n3", 10, 10)},
			trace.Decision{Node: "n2", Total: 343, Feasible: 3},
			"n1 came second with 330: NodeResourcesBalancedAllocation gave it 10 less and NodeResourcesFit 3 less",
		},
		{
			[]*trace.NodeScore{scored("n1", 95, 230), scored("n2", 93, 250)},
			trace.Decision{Node: "n2", Total: 343, Feasible: 40},
			"n1 came second with 325: NodeResourcesBalancedAllocation gave it 20 less and NodeResourcesFit 2 more; 38 nodes more that fit are not in the trace",
		},
		{
			[]*trace.NodeScore{scored("n1", 90, 250), scored("n2", 90, 250), scored("n3", 1, 1)},
			trace.Decision{Node: "n2", Total: 340, Feasible: 3, TiedWith: []string{"n1"}},
			"The seed decided the draw: another seed could have chosen n1",
		},
		{nil, trace.Decision{Node: "n2", Feasible: 1, Skipped: true}, ""},
		{nil, trace.Decision{Message: "0/2 nodes are available"}, ""},
	} {
		c.d.Pod = "demo/a"
		events := []*trace.Event{because(trace.SchedCycle, &trace.SchedCycleStart{Pod: "demo/a"})}
		for _, s := range c.scores {
			events = append(events, because(trace.SchedScore, s))
		}
		s := tell(append(events, because(trace.SchedDecision, &c.d))...).h.Latest()
		cycle := s.Scheduler.CycleOf("demo/a")
		if got := cycle.RunnerUp(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if got, want := cycle.Possible(), int64(400); got != want && len(c.scores) > 0 {
			t.Errorf("%d points are possible, want %d", got, want)
		}
		if strings.HasSuffix(cycle.RunnerUp(), ".") {
			t.Error("a clause ends with a full stop")
		}
	}
}
