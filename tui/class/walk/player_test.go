package walk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// crashed is a run in which a member crashes at its end.
func crashed() (tape *tuitest.Tape, commit, crash trace.ID) {
	tape = tuitest.Calm(3, 3)
	commit = tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	crash = tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"})
	tape.Down("a", "crashed", crash)
	return tape, commit, crash
}

// walks begins a walk through a run.
func walks(t *testing.T, c lessons.Cluster, marks *walk.Marks, at string) (*walk.Player, *view.History) {
	t.Helper()
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	p := walk.NewPlayer(walk.Config{Title: "run.kvrun", Cluster: c, History: h, Marks: marks, Panes: panes.Names()})
	if err := p.Start(at); err != nil {
		t.Fatal(err)
	}
	return p, h
}

func does(t *testing.T, p *walk.Player, all ...string) {
	t.Helper()
	for _, what := range all {
		if err := p.Do(what); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func set(t *testing.T, m *walk.Marks, all ...walk.Mark) {
	t.Helper()
	for _, one := range all {
		if err := m.Set(one); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAWalkThroughARecording: from mark to mark and back, between them by events, with other panes; nothing runs in it.
func TestAWalkThroughARecording(t *testing.T) {
	tape, commit, crash := crashed()
	marks := walk.New(pictures)
	set(
		t, marks, walk.Mark{At: crash, Spots: []string{"store:member/a"}, Say: "The leader crashes.", Big: "CRASH", Note: "Wait a moment."},
		walk.Mark{At: commit, Show: "store/logs", Say: "A write is committed."}, walk.Mark{From: commit, At: crash, Show: "map"},
	)
	c := walk.NewRecording(tape.Stream)
	p, h := walks(t, c, marks, "")
	is := func(place, id, show, says string) *lessons.BeatLook {
		t.Helper()
		l := p.Look()
		if l.Place() != place || l.Beat.ID != id || l.Beat.Show != show || !strings.Contains(l.Beat.Before, says) || !l.Beat.Stopped {
			t.Errorf("it is %q, %s on %s: %q", l.Place(), l.Beat.ID, l.Beat.Show, l.Beat.Before)
		}
		return l.Beat
	}
	first := is("mark 1 of 3", "#"+commit.String(), "store/logs", "A write is committed.")
	if first.Event.ID != commit || !first.AtEnd {
		t.Errorf("it stands at %v", first.Event)
	}
	does(t, p, "next")
	b := is("mark 2 of 3", "#"+crash.String(), "store/logs", "The leader crashes.")
	if b.From != first.At || b.At <= b.From || b.AtEnd || b.Start.Last != commit || b.Version == first.Version || b.Most == 0 {
		t.Errorf("the way there is %d to %d, from #%s", b.From, b.At, b.Start.Last)
	}
	if n := p.Look().Notes; n != "Wait a moment." {
		t.Errorf("the notes are %q", n)
	}
	does(t, p, "next")
	b = is("mark 3 of 3", "#"+crash.String()+"/2", "map", "") // the same event, played from its own beginning on
	if h.At(b.From).Last != commit {
		t.Errorf("it is played from #%s on", h.At(b.From).Last)
	}
	if err := p.Do("next"); err == nil {
		t.Error("it goes on behind the last mark")
	}
	does(t, p, "event -1")
	is("after mark 1 of 3", "#"+commit.String(), "map", "")
	does(t, p, "pane 5")
	is("after mark 1 of 3", "#"+commit.String(), panes.Names()[4], "")
	does(t, p, "next")
	is("mark 2 of 3", "#"+crash.String(), "store/logs", "The leader crashes.")
	does(t, p, "back")
	if b := is("mark 1 of 3", "#"+commit.String(), "store/logs", "A write"); !b.AtEnd {
		t.Error("the way back is played")
	}
	if err := p.Do("back"); err == nil {
		t.Error("it goes back before the first mark")
	}
	for range 2 {
		does(t, p, "event 1")
	}
	if at := p.Look().Beat.Event.ID; at.Compare(commit) <= 0 {
		t.Errorf("after two events on it is at #%s", at)
	}
	for what, err := range map[string]error{"a command": p.Command("kubectl get pods"), "a pause": p.Do("pause")} {
		if !errors.Is(err, control.ErrRecording) {
			t.Errorf("%s is answered with %v", what, err)
		}
	}
	for range 10_000 {
		if err := p.Do("event 1"); err != nil {
			if p.Look().Beat.At != tape.Stream.Len() {
				t.Errorf("%v, at %d of %d", err, p.Look().Beat.At, tape.Stream.Len())
			}
			return
		}
	}
	t.Error("it has no end")
}

// TestAWalkWithoutMarks goes by what was done and broken, and has a mark once one is set.
func TestAWalkWithoutMarks(t *testing.T) {
	tape, commit, crash := crashed()
	marks := walk.New(pictures)
	p, _ := walks(t, walk.NewRecording(tape.Stream), marks, "")
	said := ""
	for range 20 {
		said += p.Look().Beat.Before + "\n"
		if p.Do("next") != nil {
			break
		}
	}
	for _, want := range []string{"kubectl apply -f hello.yaml", "leads", "crash"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing is said of %s:\n%s", want, said)
		}
	}
	if at := p.Look().Beat.Event.ID; at != crash {
		t.Errorf("it ends at #%s", at)
	}
	does(t, p, "back", "event 1", "pane 2")
	if err := p.Mark(p.Look().Beat.Event.ID, []string{"map:store", "store:member/a"}, " Look here. "); err != nil {
		t.Fatal(err)
	}
	l := p.Look()
	if l.Place() != "mark 1 of 1" || l.Beat.Before != "Look here." || len(l.Beat.Spots) != 1 || l.Beat.Spots[0] != "store:member/a" {
		t.Errorf("the mark is %q: %+v", l.Place(), l.Beat)
	}
	if all := marks.All(); len(all) != 1 || all[0].At.Compare(commit) == 0 {
		t.Errorf("the marks are %+v", all)
	}
}

// TestALiveWalk follows the newest event, goes back to what was marked, and comes back for a command.
func TestALiveWalk(t *testing.T) {
	tape, _, _ := crashed()
	calm := int(tape.Stream.Len()) - 20
	c := tuitest.NewCluster(tape, calm)
	marks := walk.New(pictures)
	p, h := walks(t, c, marks, "")
	if l := p.Look(); l.Place() != "now" || !l.Beat.Acts || l.Beat.Runs {
		t.Fatalf("it begins at %q: %+v", l.Place(), l.Beat)
	}
	does(t, p, "pause")
	if !p.Look().Beat.Runs {
		t.Error("it stands still")
	}
	marked := h.Latest().Last
	if err := p.Mark(marked, nil, "All is calm."); err != nil {
		t.Fatal(err)
	}
	c.Play(10)
	h.CatchUp(0)
	if l := p.Look(); l.Place() != "now" || !l.Beat.Acts {
		t.Errorf("with a mark set it is %q", l.Place())
	}
	does(t, p, "back")
	if l := p.Look(); l.Beat.Before != "All is calm." || l.Beat.Runs || l.Beat.Event.ID != marked {
		t.Errorf("the mark is %+v", l.Beat)
	}
	does(t, p, "next")
	if l := p.Look(); l.Place() != "now" {
		t.Errorf("behind the last mark is %q", l.Place())
	}
	if err := p.Do("next"); err == nil {
		t.Error("something comes behind the newest event")
	}
	does(t, p, "event -1", "event -1", "event 1")
	if l := p.Look(); l.Beat.Acts || l.Beat.At != h.Len()-1 {
		t.Errorf("a step back and it is at %d of %d", l.Beat.At, h.Len())
	}
	if err := p.Command("kubectl get pods"); err != nil || !p.Look().Beat.Acts {
		t.Errorf("a command is run in the past: %v", err)
	}
}

// TestAWalkGoesOn where a class was cut off, also at an event whose mark is gone.
func TestAWalkGoesOn(t *testing.T) {
	tape, commit, crash := crashed()
	marks := walk.New(pictures)
	set(t, marks, walk.Mark{At: commit}, walk.Mark{At: crash})
	c := walk.NewRecording(tape.Stream)
	p, _ := walks(t, c, marks, "#"+crash.String())
	if at := p.Look().Place(); at != "mark 2 of 2" {
		t.Errorf("it goes on at %q", at)
	}
	if err := marks.Remove(1); err != nil {
		t.Fatal(err)
	}
	p, _ = walks(t, c, marks, "#"+crash.String())
	if l := p.Look(); l.Place() != "after mark 1 of 1" || l.Beat.Event.ID != crash {
		t.Errorf("it goes on at %q, #%v", l.Place(), l.Beat.Event)
	}
	if err := p.Start("#99999"); err == nil {
		t.Error("it begins at an event that there is not")
	}
}
