package lessons_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// A beat begins during an election, and calls the leader by a name: the name is given when
// somebody leads, and a beat that stands before that says what it does not know.
func TestANameIsGivenWhenItsValueIsKnown(t *testing.T) {
	l, err := lessons.Parse("lesson.md", []byte(beats("", "")), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	tape := tuitest.NewTape().Members("a", "b", "c")
	h := tape.History()
	a := lessons.NewAttempt(l, h.Latest(), tape.Stream, h.Len())
	look := func() {
		for a.Look() {
		}
	}
	look()
	if a.Span(0).Stopped || a.Err() != nil {
		t.Errorf("without a leader the beat stands: %v; trouble: %v", a.Span(0).Stopped, a.Err())
	}
	tape.Elect("b")
	look()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "settings"}}
	tape.Commit(trace.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "settings"}, "configmaps", m)
	look()
	if !a.Span(0).Stopped || a.Err() != nil {
		t.Fatalf("with a leader the beat stands: %v; trouble: %v", a.Span(0).Stopped, a.Err())
	}
	if _, after, whole := a.Caption(0); !whole || !strings.HasPrefix(after, "b leads term") {
		t.Errorf("with a leader the caption is %q, whole=%v", after, whole)
	}
}

// TestACommandThatWaitsIsAnsweredWhereTheStageStands goes on to a beat that shows something while a command that was
// offered still runs: the stage stands, and the cluster runs on until the command has ended, or it would never end.
func TestACommandThatWaitsIsAnsweredWhereTheStageStands(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	a := lessons.NewAttempt(crashing(t, crashGoal), tape.History().Latest(), tape.Stream, tape.Stream.Len())
	line := &trace.Command{Line: "kviz fault crash member/a", Source: "console"}
	id := tape.Emit(trace.CompSimulation, "", trace.CommandStart, trace.Ref{}, line)
	broken(tape, "crash", "member/a")
	look := func(beat string, runs, stands bool) {
		t.Helper()
		for a.Look() {
		}
		if step, n := a.Beat(); step.ID != beat || a.Runs() != runs || a.Span(n).Stopped != stands {
			t.Errorf("in beat %s the cluster runs: %v, the stage stands: %v; want beat %s, %v, %v", step.ID, a.Runs(), a.Span(n).Stopped, beat, runs, stands)
		}
	}
	look("wait", true, true)
	a.Enter(1)
	look("look", true, false)
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	look("look", true, true)
	tape.Emit(trace.CompSimulation, "", trace.CommandEnd, trace.Ref{}, line, id)
	look("look", false, true)
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}
