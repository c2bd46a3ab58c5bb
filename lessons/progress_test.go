package lessons_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kviz/lessons"
	"kviz/tui/panes"
)

func TestProgressIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kviz", "progress.json")
	p, err := lessons.LoadProgress(path)
	if err != nil {
		t.Fatal(err)
	}
	want := lessons.Mark{Done: true, Step: "free", Hints: 2}
	if err := lessons.SetMark(p, "L02", want); err != nil {
		t.Fatal(err)
	}
	q, err := lessons.LoadProgress(path)
	if err != nil || !reflect.DeepEqual(q.Lessons["L02"], want) {
		t.Errorf("read back %+v, %v", q.Lessons, err)
	}
}

// A file of the first version goes on where it was, and is kept; one of a version to come is
// left alone.
func TestProgressOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "progress.json")
	first := `{"version": 1, "lessons": {"L02": {"done": true, "step": "free", "hints": 1}, "L09": {"step": "crash"}}}`
	if err := os.WriteFile(path, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := lessons.LoadProgress(path)
	if err != nil || !p.Lessons["L02"].Done || p.Lessons["L09"].Step != "crash" {
		t.Fatalf("%+v, %v", p.Lessons, err)
	}
	if err := lessons.Noted(p, "L09", "guess", true, 2); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "progress.v1.json")); err != nil || string(kept) != first {
		t.Errorf("kept is %s, %v", kept, err)
	}
	now, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(now), `"version": 2`) || !strings.Contains(string(now), `"beat": "crash"`) {
		t.Errorf("it is\n%s, %v", now, err)
	}
	later := `{"version": 3, "lessons": {}}`
	if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err = lessons.LoadProgress(path)
	if err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("version 3 is read: %v", err)
	}
	if err := lessons.Noted(p, "L09", "guess", true, 2); err != nil {
		t.Error(err)
	}
	if now, _ := os.ReadFile(path); string(now) != later {
		t.Errorf("a file of version 3 was replaced by\n%s", now)
	}
}

// forRecall is a lesson with three predictions, of which it names one.
const forRecall = `---
format: 2
version: 1
id: L50
title: Guesses
part: Tests
teaches: [nothing]
minutes: 5
---

## Guesses
%s
### Your turn {#free} free

Try.

` + "```goal\nid: any\nsay: something was broken\noptional: true\nedge: event.kind == \"fault.inject\"\nhints: [Anything.]\n```\n\n```recall\n- {beat: named, after: [2d, 9d], with: {members: 5}}\n```\n"

func guess(id string) string {
	choices := []string{"  - {text: This, right: true, why: So}\n", "  - {text: That, why: No}\n"}
	if id == "right" { // its place is nowhere by habit
		slices.Reverse(choices)
	}
	return fmt.Sprintf("\n### What then? {#%s} predict\n\nWell?\n\n```stage\nshow: map/picture\nstill: true\n```\n\n```question\nask: What?\nsource: a page\nchoices:\n%s```\n", id, strings.Join(choices, ""))
}

// A lesson can only have predictions of its own come back.
func TestRecallOfNothing(t *testing.T) {
	for was, wants := range map[string]string{"beat: named": `there is no predict beat "none"`, "after: [2d": `after "soon": want a number of days`} {
		is := map[string]string{"beat: named": "beat: none", "after: [2d": "after: [soon"}[was]
		text := strings.Replace(fmt.Sprintf(forRecall, guess("named")), was, is, 1)
		_, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(text)}}, panes.Names())
		if err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v, want %s", is, err, wants)
		}
	}
}

// Questions come back: what a lesson names after its days, what was wrong or a guess the next
// day. Right, they wait longer each time, and end; wrong, they begin again.
func TestQuestionsComeBack(t *testing.T) {
	text := fmt.Sprintf(forRecall, guess("named")+guess("wrong")+guess("right"))
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(text)}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	l := all[0]
	for beat, members := range map[string]int{"named": 5, "wrong": 3} {
		if got := lessons.RecallScene(l, beat).Members; got != members {
			t.Errorf("%s is asked on %d members, want %d", beat, got, members)
		}
	}
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	p := lessons.NewProgress(func() time.Time { return now })
	for beat, right := range map[string]bool{"named": true, "wrong": false, "right": true} {
		if err := lessons.Noted(p, "L50", beat, right, 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := lessons.Finish(p, l); err != nil {
		t.Fatal(err)
	}
	var story []string
	for d := range 40 {
		for _, due := range p.Due() {
			right := due.Beat != "wrong" || due.Streak > 0 || d > 3 // at first it is wrong again
			if err := lessons.Recalled(p, due, l, right, 2); err != nil {
				t.Fatal(err)
			}
			story = append(story, fmt.Sprintf("day %d: %s %s", d, due.Beat, map[bool]string{true: "right", false: "wrong"}[right]))
		}
		now = now.AddDate(0, 0, 1)
	}
	want := []string{
		"day 1: wrong wrong", "day 2: named right", "day 2: wrong wrong", "day 3: wrong wrong", "day 4: wrong right",
		"day 7: wrong right", "day 11: named right", "day 14: wrong right", "day 35: wrong right",
	}
	if !reflect.DeepEqual(story, want) {
		t.Errorf("the story is\n%s\nwant\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
	}
	if len(p.Recall) != 0 {
		b, _ := json.Marshal(p.Recall)
		t.Errorf("in the end these come back: %s", b)
	}
}
