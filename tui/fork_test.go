package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/odds"
	"kviz/tui/tuitest"
)

// forker runs the story again: up to the event, and a tape of what else could have come.
type forker struct {
	asked []trace.ID
	err   error
	led   string        // who leads the branch; "": as it was
	held  chan struct{} // Fork waits for it; nil: it does not
	ended int
	saved []string
}

func (f *forker) Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error) {
	return control.ForkOutlook{Events: at.Seq, About: 1200e6, NotExactly: []string{"Two requests of other programs enter where they did."}}, nil
}

func (f *forker) Fork(ctx context.Context, what Fork) (Again, error) {
	f.asked = append(f.asked, what.At)
	what.Progress(control.ForkProgress{Done: what.At.Seq / 2, Of: what.At.Seq, Took: 1e9, Left: 1e9})
	if f.held != nil {
		select {
		case <-f.held:
		case <-ctx.Done():
			return Again{}, ctx.Err()
		}
	}
	if f.err != nil {
		return Again{}, f.err
	}
	n := 0
	for n < len(what.Past) && what.Past[n].ID.Seq <= what.At.Seq {
		n++
	}
	tape := tuitest.Story()
	if f.led != "" {
		tape = tuitest.Calm(3, 3)
		tape.Elect(f.led)
		n = -1
	}
	c := tuitest.NewCluster(tape, n)
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	save := func(path string) error {
		if f.saved = append(f.saved, path); path == "taken.kvrun" {
			return errors.New("taken.kvrun: file exists")
		}
		return nil
	}
	return Again{Cluster: c, History: h, Save: save, Close: func() error { f.ended++; return nil }}, nil
}

// forked is an explorer that has left the story at an event.
func forked(t *testing.T, w, h int, f *forker) *driver {
	t.Helper()
	d := explore(t, w, h, -1, func(c *Config) { c.Forks = f })
	d.press("#").typed("60").press("enter").press("F")
	return d
}

// F leaves the run at the moment on the screen: it says before what it takes, the branch
// stands there, and both are kept.
func TestAForkLeavesTheRunWhereTheScreenStands(t *testing.T) {
	f := &forker{}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := forked(t, size[0], size[1], f)
		d.shows("Back to #60", "60 events, about 1.2s", "Two requests of other programs", "run 2")
		d.press("enter").settle()
		d.shows("PAUSED", "run 2 stands where first run was at #60")
		if last := d.m.travel.State().Last; last.Seq != 60 || !d.m.travel.Live() {
			t.Errorf("the branch stands at #%s", last)
		}
		d.press("B").shows("left first run at #60", "● run 2")
		d.press("1").shows("first run")
		if d.m.left != nil || d.m.travel.Live() {
			t.Error("the run is not as it was left: in the past")
		}
		d.press("end", "B", "2")
		d.press(":").typed("kubectl get pods -A").press("enter").settle()
		d.shows("NAMESPACE")
		d.press("esc", "esc", "B", "1")
		d.hides("NAMESPACE") // each has its own console
		d.press("B", "2").press("B", "n").typed(" crash").press("enter", "B").shows("crash")
		d.press("x").settle().press("B").hides("crash")
	}
	if f.ended != 2 {
		t.Errorf("%d clusters were ended", f.ended)
	}
}

// What is not on the screen stands still, and goes on when it is back.
func TestARunThatIsNotOnTheScreenStands(t *testing.T) {
	d := explore(t, 120, 40, 600, func(c *Config) { c.Forks = &forker{} })
	d.press("space").shows("RUNNING")
	d.press("F", "enter").settle()
	if !d.c.Clock().Paused {
		t.Error("the run goes on unseen")
	}
	d.press("B", "1").shows("RUNNING")
	if d.c.Clock().Paused {
		t.Error("the run stands though it is on the screen again")
	}
	d.press("B", "2").shows("PAUSED")
	if d.leaves("q") {
		t.Error("the branches are lost without a question")
	}
	d.shows("The branches end with the explorer")
}

// A fork that takes long shows how far it is, and can be given up.
func TestAForkCanBeGivenUp(t *testing.T) {
	f := &forker{held: make(chan struct{})}
	d := forked(t, 80, 24, f).press("enter")
	d.m.Update(<-d.sent)
	d.shows("30 of 60 events", "about 1s more", "esc stop")
	tuitest.Golden(t, "80x24-fork", d.planes())
	d.press("esc").settle()
	d.shows("given up")
	if len(d.m.branches) != 1 {
		t.Error("there is a branch all the same")
	}
}

// differs is what a fork says that does not go the same way.
type differs struct{ at trace.ID }

func (e differs) Error() string   { return "the run went on differently at event #55" }
func (e differs) Where() trace.ID { return e.at }

// A run that does not go the same way again says where, and there is no branch.
func TestAForkThatDiffersSaysWhere(t *testing.T) {
	f := &forker{err: differs{trace.ID{Seq: 55}}}
	d := forked(t, 80, 24, f).press("enter").settle()
	d.shows("does not go the same way again", "differently at event #55", "go to #55")
	if len(d.m.branches) != 1 {
		t.Error("there is a branch all the same")
	}
	d.press("enter")
	if at := d.m.travel.State().Last; at.Seq != 55 {
		t.Errorf("it leads to #%s", at)
	}
	f.err = errors.New("the disk is full")
	d.press("F", "enter").settle().shows("the disk is full")
}

// A recording is continued live, and what cannot be continued says so.
func TestARecordingIsContinued(t *testing.T) {
	tape := tuitest.Story()
	d := explore(t, 120, 40, -1, func(c *Config) {
		c.Cluster, c.History, c.Recording, c.Forks = nil, view.NewHistory(tape.Stream), "class.kvrun", &forker{}
	})
	d.shows("F fork", "recording class.kvrun")
	d.press("}", "F").shows("class.kvrun is run again up to #").press("enter").settle()
	d.hides("recording class.kvrun")
	d.shows("left class.kvrun at #")
	d.press(":").typed("kubectl get pods -A").press("enter").settle().shows("NAMESPACE")

	d = explore(t, 120, 40, -1)
	if strings.Contains(d.screen(), "F fork") {
		t.Error("a fork is offered where there can be none")
	}
	d.press("F").shows("nothing can be run again here")
}

// other is a branch of the story that has come further, with something else in it.
func (d *driver) other() {
	d.t.Helper()
	c := d.m.cluster.(*tuitest.Cluster)
	d.press("space")
	c.Play(200)
	tape := tuitest.Story()
	e := *tape.Stream.Get(c.Trace().Len())
	e.Kind, e.Payload = trace.FaultInjected, &trace.Fault{Fault: "cut", Target: "member/a"}
	c.Trace().Append(&e)
	for pos := c.Trace().Len(); pos < tape.Stream.Len(); pos++ {
		c.Trace().Append(tape.Stream.Get(pos))
	}
	d.look()
}

// Two runs stand beside each other: the pane in focus of both, what differs marked, with a way
// to the first event that differs and to what came of them.
func TestTwoRunsBesideEachOther(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		d := forked(t, size[0], size[1], &forker{}).press("enter").settle()
		d.hides("first difference")
		d.other()
		d.press("4", "C").settle()
		d.shows("run 2 4 Events", "first run Events", "D first difference", "W came of it")
		d.press("D").settle().shows("the first that differs; in first run", "≠")
		if e := d.m.travel.State().Event; e == nil || e.Kind != trace.FaultInjected {
			t.Errorf("the first that differs is %v", e)
		}
		tuitest.Golden(t, name+"-compare", d.planes())
		d.press("2").hides("first run Events").shows("first run Store")
		tuitest.Golden(t, name+"-compare-store", d.planes())
		d.press("W").settle().shows("What came of it", "The same up to #", "pods ready then")
		tuitest.Golden(t, name+"-outcome", d.planes())
		d.press("esc", "B", "1").shows("first run 2 Store", "run 2 Store")
		if d.m.branch != d.m.branches[0] {
			t.Error("the two do not change places")
		}
		d.press("end", "esc").hides("run 2 Store").press("C").settle().press("C").hides("run 2 Store")
	}
	d := explore(t, 80, 24, -1)
	d.press("D").shows("there is one run")
}

// While both are the same there is nothing to mark, and it is said.
func TestRunsThatAreTheSame(t *testing.T) {
	d := forked(t, 120, 40, &forker{}).press("enter").settle()
	d.press("B", "1").press("#").typed("50").press("enter", "4", "C").settle()
	d.hides("≠")
	d.press("D").settle().shows("the first that differs; run 2 has nothing more")
}

// Odds answers with a curve that rises, or with what it knows when it is given up.
func (f *forker) Odds(ctx context.Context, q Question) ([]odds.Chance, error) {
	var all []odds.Chance
	for _, e := range q.Past {
		if !e.Outside() && e.Kind == trace.StoreCommit && e.ID.Seq >= q.From && e.ID.Seq <= q.To {
			all = append(all, odds.Chance{Event: e, True: min(2*len(all), q.Seeds), Of: q.Seeds})
		}
	}
	q.Progress(OddsProgress{Done: 30, Of: 120, Took: 10e9})
	if f.held != nil {
		<-ctx.Done()
		return all[:2], ctx.Err()
	}
	return all, nil
}

// When did it become inevitable: asked by a key on an event, with a bar; the curve stands under
// the timeline, and each of its events leads there.
func TestWhenItBecameInevitable(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		f := &forker{held: make(chan struct{})}
		d := explore(t, size[0], size[1], -1, func(c *Config) { c.Forks = f })
		d.press("{", "O").shows("When did it become inevitable?", "the store has no leader")
		d.press("end", "up", "enter").shows("A CEL expression").typed("store.leadr").press("enter").shows("leadr")
		d.press("backspace").typed("er == ''").press("enter")
		d.m.Update(<-d.sent)
		d.shows("30 of 120 branches, about 30s more", "esc stop")
		d.press("esc").settle().shows("How probable: store.leader == ''", "0.20")
		f.held = nil
		d.press("esc", "O").shows("How probable").press("end", "up", "enter").shows("the store has no leader")
		d.press("end", "up", "up", "enter").settle().shows("from #201 on it could not be", "1.00 ████")
		tuitest.Golden(t, name+"-odds", d.planes())
		d.press("enter").shows("PAST", "#201")
		if e := d.m.travel.State().Event; e == nil || e.ID != d.m.curve.Inevitable().ID {
			t.Errorf("it leads to %v", e)
		}
		tuitest.Golden(t, name+"-curve", d.planes())
		d.press("O", "end", "enter")
		if d.m.curve != nil {
			t.Error("the curve stays")
		}
	}
}

// A branch is saved from the list of the runs or by the console, and the explorer stays; a file
// that is there is asked for again.
func TestABranchIsSaved(t *testing.T) {
	f := &forker{}
	d := explore(t, 120, 40, -1, func(c *Config) { c.Forks = f })
	say := func(line string) *driver { return d.press(":").typed(line).press("enter").settle() }
	say("kviz fork --at 60 cut it")
	d.press("B").shows("save cut it …").press("s").shows("Save cut it as a recording", "cut-it.kvrun").press("enter").settle()
	d.shows("cut it is saved: kviz replay cut-it.kvrun")
	say("kviz fork --save taken.kvrun").shows("file exists").press("esc")
	say("kviz fork --save other.kvrun").shows("cut it is saved: kviz replay other.kvrun")
	if want := []string{"cut-it.kvrun", "taken.kvrun", "other.kvrun"}; !slices.Equal(f.saved, want) {
		t.Errorf("it wrote %v, want %v", f.saved, want)
	}
	if d.leaves("q") {
		t.Error("it leaves with a branch, without a question")
	}
	d.shows("s save a recording and leave")
	r := explore(t, 80, 24, -1, func(c *Config) { c.Cluster, c.Recording, c.Forks = nil, "story.kvrun", f })
	r.press("B").press("s").shows("it is a recording already")
}

// It is asked of a stretch: from the mark to where one stands, or between two numbers.
func TestOddsOfAStretch(t *testing.T) {
	f := &forker{}
	d := explore(t, 120, 40, -1, func(c *Config) { c.Forks = f })
	d.press("#").typed("200").press("enter", "m", "#").typed("300").press("enter", "O")
	d.shows("from #200 to #300", "another stretch than from #200 to #300")
	d.press("end", "enter").shows("From which event to which?", "200..300")
	for range "200..300" {
		d.press("backspace")
	}
	d.typed("220..9999").press("enter").shows("which has #1 to #456")
	for range "9999" {
		d.press("backspace")
	}
	d.typed("260").press("enter").shows("from #220 to #260")
	d.press("esc")
	if !d.m.open.Empty() {
		t.Errorf("something is left open:\n%s", d.screen())
	}
	d.press(":").typed(`kviz odds --at 150..250 store.leader == "b"`).press("enter").settle()
	for _, c := range d.m.curve.Chances {
		if n := c.Event.ID.Seq; n < 150 || n > 250 {
			t.Errorf("event #%d lies outside", n)
		}
	}
	if len(d.m.curve.Chances) == 0 {
		t.Error("nothing was asked")
	}
	d.press("esc").press(":").typed("kviz odds --at 9..3 true").press("enter").shows("want M..N")
}

// The console has words for all of it, which the cluster never hears.
func TestRunsByTheConsole(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.Forks = &forker{} })
	say := func(line string) *driver { return d.press(":").typed(line).press("enter").settle() }
	say("kviz fork --at 60 cut it").shows("cut it stands where first run was at #60")
	say("kviz fork --show first run")
	if d.m.left != nil {
		t.Error("the first run is not on the screen")
	}
	say("kviz fork --list").shows("○ cut it").press("esc")
	say("kviz compare cut it")
	d.press("esc").shows("cut it ", "D first difference")
	d.press("C")
	say("kviz odds 'store.leader == \"b\"'").shows("How probable: store.leader").press("esc")
	say("kviz fork --at x").shows("want a number such as 214")
	say("kviz fork --new").shows("--list, --show NAME")
	for _, asked := range d.c.Asked {
		if strings.HasPrefix(asked, "exec") {
			t.Errorf("the cluster was asked %s", asked)
		}
	}
}

// A recording may begin with what members do, before the control plane's first event: a fork there
// is one at the first.
func TestAForkBeforeTheFirstEvent(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Emit(trace.CompMember, "a", trace.MemberRole, trace.Ref{Kind: "Member", Name: "a"}, &trace.MemberState{Member: "a", Role: "follower"})
	if first := tape.Stream.Get(0); first == nil || first.ID.Seq != 0 {
		t.Fatalf("the tape begins with %v", first)
	}
	f := &forker{}
	d := exploreTape(t, tape, 120, 40, func(c *Config) { c.Forks = f })
	d.press("F").shows("run again up to #1:")
}

// Where raft did not hand leadership over to the member that led, the sentence says who leads instead.
func TestAForkSaysWhoLeads(t *testing.T) {
	d := forked(t, 80, 24, &forker{led: "c"})
	d.press("enter").settle()
	d.shows("run 2 stands where first run was at #60, but c leads, not a; space lets it run")
	d = forked(t, 80, 24, &forker{})
	d.press("enter").settle()
	d.shows("run 2 stands where first run was at #60; space lets it run")
}

// What came of two runs is summed up to the same virtual time: as far as both have come, or to a time that is chosen.
func TestTwoRunsAreComparedAtTheSameTime(t *testing.T) {
	d := forked(t, 120, 40, &forker{})
	d.press("enter").settle() // run 2 has come to #60, at the very beginning
	d.press("C").settle().press("W").settle()
	d.shows("What came of both by 0:00.252; first run goes on to 0:15.738", "pods ready then")
	d.hides("≠ pods ready").hides("≠ writes").hides("≠ longest")
	d.press("t").shows("What came of both by").press("ctrl+u").typed("0:00.2").press("enter").settle()
	d.shows("What came of both by 0:00.200; first run goes on to 0:15.738")
	d.press("t", "ctrl+u").typed("late").press("enter").shows(`"late" is no time`)
}
