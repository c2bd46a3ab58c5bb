package tui

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/tuitest"
)

// mistaken is a lesson in beats, in one of which something has gone wrong.
type mistaken struct {
	oneLesson
	fine   bool // nothing has gone wrong yet
	undone []lessons.Cluster
	err    error
}

func (l *mistaken) Look() lessons.Look {
	b := &lessons.BeatLook{
		ID: "crash", Title: "Crash it", Show: "store/logs", Before: "Crash the leader.", Start: tuitest.Story().History().Latest(), Acts: true,
		Mistake: "you crashed member/b, the goal says a", Undo: trace.ID{Seq: 59}, Noticed: trace.ID{Seq: 63}, Version: uint64(len(l.undone)),
	}
	if l.fine || len(l.undone) > 0 {
		b.Mistake = ""
	}
	return lessons.Look{Active: l.on, Beat: b, ID: "healing", Title: "Who brings the pod back?", Step: 7, Steps: 24, Kind: "do"}
}

func (l *mistaken) Undone(c lessons.Cluster) error {
	l.undone = append(l.undone, c)
	return l.err
}

// spoiled is an explorer with such a lesson.
func spoiled(t *testing.T, w, h int, l *mistaken, f Forker, end func() error) *driver {
	t.Helper()
	return explore(t, w, h, -1, func(c *Config) { c.Lessons, c.Lesson, c.Forks, c.End = l, "healing", f, end })
}

// u takes back what the learner did: their run is run again up to before it, and the lesson goes on
// there. The run that was left is listed; after a while its cluster ends, and its history stays.
func TestUndoForksTheRun(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		l, f, ended := &mistaken{}, &forker{}, 0
		d := spoiled(t, size[0], size[1], l, f, func() error { ended++; return nil })
		d.shows("not what the beat needs", "noticed at #63", "Undo: back to #59, before your command (about 1.2s)")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-mistake", size[0], size[1]), d.planes())
		first := d.m.branch
		d.press("u").settle()
		if !slices.Equal(f.asked, []trace.ID{{Seq: 59}}) || len(l.undone) != 1 {
			t.Fatalf("it is run again up to %v, and the lesson has gone on %d times", f.asked, len(l.undone))
		}
		if any(d.m.cluster) != any(l.undone[0]) || d.m.branch == first {
			t.Error("the lesson goes on in another run than the one on the screen")
		}
		d.hides("not what the beat needs")
		d.shows("Crash it", "undone; first run stays to be looked at")
		d.press("x", "B").shows("left first run at #59", "● run 2").press("esc")
		d.m.Update(leftBehind{first})
		d.settle()
		if ended != 1 || first.cluster != nil {
			t.Errorf("the cluster of the run that was left has ended %d times", ended)
		}
		d.press("B", "1").shows("recording first run")
		if d.m.travel.State().Last != tuitest.Story().History().Latest().Last {
			t.Error("it does not stand where it was left")
		}
		d.press("B", "2").shows("run 2").press("L").shows("Crash it")
	}
}

// The console lies over what the stage has to say: it makes room for a mistake.
func TestAMistakeIsSeenOverTheConsole(t *testing.T) {
	l := &mistaken{fine: true}
	d := spoiled(t, 80, 24, l, nil, nil).press(":").typed("kviz fault crash member/b")
	d.shows("kviz fault crash member/b").hides("not what the beat needs")
	l.fine = false
	d.press("enter").settle().shows("not what the beat needs")
}

// A run that is looked at does not end, and of those that were undone few are kept.
func TestUndoneRunsAreForgotten(t *testing.T) {
	l, f := &mistaken{}, &forker{}
	d := spoiled(t, 80, 24, l, f, nil)
	for range 5 {
		from := d.m.branch
		l.undone = nil // the next mistake
		d.look()
		d.press("u").settle()
		d.m.Update(leftBehind{d.m.branch})
		d.m.Update(leftBehind{from})
		d.settle()
	}
	if n := len(d.m.branches); n != 2+undoneKept {
		t.Errorf("%d runs are kept", n)
	}
	if d.m.cluster == nil {
		t.Error("the run on the screen has ended")
	}
	if f.ended != 4 { // all but the first, which somebody else ends, and the one on the screen
		t.Errorf("%d clusters have ended", f.ended)
	}
}

// Where a run cannot be run again, the scene is set again; where the lesson cannot go on in the
// branch, all is as it was.
func TestUndoWithoutAFork(t *testing.T) {
	for name, f := range map[string]Forker{"nobody forks": nil, "it differs": &forker{err: differs{trace.ID{Seq: 55}}}} {
		l := &mistaken{}
		spoiled(t, 80, 24, l, f, nil).press("u").settle()
		if !slices.Contains(l.did, "again") || len(l.undone) > 0 {
			t.Errorf("%s: the lesson was asked for %q", name, l.did)
		}
	}
	l, f := &mistaken{err: errors.New("the beginning of the beat has left memory")}, &forker{}
	d := spoiled(t, 80, 24, l, f, nil).press("u").settle()
	d.shows("has left memory").settle()
	if len(d.m.branches) != 1 || f.ended != 1 {
		t.Errorf("%d runs are kept, %d clusters have ended", len(d.m.branches), f.ended)
	}
}
