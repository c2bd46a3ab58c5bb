package scheduler

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// Spread and affinity drawn: which pods of which domain count, and which domain is refused.
func TestDomains(t *testing.T) {
	tape := tuitest.NewTape()
	ref := tuitest.Ref("Pod", "demo", "web-4")
	c := tape.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/web-4", Attempt: 1, Nodes: 3})
	for _, v := range []trace.FilterVerdict{
		{Node: "node-1", By: "PodTopologySpread", Reasons: []string{"node(s) didn't match pod topology spread constraints"}},
		{Node: "node-2", Passed: []string{"PodTopologySpread"}, By: "InterPodAffinity", Reasons: []string{"node(s) didn't match pod anti-affinity rules"}},
		{Node: "node-3", Passed: []string{"PodTopologySpread", "InterPodAffinity"}},
	} {
		v.Pod, v.Code = "demo/web-4", "Unschedulable"
		tape.Emit(trace.CompScheduler, "", trace.SchedFilter, ref, &v, c)
	}
	web := []string{"demo/web-1", "demo/web-2"}
	tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{
		Pod: "demo/web-4", Node: "node-3", Evaluated: 3, Feasible: 1, Skipped: true, Unlisted: 2,
		Topology: []trace.TopologyConstraint{
			{Plugin: "PodTopologySpread", What: trace.TopologySpread, Hard: true, Key: "topology.kubernetes.io/zone", Selector: "app=web", Self: 1, MaxSkew: 1, Domains: []trace.TopologyDomain{
				{Value: "zone-a", Nodes: 1, Count: 2, Pods: web, Refused: true}, {Value: "zone-b", Nodes: 2, Chosen: true},
			}},
			{Plugin: "InterPodAffinity", What: trace.TopologyAway, Hard: true, Key: "kubernetes.io/hostname", Selector: "app=noisy", Domains: []trace.TopologyDomain{
				{Value: "node-1", Nodes: 1}, {Value: "node-2", Nodes: 1, Count: 12, Pods: []string{"demo/noisy-1", "demo/noisy-2"}, Refused: true}, {Value: "node-3", Nodes: 1, Chosen: true},
			}},
			{Plugin: "InterPodAffinity", What: trace.TopologyNear, Key: "topology.kubernetes.io/zone", Selector: "app=db", Weight: 50, More: 3, Domains: []trace.TopologyDomain{
				{Value: "zone-a", Nodes: 1}, {Value: "zone-b", Nodes: 2, Count: 1, Pods: []string{"demo/db-0"}, Sum: 50, Chosen: true},
			}},
		},
	}, c)
	tuitest.FramesOf(t, tape, show("domains"), tuitest.Case{Name: "domains", W: 80, H: 24}, tuitest.Case{Name: "domains-narrow", W: 44, H: 24})
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "constraints", W: 80, H: 16})
	tuitest.Frames(t, show("domains"), tuitest.Case{Name: "domains-none", W: 80, H: 10})
}
