package lessons_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// labelling is a question whose two items have one event: what is so of each, the labels ask by its name.
const labelling = `ask: Which of them crashed?
labels:
  - {text: it crashed, is: 'event.payload.target == "member/" + item'}
  - {text: it did not, is: 'event.payload.target != "member/" + item'}
match:
  - {text: a, label: it crashed, why: It did., when: 'event.kind == "fault.inject"'}
  - {text: b, label: it did not, why: It runs., when: 'event.kind == "fault.inject"'}
`

// at is an attempt at a lesson that asks something, as its question is open.
func at(t *testing.T, question string) (s *lessons.Attempt, guess *lessons.Step, tape *tuitest.Tape) {
	t.Helper()
	l, err := lessons.Parse("lesson.md", []byte(asking(question, "", "")), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	tape = tuitest.Calm(3, 3)
	s = lessons.NewAttempt(l, tape.History().Latest(), tape.Stream, tape.Stream.Len())
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(5, 2))
	for s.Look() {
	}
	s.Enter(1)
	return s, l.Steps[1], tape
}

// TestLabelsAskOfTheItem labels two things that one event is about.
func TestLabelsAskOfTheItem(t *testing.T) {
	right := func(crashes string) (all [][2]int) {
		for _, given := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
			s, guess, tape := at(t, labelling)
			s.Answer(guess, given[0])
			s.Answer(guess, given[1])
			s.Enter(2)
			tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/" + crashes})
			for s.Look() {
			}
			if s.Settled(guess) {
				all = append(all, given)
			}
		}
		return all
	}
	a, b := right("a"), right("b")
	if len(a) != 1 || len(b) != 1 || a[0][0] != b[0][1] || a[0][1] != b[0][0] || a[0][0] == a[0][1] {
		t.Errorf("as a crashes %v are right, and as b does %v; want two labels, and the other way round", a, b)
	}
	_, err := lessons.Parse("lesson.md", []byte(asking(labelling, "+ item", "+ itme")), panes.Names())
	if err == nil || !strings.Contains(err.Error(), `unknown name "itme"; did you mean "item"`) {
		t.Errorf("a name that there is not gives %v", err)
	}
}

// TestAKeptAnswerIsOfTheQuestionAsItStood keeps an answer, and then has the author write the choices in another order:
// the place of the answer is that of another one now, so it is no answer.
func TestAKeptAnswerIsOfTheQuestionAsItStood(t *testing.T) {
	lines := strings.SplitAfter(choosing, "\n")
	lines[3], lines[4] = lines[4], lines[3]
	s, guess, _ := at(t, choosing)
	s.Answer(guess, 1)
	kept := lessons.SaidOf(s.Session, guess)
	if kept == nil || kept.Of == "" {
		t.Fatalf("what is kept is %+v", kept)
	}
	s, guess, _ = at(t, choosing)
	if got := lessons.Says(s.Session, guess, kept); got == nil || got.Parts[0] != 1 {
		t.Errorf("the same question has the answer %+v; want the one that was kept", got)
	}
	s, guess, _ = at(t, strings.Join(lines, ""))
	if got := lessons.Says(s.Session, guess, kept); got != nil {
		t.Errorf("the question whose choices stand otherwise has the answer %+v; want none", got)
	}
	old := *kept
	old.Of = ""
	s, guess, _ = at(t, choosing)
	if got := lessons.Says(s.Session, guess, &old); got != nil {
		t.Errorf("an answer to a question of which nothing is known is taken: %+v", got)
	}
}
