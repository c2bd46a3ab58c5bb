package narrate

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// A cluster comes up faster than its sentences can be read. Once it is ready, the line tells who leads and that the control plane is up.
func TestWhatIsOverGivesWay(t *testing.T) {
	member := func(kind trace.Kind, seq uint32, name, role string, term uint64) *trace.Event {
		return &trace.Event{
			ID: trace.ID{Sub: seq}, Kind: kind, Lane: trace.Lane{Component: trace.CompMember, Instance: name},
			Payload: &trace.MemberState{Member: name, Role: role, Term: term},
		}
	}
	events := []*trace.Event{
		member(trace.MemberUp, 1, "a", "follower", 0), member(trace.MemberUp, 2, "b", "follower", 0), member(trace.MemberUp, 3, "c", "follower", 0),
		member(trace.MemberRole, 4, "a", "candidate", 1), member(trace.MemberRole, 5, "a", "leader", 2),
	}
	var teller Teller
	b := view.NewBuilder()
	for _, e := range events {
		b.Apply(e)
	}
	teller.Catch(events, b.Live(), 1)
	if at := teller.Line().Text; at != view.Explain(events[0]) {
		t.Errorf("it begins with %q", at)
	}
	teller.Catch([]*trace.Event{{ID: trace.ID{Seq: 1}, Kind: trace.Ready}}, b.Live(), 1)
	var told []string
	for range 3 {
		teller.Tick(reading)
		told = append(told, teller.Line().Text)
	}
	want := []string{"member a has a majority of the votes and leads term 2", "the control plane is up and every node is Ready"}
	if told[0] != want[0] || told[1] != want[1] || teller.Waits() {
		t.Errorf("then it tells %q, not %q", told, want)
	}
}
