package lessons_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// asking is a lesson with a beat that asks, in which a part of the question is replaced.
func asking(question, old, new string) string {
	return beats("### Crash it {#crash} do\n", "### Guess {#guess} predict\n\nGuess.\n\n```question\n"+strings.Replace(question, old, new, 1)+"```\n\n### Crash it {#crash} do\n")
}

const (
	pointing = "ask: Which one?\nform: point\npoint: store:member/*\nreveal: event.kind == \"fault.inject\"\nis: event.payload.target == pointed\nwhy: {member/b: It follows., _: It leads.}\n"
	choosing = "ask: Which one?\nreveal: event.kind == \"fault.inject\"\nchoices:\n  - {text: A, right: true, why: so, is: 'true', ghost: {'store:member/a': stops, 'store:commit': 'stays at {entry}'}}\n  - {text: B, why: never, is: 'false'}\n"
	counting = "ask: How many?\nform: number\nreveal: event.kind == \"fault.inject\"\nanswer: store.quorum.need\nunit: disks\nghost: [store:commit, store:quorum]\n"
)

// TestQuestionsAboutCells reads questions that are answered at cells of the picture, and refuses
// what is wrong with one.
func TestQuestionsAboutCells(t *testing.T) {
	for _, question := range []string{pointing, choosing, counting} {
		if _, err := lessons.Parse("lesson.md", []byte(asking(question, "", "")), panes.Names()); err != nil {
			t.Errorf("%s is refused: %v", question, err)
		}
	}
	for _, wrong := range []struct{ question, old, new, says string }{
		{pointing, "form: point", "form: choice", `what it has makes it a question of form "point"`},
		{pointing, "store:member/*", "member/*", `"member/*" is no name of cells: want PANE:NAME`},
		{pointing, "is: event.payload.target == pointed\n", "", "is: whether a cell is the right one"},
		{pointing, "== pointed", "== pointd", `unknown name "pointd"; did you mean "pointed"`},
		{pointing, "reveal: event.kind == \"fault.inject\"\n", "", "reveal: the moment when the simulation shows which cell it was"},
		{pointing, "point: store:member/*\n", "", "is belongs to a question with point"},
		{choosing, "store:member/a", "member/a", `ghost: "member/a" is no name of cells`},
		{choosing, "stays at {entry}", "stays at {entri}", `unknown name "entri"`},
		{choosing, "stops", "''", "it says what the learner expects there"},
		{counting, "store:quorum", "quorum", `ghost: "quorum" is no name of cells`},
	} {
		_, err := lessons.Parse("lesson.md", []byte(asking(wrong.question, wrong.old, wrong.new)), panes.Names())
		if err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%q instead of %q gives %v; want %q", wrong.new, wrong.old, err, wrong.says)
		}
	}
	quiz := strings.NewReplacer("reveal: event.kind == \"fault.inject\"\n", "", ", is: 'true'", "", ", is: 'false'", "").Replace(choosing)
	if _, err := lessons.Parse("lesson.md", []byte(asking(quiz, "", "")), panes.Names()); err == nil || !strings.Contains(err.Error(), "it needs reveal") {
		t.Errorf("a ghost of a question that nothing answers gives %v", err)
	}
}

// TestPointingIsJudged judges what was pointed at by what the simulation then did.
func TestPointingIsJudged(t *testing.T) {
	for name, want := range map[string]string{
		"member/a": "Right (#%s): it was member a. It leads.",
		"member/b": "No (#%s). You pointed at member b, it was member a. It follows.",
		"member/c": "No (#%s). You pointed at member c, it was member a. It leads.",
	} {
		l, err := lessons.Parse("lesson.md", []byte(asking(pointing, "", "")), panes.Names())
		if err != nil {
			t.Fatal(err)
		}
		tape := tuitest.Calm(3, 3)
		s := lessons.NewAttempt(l, tape.History().Latest(), tape.Stream, tape.Stream.Len())
		tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(5, 2))
		for s.Look() {
		}
		s.Enter(1)
		guess := l.Steps[1]
		among := []string{"member/a", "member/b", "member/c"}
		if err := s.PointAt(guess, "member/d", among); err == nil || !strings.Contains(err.Error(), "there is no member/d to point at") {
			t.Errorf("what is not there can be pointed at: %v", err)
		}
		if s.Passed(guess) {
			t.Error("it is answered before anything was pointed at")
		}
		if err := s.PointAt(guess, name, among); err != nil {
			t.Fatal(err)
		}
		if s.Verdict(guess) != "" || !s.Passed(guess) {
			t.Errorf("before it happens it is judged %q, answered: %v", s.Verdict(guess), s.Passed(guess))
		}
		s.Enter(2)
		id := tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"})
		for s.Look() {
		}
		if got, want := s.Verdict(guess), strings.Replace(want, "%s", id.String(), 1); got != want {
			t.Errorf("%s is judged %q; want %q", name, got, want)
		}
	}
}

// TestTheRunDecides lets a run that goes another way than most decide what was right, and says so.
func TestTheRunDecides(t *testing.T) {
	const other = " That is so in your run; the usual outcome is: A."
	question := strings.NewReplacer("is: 'true'", "is: 'false'", "is: 'false'", "is: 'true'").Replace(choosing)
	for answer, want := range []string{"No (#%s). so What happened: B. never" + other, "Right (#%s). never" + other} {
		l, err := lessons.Parse("lesson.md", []byte(asking(question, "", "")), panes.Names())
		if err != nil {
			t.Fatal(err)
		}
		tape := tuitest.Calm(3, 3)
		s := lessons.NewAttempt(l, tape.History().Latest(), tape.Stream, tape.Stream.Len())
		tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(5, 2))
		for s.Look() {
		}
		s.Enter(1)
		s.Answer(l.Steps[1], answer)
		s.Enter(2)
		id := tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"})
		for s.Look() {
		}
		if got, want := s.Verdict(l.Steps[1]), strings.Replace(want, "%s", id.String(), 1); got != want {
			t.Errorf("it is judged %q; want %q", got, want)
		}
	}
}
