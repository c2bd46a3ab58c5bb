package tui

import (
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// A crash, a cut, an election and a lost quorum are told before what else goes on, with what
// they mean; afterwards the cluster's news are told again, but not while nothing can be
// written.
func TestWhatNobodyShouldMissIsToldFirst(t *testing.T) {
	node := tuitest.Ref("Node", "", "node-1")
	tell := func(tape *tuitest.Tape) *driver {
		tape.Emit("node-lifecycle-controller", "", trace.NodeStatus, node, &trace.NodeReport{Node: "node-1", By: "kubelet", Ready: "True"})
		tape.Emit(trace.CompConsole, "", trace.CommandEnd, trace.Ref{}, &trace.Command{Line: "kviz fault crash member/a"})
		return exploreTape(t, tape, 120, 40).press("space")
	}
	begin := func() *tuitest.Tape { return tuitest.NewTape().Members("a", "b", "c").Elect("a").After(time.Minute) }
	for _, c := range []struct {
		name string
		tape *tuitest.Tape
		says []string
	}{
		{"crash", begin().Down("a", "killed"), []string{"member a is down: killed; nobody leads: whoever misses a leader for long enough stands for election"}},
		{"election", begin().Down("a", "killed").Elect("b"), []string{"member b has a majority of the votes and leads term 2"}},
		{"cut", cut(begin(), "member/c"), []string{"broken on purpose: cut member/c"}},
		{"quorum", begin().Down("a", "killed").Down("b", "killed"), []string{"member b is down: killed; no quorum (1 of 3 is up): nothing can be written, pods run on"}},
		{"quorum, later", begin().Down("a", "killed").Down("b", "killed").After(time.Minute), []string{"member b is down: killed; no quorum"}},
		{"later", begin().Down("a", "killed").Elect("b").After(time.Minute), []string{"node-1"}},
	} {
		t.Run(c.name, func(t *testing.T) { tell(c.tape).shows(c.says...) })
	}
}

func cut(tape *tuitest.Tape, target string) *tuitest.Tape {
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "cut", Target: target})
	return tape
}
