package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kviz/assets"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/panes"
)

func TestEveryLessonIsWellFormed(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no lessons")
	}
	known := map[string]bool{}
	for _, l := range all {
		known[l.ID] = true
		if l.Setup == "" || l.Cleanup == "" || len(l.Accepted) == 0 || len(l.Near) == 0 {
			t.Errorf("%s lacks a setup, a clean-up, another accepted solution or a near-miss", l.ID)
		}
		if last := l.Steps[len(l.Steps)-1]; last.Kind != lessons.Free {
			t.Errorf("%s ends with a step of kind %s; the last is free, so that nobody is sent away", l.ID, last.Kind)
		}
		notes := 0
		for _, s := range l.Steps {
			if strings.Contains(s.Text, "<!--") {
				t.Errorf("%s, step %s shows a comment", l.ID, s.ID)
			}
			if s.Notes != "" {
				notes++
			}
			for _, g := range s.Goals {
				for _, h := range g.Hints {
					// Hints point at what is wrong or where to look; they never are the command.
					for _, line := range strings.Split(l.Words+"\n"+l.Solution, "\n") {
						if line = strings.TrimSpace(line); len(line) > 12 && strings.Contains(h.Text, line) {
							t.Errorf("%s: a hint of %s gives the solution away: %s", l.ID, g.ID, h.Text)
						}
					}
				}
			}
		}
		if notes == 0 {
			t.Errorf("%s has no speaker notes", l.ID)
		}
	}
	for _, l := range all {
		for _, n := range l.Needs {
			if !known[n] {
				t.Errorf("%s needs %s, which there is not", l.ID, n)
			}
		}
	}
}

const small = `---
format: 1
id: T1
title: Small
part: Tests
teaches: [nothing]
minutes: 1
---

## Look {#look} see

First paragraph
on two lines.

- one
- two

<!-- note: say
this -->

## Guess {#guess} predict

` + "```question" + `
ask: Which queue?
reveal: event.kind == "queue.add"
choices:
- {text: a, right: true, why: yes indeed, is: 'event.payload.queue == "a"'}
- {text: b, why: not so, is: 'event.payload.queue == "b"'}
` + "```" + `

## Do {#do} do

Do it.

` + "```goal" + `
id: one
say: first
edge: event.kind == "queue.add"
hints: [{when: clock.paused, text: it is paused}, {text: add something}]
` + "```" + `
` + "```goal" + `
id: two
say: second
after: one
edge: event.kind == "queue.add"
hints: [{text: again}]
` + "```" + `

## Lasting {#lasting} do

Keep it.

` + "```goal" + `
id: level
say: nothing ready for 2 s
level: queues["a"].depth == 0
hold: 2s
hints: [{text: wait}]
` + "```" + `
` + "```goal" + `
id: never
say: b is left alone
never: event.kind == "queue.add" && event.payload.queue == "b"
` + "```" + `
`

type attempt struct {
	*lessons.Session
	l   *lessons.Lesson
	seq uint64
}

func begin(t *testing.T, text string) *attempt {
	t.Helper()
	l, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	return &attempt{Session: lessons.NewSession(l, view.NewBuilder().Mark()), l: l}
}

func (a *attempt) queue(kind trace.Kind, name string, ready int, at time.Duration) {
	a.seq++
	a.Apply(&trace.Event{ID: trace.ID{Seq: a.seq}, At: at, Kind: kind, Payload: &trace.QueueItem{Queue: name, Key: "k", Ready: ready}})
}

func (a *attempt) open() string {
	var names []string
	for _, g := range a.Unmet() {
		names = append(names, g.ID)
	}
	return strings.Join(names, " ")
}

func TestProse(t *testing.T) {
	a := begin(t, small)
	if got, want := a.l.Steps[0].Text, "First paragraph on two lines.\n\n- one\n- two"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := a.l.Steps[0].Notes; got != "say this" {
		t.Errorf("notes %q", got)
	}
}

func TestGoals(t *testing.T) {
	a := begin(t, small)
	if got := a.open(); got != "one two level" {
		t.Errorf("open at the start: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 1, time.Second)
	if got := a.open(); got != "two level" { // one event is not both
		t.Errorf("after one add: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 2, 2*time.Second)
	if got := a.open(); got != "level" {
		t.Errorf("after two adds: %s", got)
	}
	a.queue(trace.QueueGet, "a", 0, 3*time.Second)
	a.queue(trace.QueueDone, "a", 0, 4*time.Second)
	if a.Solved() {
		t.Error("solved although it has not lasted")
	}
	a.queue(trace.QueueDone, "c", 0, 6*time.Second)
	if !a.Solved() {
		t.Errorf("open: %s", a.open())
	}
	a.queue(trace.QueueAdd, "a", 1, 7*time.Second)
	if a.Solved() {
		t.Error("solved although it holds no longer")
	}
	a.queue(trace.QueueGet, "a", 0, 8*time.Second)
	a.queue(trace.QueueAdd, "b", 1, 11*time.Second)
	if got := a.open(); got != "never" {
		t.Errorf("after what must never happen: %s", got)
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

func TestPredictions(t *testing.T) {
	for answer, want := range []string{"Right (#1). yes indeed", "No (#1). not so What happened: a. yes indeed"} {
		a := begin(t, small)
		step := a.l.Steps[1]
		if a.Verdict(step) != "" || a.Revealed(step) || a.Passed(step) {
			t.Error("judged before it was answered")
		}
		if !a.Answer(step, answer) || !a.Passed(step) {
			t.Error("the answer is not taken")
		}
		a.queue(trace.QueueAdd, "a", 1, time.Second)
		if got := a.Verdict(step); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
		if a.Answer(step, 0) {
			t.Error("an answer was changed after the event")
		}
	}
}

func TestHintsFitWhereOneStands(t *testing.T) {
	a := begin(t, small)
	do := a.l.Steps[2]
	hints := func() string {
		var s []string
		for _, h := range a.Hints(do) {
			s = append(s, h.Text)
		}
		return strings.Join(s, ", ")
	}
	if got := hints(); got != "add something" {
		t.Errorf("running: %s", got)
	}
	a.seq++
	a.Apply(&trace.Event{ID: trace.ID{Seq: a.seq}, Kind: trace.ClockChanged, Payload: &trace.Clock{Paused: true}})
	if got := hints(); got != "it is paused, add something" {
		t.Errorf("paused: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 1, time.Second)
	if got := hints(); got != "again" {
		t.Errorf("at the second goal: %s", got)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"format: 1", "format: 9", "the lesson has format 9"},
		{"title: Small", "titel: Small", `unknown field "titel"`},
		{"{#look} see", "{#look} watch", `lesson.md:10: "## Look {#look} watch" is no step`},
		{`edge: event.kind == "queue.add"`, `edge: evnt.kind == "queue.add"`, `goal "one": expression, column 1: unknown name "evnt"; did you mean "event"?`},
		{"after: one", "after: none", `goal "two" comes after "none", which is no goal before it`},
		{"hints: [{text: again}]", "", `goal "two" has no hint`},
		{"right: true, ", "", `one of them right`},
		{"hold: 2s", "hold: soon", `hold "soon"`},
		{"id: two", "id: one", `goal "one" of step "do" needs an id of its own`},
		{"Do it.", "", `step "do" has no text`},
		{"Do it.", "TO" + "DO", `it is not finished`},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if text == small {
			t.Fatalf("%q is not in the lesson", c.old)
		}
		_, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s\ngives %v\nwant  …%s…", c.old, c.new, err, c.want)
		}
	}
}

func TestOneBadLessonDoesNotHideTheOthers(t *testing.T) {
	fsys := fstest.MapFS{
		"010/lesson.md":   {Data: []byte(small)},
		"010/solution.sh": {Data: []byte("kubectl get pods\n")},
		"020/lesson.md":   {Data: []byte("not a lesson")},
		"030/lesson.md":   {Data: []byte(small)},
		"030/solution.sh": {Data: []byte("kubectl get pods\n")},
	}
	all, err := lessons.Load(fsys, panes.Names())
	if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "020/lesson.md:1") || !strings.Contains(err.Error(), `the same id "T1"`) {
		t.Errorf("%d lessons, %v", len(all), err)
	}
}
