//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/panes"
)

// A newcomer takes a lesson in beats by the keys that are printed on the screen alone: enter
// where a command is offered, a digit where something is asked, else space. It comes to its
// end, every goal done. L09 and L02, which [TestLessonInBeatsByKeys] takes, have questions of every
// form and beats of every kind that there are; that all lessons can be done by what they
// offer is TestLessonsHold in package lessons.
func TestTheStageByPrintedKeys(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 80, 24, "lesson", "start", "L09", "--speed", "10")
	s.sees("beat 1 of").misses("Setting the scene")
	s.goesOn("done ✓")
	s.press("q").sees("Leave kviz?").press("q").ends(0)
}

// What is played by keys here has all that a key can be printed for in a lesson.
func TestPlayedByKeysIsEveryFormThatThereIs(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{}
	has := func(l *lessons.Lesson) (all []string) {
		for _, step := range l.Steps {
			all = append(all, fmt.Sprint(step.Kind))
			if q := step.Question; q != nil {
				all = append(all, fmt.Sprint(q.Form(), q.Quiz()))
			}
		}
		return all
	}
	for _, l := range all {
		if l.ID == "L02" || l.ID == "L09" {
			for _, what := range has(l) {
				played[what] = true
			}
		}
	}
	for _, l := range all {
		for _, what := range has(l) {
			if !played[what] {
				t.Errorf("%s has a beat or question that no lesson has which is played by keys: %s", l.ID, what)
			}
		}
	}
}

// Who crashed another member than the beat means takes that back with one key, does what it means,
// and can go and look at the run that was left.
func TestUndoOnTheScreen(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 80, 24, "lesson", "start", "L09#crash", "--speed", "10")
	s.sees("Crash the leader", "1 of 2 · Enter runs it")
	s.press(":").command("kviz fault crash member/b").sees("not what the beat needs", "you crashed member/b, the goal says a", "u  Undo: back to #")
	s.press("u").sees("1 of 2 · Enter runs it", "stays to be looked at").misses("not what the beat needs")
	s.press("enter").sees("● the leader, ", "2 of 2").press("enter").sees("All of it is done")
	s.press("x").misses("All of it is done: space").press("B").sees("first run", "left first run at #", "● run 2")
	s.press("esc").misses("left first run").press("q").sees("Leave kviz?").press("q").ends(0)
}

// goesOn presses printed keys until the screen shows something.
func (s *terminal) goesOn(until string) {
	s.t.Helper()
	for range 400 { // more keys than any lesson wants
		if strings.Contains(s.text(), until) {
			return
		}
		s.pressPrinted()
	}
	s.t.Fatalf("printed keys do not lead to %q:\n%s", until, s.text())
}

// pressPrinted presses the key that the stage asks for.
func (s *terminal) pressPrinted() {
	s.t.Helper()
	was := s.text()
	switch {
	case strings.Contains(was, "type a number"):
		s.press("2", "\r")
	case strings.Contains(was, "⏎ point"):
		s.press("\r")
	case strings.Contains(was, "How sure are you?"):
		s.press("2")
	case asked.MatchString(was):
		s.press(digitFree(was))
	case strings.Contains(was, "Enter runs it"), strings.Contains(was, "⏎ run"): // beside a long command there is room for the key alone
		s.press("\r")
	case strings.Contains(was, "space on"):
		s.press(" ")
	}
	s.until("nothing happens after a key of", func(text string) bool { return text != was }, []string{was})
}

// asked is the line of keys where something is asked.
var asked = regexp.MustCompile(`(?m)^ 1(-[1-9])? answer `)

// free is an answer that is not given yet; a card that has its place shows it.
var free = regexp.MustCompile(`(?m)^    ([1-9]) |^[^│\n]*\[([1-9])\] `)

// digitFree is an answer that is not given yet.
func digitFree(screen string) string {
	if found := free.FindStringSubmatch(screen); found != nil {
		return found[1] + found[2]
	}
	return "1"
}
