package scheduler

import (
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "scores", W: 100, H: 24, Kind: trace.SchedDecision, N: 1},
		tuitest.Case{Name: "pending", W: 76, H: 24, Moves: []string{keymap.Down, keymap.Right}},
		tuitest.Case{Name: "narrow", W: 40, H: 20, Kind: trace.SchedDecision, N: 2},
	)
}

// A pod of high priority for which room is made: the candidates, their victims with the budgets
// that do not allow them to go, and why it is this node.
func TestRoomThatIsMade(t *testing.T) {
	tape := tuitest.NewTape()
	ref := tuitest.Ref("Pod", "demo", "urgent")
	cycle := tape.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/urgent", Attempt: 1, Nodes: 3, Priority: 1000})
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		tape.Emit(trace.CompScheduler, "", trace.SchedFilter, ref, &trace.FilterVerdict{
			Pod: "demo/urgent", Node: n, Passed: []string{"NodeName", "TaintToleration"}, By: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu"},
		}, cycle)
	}
	tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{
		Pod: "demo/urgent", Evaluated: 3, Nominated: "node-2", Victims: []string{"demo/other", "demo/batch-7"},
		Message: "0/3 nodes are available: 3 Insufficient cpu. preemption: found a potential placement for pod on node node-2, preempting 2 victims",
		Because: "the fewest victims against their PodDisruptionBudgets",
		Candidates: []trace.PreemptionCandidate{
			{Node: "node-2", Victims: []trace.Victim{{Pod: "demo/other", Priority: 50}, {Pod: "demo/batch-7", Priority: 1}}},
			{Node: "node-1", Victims: []trace.Victim{{Pod: "demo/web-1", Priority: 1, Budget: "web"}}},
			{Node: "node-3", Victims: []trace.Victim{{Pod: "demo/web-2", Priority: 1, Budget: "web"}, {Pod: "demo/batch-9", Priority: 1}}},
		},
	}, cycle)
	tuitest.FramesOf(t, tape, pane.Make(New),
		tuitest.Case{Name: "room", W: 100, H: 24},
		tuitest.Case{Name: "room-narrow", W: 44, H: 24},
	)
}

// Two schedulers: the control plane's, and one in a pod, whose cycles and waiting pods name it.
func TestTwoSchedulers(t *testing.T) {
	tape := tuitest.NewTape()
	const in = "kube-system/my-scheduler-7d9f-x2k4p"
	profile := []trace.SchedProfile{{Name: "my-scheduler"}}
	tape.Emit(trace.CompPod, in, trace.SchedConfigured, tuitest.Ref("Pod", "kube-system", "my-scheduler-7d9f-x2k4p"), &trace.SchedConfiguration{File: true, Profiles: profile})
	for i, pod := range []string{"web-1", "mine"} {
		comp, instance := trace.CompScheduler, ""
		if i == 1 {
			comp, instance = trace.CompPod, in
		}
		ref := tuitest.Ref("Pod", "demo", pod)
		cycle := tape.Emit(comp, instance, trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/" + pod, Attempt: 1, Nodes: 1, Profile: []string{"", "my-scheduler"}[i]})
		tape.Emit(comp, instance, trace.SchedFilter, ref, &trace.FilterVerdict{Pod: "demo/" + pod, Node: "node-1", Passed: []string{"NodeName"}}, cycle)
		tape.Emit(comp, instance, trace.SchedDecision, ref, &trace.Decision{Pod: "demo/" + pod, Node: "node-1", Skipped: true, Evaluated: 1, Feasible: 1}, cycle)
	}
	tape.Emit(trace.CompPod, in, trace.SchedQueue, tuitest.Ref("Pod", "demo", "large"), &trace.SchedQueueMove{Pod: "demo/large", To: "unschedulable", Event: "ScheduleAttemptFailure", Attempts: 1, Unschedulable: 1})
	tape.Emit(trace.CompScheduler, "", trace.SchedQueue, tuitest.Ref("Pod", "demo", "web-2"), &trace.SchedQueueMove{Pod: "demo/web-2", To: "active", Event: "EventUnscheduledPodAdd", Active: 1})
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "two", W: 100, H: 24}, tuitest.Case{Name: "two-narrow", W: 44, H: 24})
}

// A pod that waits at Permit for two plugins, beside one that waits to be tried.
func TestPodsThatWaitAtPermit(t *testing.T) {
	tape := tuitest.NewTape()
	ref := tuitest.Ref("Pod", "demo", "web")
	cycle := tape.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/web", Attempt: 1, Nodes: 1})
	tape.Emit(trace.CompScheduler, "", trace.SchedFilter, ref, &trace.FilterVerdict{Pod: "demo/web", Node: "node-1", Passed: []string{"NodeName"}}, cycle)
	decided := tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/web", Node: "node-1", Evaluated: 1, Feasible: 1, Skipped: true}, cycle)
	tape.Emit(trace.CompScheduler, "", trace.SchedPermit, ref, &trace.PermitWait{
		Pod: "demo/web", Node: "node-1", State: trace.PermitWaits,
		Pending: []trace.PermitPlugin{{Plugin: "WaitForApproval", Until: 2 * time.Minute}, {Plugin: "Gang", Until: 30 * time.Second}},
	}, decided)
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "permit", W: 100, H: 20})
}
