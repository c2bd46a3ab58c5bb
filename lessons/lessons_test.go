package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kviz/assets"
	"kviz/cluster/glossary"
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
					for _, line := range strings.Split(l.Words, "\n") {
						if line = strings.TrimSpace(line); len(line) > 12 && strings.Contains(h.Text, line) {
							t.Errorf("%s: a hint of %s gives the solution away: %s", l.ID, g.ID, h.Text)
						}
					}
				}
			}
		}
		if err := l.Terms(all, glossary.Words()); err != nil {
			t.Error(err)
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
format: 2
version: 1
id: T1
title: Small
part: Tests
teaches: [nothing]
minutes: 1
---

## One

### Look {#look} see

First paragraph
on two lines.

The second
one.

` + "```stage\nshow: events\nspot: events:one\nstill: true\n```" + `

<!-- note: say
this -->

### Guess {#guess} predict

Guess.

` + "```question" + `
ask: Which queue?
reveal: event.kind == "queue.add"
choices:
- {text: a, right: true, why: yes indeed, is: 'event.payload.queue == "a"'}
- {text: b, why: not so, is: 'event.payload.queue == "b"'}
` + "```" + `

### Do {#do} do

Do it.

` + "```offer\n- kubectl get pods\n```" + `
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

### Lasting {#lasting} do

Keep it.

` + "```offer\n- kubectl get pods\n```" + `
` + "```goal" + `
id: level
say: nothing ready for some time
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

// attempt is one at a small lesson, at a beat of it.
type attempt struct {
	*lessons.Session
	step *lessons.Step
	seq  uint64
}

func begin(t *testing.T, text string, beat int) *attempt {
	t.Helper()
	l, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{Session: lessons.NewSession(l, view.NewBuilder().Mark()), step: l.Steps[beat]}
	lessons.Enter(a.Session, beat)
	return a
}

func (a *attempt) queue(kind trace.Kind, name string, ready int, at time.Duration) {
	a.seq++
	a.Apply(&trace.Event{ID: trace.ID{Seq: a.seq}, At: at, Kind: kind, Payload: &trace.QueueItem{Queue: name, Key: "k", Ready: ready}})
}

// open are the goals of the beat that are not met.
func (a *attempt) open() string {
	var names []string
	for _, g := range a.step.Goals {
		if !a.Met(g) {
			names = append(names, g.ID)
		}
	}
	return strings.Join(names, " ")
}

func TestProse(t *testing.T) {
	step := begin(t, small, 0).step
	if got, want := step.Text, "First paragraph on two lines.\n\nThe second one."; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := step.Notes; got != "say this" {
		t.Errorf("notes %q", got)
	}
}

func TestEdges(t *testing.T) {
	a := begin(t, small, 2)
	if got := a.open(); got != "one two" || a.Passed(a.step) {
		t.Errorf("open at the start: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 1, time.Second)
	if got := a.open(); got != "two" || a.Passed(a.step) { // one event is not both
		t.Errorf("after one add: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 2, 2*time.Second)
	if got := a.open(); got != "" || !a.Passed(a.step) {
		t.Errorf("after two adds: %s", got)
	}
}

func TestLevels(t *testing.T) {
	a := begin(t, small, 3)
	a.queue(trace.QueueAdd, "a", 2, 2*time.Second)
	if got := a.open(); got != "level" {
		t.Errorf("open at the start: %s", got)
	}
	a.queue(trace.QueueGet, "a", 0, 3*time.Second)
	a.queue(trace.QueueDone, "a", 0, 4*time.Second)
	if a.Passed(a.step) {
		t.Error("passed although it has not lasted")
	}
	a.queue(trace.QueueDone, "c", 0, 6*time.Second)
	if got := a.open(); got != "" || !a.Passed(a.step) {
		t.Errorf("open: %s", got)
	}
	a.queue(trace.QueueAdd, "a", 1, 7*time.Second)
	if got := a.open(); got != "level" || !a.Passed(a.step) {
		t.Errorf("it holds no longer, and was done once: %s", got)
	}
	a.queue(trace.QueueAdd, "b", 1, 11*time.Second)
	if got := a.open(); got != "level never" {
		t.Errorf("after what must never happen: %s", got)
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

func TestPredictions(t *testing.T) {
	for answer, want := range []string{"Right (#1). yes indeed", "No (#1). not so What happened: a. yes indeed"} {
		a := begin(t, small, 1)
		step := a.step
		if a.Verdict(step) != "" || a.Revealed(step) || a.Passed(step) {
			t.Error("judged before it was answered")
		}
		if !a.Answer(step, answer) || !a.Passed(step) {
			t.Error("the answer is not taken")
		}
		if a.Answer(step, 1-answer) {
			t.Error("an answer was changed")
		}
		a.queue(trace.QueueAdd, "a", 1, time.Second)
		if got := a.Verdict(step); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
	}
}

func TestHintsFitWhereOneStands(t *testing.T) {
	a := begin(t, small, 2)
	do := a.step
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
		{"format: 2", "format: 9", "the lesson has format 9; kviz plays lessons of format 2 alone"},
		{"format: 2", "format: 1", "the lesson has format 1; kviz plays lessons of format 2 alone: chapters (##) of beats (###), each with one or two short paragraphs and its blocks, the commands that it offers among them; see kviz help lessons"},
		{"format: 2", "view: [map]", "the lesson does not say which format it has (format: 2)"},
		{"title: Small", "titel: Small", `unknown field "titel"`},
		{"{#look} see", "{#look} watch", `lesson.md:13: "### Look {#look} watch" is no beat`},
		{`edge: event.kind == "queue.add"`, `edge: evnt.kind == "queue.add"`, `goal: "one": expression, column 1: unknown name "evnt"; did you mean "event"?`},
		{"after: one", "after: none", `goal "two" comes after "none", which is no goal before it`},
		{"hints: [{text: again}]", "", `goal "two" has no hint`},
		{"right: true, ", "", `one of them right`},
		{"hold: 2s", "hold: soon", `hold "soon"`},
		{"id: two", "id: one", `goal "one" of beat "do" needs an id of its own`},
		{"Do it.", "", `beat "do" has no text`},
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
		"010/lesson.md": {Data: []byte(small)},
		"020/lesson.md": {Data: []byte("not a lesson")},
		"030/lesson.md": {Data: []byte(small)},
	}
	all, err := lessons.Load(fsys, panes.Names())
	if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "020/lesson.md:1") || !strings.Contains(err.Error(), `the same id "T1"`) {
		t.Errorf("%d lessons, %v", len(all), err)
	}
}
