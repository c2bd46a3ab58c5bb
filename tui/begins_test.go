package tui

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// A recording begins before all members are up, and before run.start: the header does not make a quorum of those that are.
func TestTheQuorumWhereARecordingBegins(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Members("a")
	d := exploreTape(t, tape, 80, 24)
	d.hides("quorum").hides("no leader")
	tape.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Seed: 7, Store: "raft", Members: 3, Nodes: 3})
	exploreTape(t, tape, 80, 24).shows("●○○ 1/3 NO quorum")
	tape.Members("b", "c")
	exploreTape(t, tape, 80, 24).shows("●●● 3/3 quorum")
}
