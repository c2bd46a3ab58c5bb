package scheduler

import (
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// A pod that waits: the plugins that rejected it, an event that none of them takes for help, and
// then the one that brings it back.
func TestMoves(t *testing.T) {
	tape := tuitest.NewTape()
	ref := tuitest.Ref("Pod", "demo", "big")
	cycle := func(n int) trace.ID {
		return tape.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/big", Attempt: n, Nodes: 3})
	}
	c := cycle(1)
	for _, n := range []string{"node-1", "node-2"} {
		tape.Emit(trace.CompScheduler, "", trace.SchedFilter, ref, &trace.FilterVerdict{
			Pod: "demo/big", Node: n, Passed: []string{"NodeName", "TaintToleration"}, By: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu"},
		}, c)
	}
	d := tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/big", Evaluated: 2, Message: "0/2 nodes are available: 2 Insufficient cpu."}, c)
	tape.Emit(trace.CompScheduler, "", trace.SchedQueue, ref, &trace.SchedQueueMove{
		Pod: "demo/big", To: "unschedulable", Event: "ScheduleAttemptFailure", Attempts: 1, Unschedulable: 1, Rejected: []string{"NodeResourcesFit"},
	}, d)
	tape.After(time.Second)
	tape.Emit(trace.CompScheduler, "", trace.SchedStay, ref, &trace.SchedQueueStay{Pod: "demo/big", Event: "NodeAdd", About: "node-3", Asked: []string{"NodeResourcesFit"}}, d)
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "stays", W: 80, H: 16}, tuitest.Case{Name: "stays-narrow", W: 44, H: 20})
	tape.After(time.Second)
	tape.Emit(trace.CompScheduler, "", trace.SchedQueue, ref, &trace.SchedQueueMove{
		Pod: "demo/big", From: "unschedulable", To: "active", Event: "NodeAdd", About: "node-4", Plugin: "NodeResourcesFit", Attempts: 1, Active: 1,
	}, d)
	c = cycle(2)
	tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/big", Node: "node-4", Evaluated: 3, Feasible: 1, Skipped: true}, c)
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "moved", W: 80, H: 16})
}
