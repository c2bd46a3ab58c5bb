package lessons_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// crashing is a lesson whose beat wants the leader crashed, with more goals.
func crashing(t testing.TB, goals string) *lessons.Lesson {
	t.Helper()
	l, err := lessons.Parse("lesson.md", []byte(beats("## A chapter\n", "## A chapter\n\n### Wait {#wait} do\n\nDo something.\n\n```stage\nshow: store/logs\n```\n\n```offer\n- kviz fault crash member/a\n```\n\n"+goals)), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const (
	crashGoal = "```goal\nid: a-crashed\nsay: a has crashed\nedge: event.kind == \"fault.inject\" && event.payload.fault in [\"stop\", \"crash\"] && event.payload.target == \"member/a\"\nhints: [It has a star.]\n```\n"
	scaleGoal = "```goal\nid: three\nsay: web has three replicas\nlevel: store.quorum.ok && object(\"deployments\", \"demo\", \"web\").spec.replicas == 3\nhints: [Scale it.]\n```\n"
)

// broken is a fault on the tape.
func broken(tape *tuitest.Tape, fault, target string) {
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: fault, Target: target})
}

// TestTheNearestMissIsMadeFromTheGoal says what is missing, with the values of the run: of the
// newest event that came as near as any.
func TestTheNearestMissIsMadeFromTheGoal(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	a := lessons.NewAttempt(crashing(t, crashGoal+"\n"+scaleGoal), tape.History().Latest(), tape.Stream, tape.Stream.Len())
	web := tuitest.Ref("Deployment", "demo", "web")
	for _, step := range []struct {
		does func()
		want string
	}{
		{func() {}, ""},
		{func() { tape.Commit(web, "deployments", tuitest.Deployment(5, 2)) }, "spec.replicas is 5, the goal needs 3"},
		{func() { tape.Commit(web, "deployments", tuitest.Deployment(2, 2)) }, "spec.replicas is 2, the goal needs 3"},
		{func() { broken(tape, "slow", "member/b") }, "fault is slow, the goal needs one of stop, crash"},
		{func() { broken(tape, "crash", "member/b") }, "target is member/b, the goal needs member/a"},
		{func() { broken(tape, "slow", "node/node-1") }, "target is member/b, the goal needs member/a"},
		{func() { broken(tape, "crash", "member/c") }, "target is member/c, the goal needs member/a"},
		{func() { broken(tape, "crash", "member/a") }, "spec.replicas is 2, the goal needs 3"},
		{func() { tape.Commit(web, "deployments", tuitest.Deployment(3, 2)) }, ""},
	} {
		step.does()
		for a.Look() {
		}
		if _, words, _ := a.Nearest(); words != step.want {
			t.Errorf("the nearest miss is %q; want %q", words, step.want)
		}
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

// TestTheNearestMissWaits tells a learner at once what their own fault missed; what came about by
// itself is told when they have come no nearer for three seconds, or ask.
func TestTheNearestMissWaits(t *testing.T) {
	const scaled = "spec.replicas is 5, the goal needs 3"
	begin := func(t *testing.T) (*lessons.Player, *tuitest.Cluster, func() string) {
		tape := tuitest.Calm(3, 3)
		begun := int(tape.Stream.Len())
		tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(5, 2))
		scales := int(tape.Stream.Len()) - begun
		broken(tape, "crash", "member/b")
		l := crashing(t, crashGoal+"\n"+scaleGoal)
		c := tuitest.NewCluster(tape, begun)
		p := lessons.NewPlayer(c, []*lessons.Lesson{l}, nil)
		if err := p.Start(l.ID); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		for p.Look().Setting {
			runtime.Gosched() // the scene is set beside this, by no script
		}
		for p.Look(); c.Clock().Paused; p.Look() {
			runtime.Gosched()
		}
		c.Play(scales)
		return p, c, func() string { return p.Look().Beat.Miss }
	}
	synctest.Test(t, func(t *testing.T) {
		_, c, miss := begin(t)
		if got := miss(); got != "" {
			t.Errorf("at once it says %q", got)
		}
		time.Sleep(3 * time.Second)
		if got := miss(); got != scaled {
			t.Errorf("after three seconds it says %q; want %q", got, scaled)
		}
		for c.Play(1) {
		}
		if got, want := miss(), "target is member/b, the goal needs member/a"; got != want {
			t.Errorf("as the learner crashed b it says %q; want %q", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, _, miss := begin(t)
		if got := miss(); got != "" {
			t.Errorf("at once it says %q", got)
		}
		if err := p.Do("hint"); err != nil {
			t.Fatal(err)
		}
		if got := miss(); got != scaled {
			t.Errorf("asked, it says %q; want %q", got, scaled)
		}
	})
}

// BenchmarkNearest is what an event costs above folding it while a goal is open: one that has nothing
// to do with the goal, as all but a few have, and one that comes near to it. It must stay below 2 µs
// an event and goal.
func BenchmarkNearest(b *testing.B) {
	tape := tuitest.Calm(3, 3)
	s := lessons.NewSession(crashing(b, crashGoal), tape.History().Latest())
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(5, 2))
	far := tape.Stream.Last()
	broken(tape, "crash", "member/b")
	for name, e := range map[string]*trace.Event{"far": far, "near": tape.Stream.Last()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				lessons.Nears(s, e)
			}
		})
	}
}
