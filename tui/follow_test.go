package tui

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/tuitest"
)

// beforeApply is how much of the story has happened when kubectl apply is typed in it.
func beforeApply(t *testing.T) int {
	story := tuitest.Story().Stream
	for pos := uint64(0); pos < story.Len(); pos++ {
		if story.Get(pos).Kind == trace.CommandStart {
			return int(pos)
		}
	}
	t.Fatal("the story has no command")
	return 0
}

// After a command of the person's own a step goes along what comes of it; the key line
// says so, and another choice of a step leaves it until it is chosen again.
func TestStepsFollowTheNewestCommand(t *testing.T) {
	d := explore(t, 120, 40, beforeApply(t))
	d.shows("step stage")
	d.m.arm()
	d.press("n") // the command is the next decision of the story
	d.look()
	d.shows("step path", "goes along what comes of #", "kubectl apply -f hello.yaml")
	for range 4 {
		d.press(".")
		d.look()
		e := d.m.told()
		way := d.m.history().Chain(e.ID)
		if first := way[len(way)-1].Event; first == nil || first.Kind != trace.CommandStart {
			t.Errorf("a step along the command ended at #%s, which did not come of it: %s", e.ID, view.Explain(e))
		}
		if view.Routine(e) || e.Kind == trace.RequestStage {
			t.Errorf("a step along the command ended at %s", e.Kind)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(d.c.Asked), func(s string) bool { return !strings.HasPrefix(s, "step of ") })); n != 4 {
		t.Errorf("4 steps were %d along the command: %v", n, d.c.Asked)
	}
	d.m.perform(action.Grain(trace.GrainQueue))
	d.m.screen.dirty = true // as after a key
	d.look()
	d.shows("step queue")
	d.press("s")
	d.shows("path", "the next thing that comes of: kubectl apply -f hello.yaml")
	d.press("esc")
	d.m.perform(action.Follow{})
	d.m.screen.dirty = true
	d.look()
	d.shows("step path")
}

// The clock of kviz, raft's chatter, renewed Leases, bookmarks and the lending of seats are neither what the explanation
// line tells nor, the clock, rows of the Events pane; a filter shows them.
func TestTheClockIsNoNews(t *testing.T) {
	d := explore(t, 120, 40, -1)
	stream := d.c.Trace()
	news := d.m.told()
	last := stream.Last()
	lease := trace.Ref{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "kube-system", Name: "kube-scheduler"}
	stream.Append(&trace.Event{
		ID: trace.ID{Seq: last.ID.Seq + 1}, At: last.At, Lane: trace.Lane{Component: trace.CompScheduler}, Kind: trace.WatchDelivered, Object: lease,
		Payload: &trace.WatchEvent{Type: "MODIFIED"},
	})
	stream.Append(&trace.Event{
		ID: trace.ID{Seq: last.ID.Seq + 2}, At: last.At, Lane: trace.Lane{Component: trace.CompKCM}, Kind: trace.WatchDelivered,
		Payload: &trace.WatchEvent{Client: trace.CompKCM, Type: "BOOKMARK", Revision: 122},
	})
	stream.Append(&trace.Event{
		ID: trace.ID{Seq: last.ID.Seq + 3}, At: last.At, Lane: trace.Lane{Component: trace.CompAPIServer}, Kind: trace.FlowConfig,
		Payload: &trace.FlowLimits{Total: 600, Why: trace.FlowByDemand},
	})
	stream.Append(&trace.Event{
		ID: trace.ID{Seq: last.ID.Seq + 3, Sub: 1}, At: last.At, Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.ClockChanged,
		Payload: &trace.Clock{Speed: 10},
	})
	d.look()
	if got := d.m.told(); got.ID != news.ID {
		t.Errorf("told is #%s %s, want the news #%s %s", got.ID, got.Kind, news.ID, news.Kind)
	}
	d.press("4", "z")
	d.hides("runs at the speed")
	d.hides("runs at 10x")
	d.press("/").typed("clock.change").press("enter")
	d.shows("at 10x")
}

// In the past a step goes along what came of the newest command or fault before: to things
// that came of it and to nothing else, each of its stations once; n to its decisions, and
// behind its end to the next command.
func TestStepsInThePastFollowTheCommandBefore(t *testing.T) {
	d := explore(t, 120, 40, -1)
	stream := d.m.history().Stream()
	apply := stream.Get(uint64(beforeApply(t)))
	want := view.NewPath(apply.ID)
	for pos := uint64(0); pos < stream.Len(); pos++ {
		want.Take(stream.Get(pos))
	}
	d.m.perform(action.Goto{ID: apply.ID})
	d.m.screen.dirty = true
	d.look()
	d.shows("step path")
	d.m.perform(action.Grain(trace.GrainCommit))
	d.m.screen.dirty = true
	d.look()
	d.shows("step commit").press("s").shows("the next thing that comes of: kubectl apply -f hello.yaml").press("home", "enter")
	var went []trace.ID
	for range want.Stations() {
		d.press(".")
		went = append(went, d.m.travel.State().Last)
	}
	if !slices.Equal(went, want.Stations()) {
		t.Errorf("the steps went to %v, want %v", went, want.Stations())
	}
	d.press(".")
	if d.m.behind().ID == apply.ID && d.m.travel.State().Last != went[len(went)-1] {
		t.Errorf("behind the end of the path a step goes to #%s", d.m.travel.State().Last)
	}

	d.m.perform(action.Goto{ID: apply.ID})
	d.press("n")
	first := d.m.travel.State().Event
	if first.Grain() < trace.GrainDecision || !slices.Contains(want.Stations(), first.ID) {
		t.Errorf("n went to #%s %s, no decision on the path", first.ID, first.Kind)
	}
	d.m.perform(action.Goto{ID: went[2]})
	d.press(".")
	if got := d.m.travel.State().Last; got != went[3] {
		t.Errorf("from the third thing a step goes to #%s, want the fourth, #%s", got, went[3])
	}
}
