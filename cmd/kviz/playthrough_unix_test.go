//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// Lessons about the store are gone through by keys, to their end, as a learner
// does: read on, answer, and where a step wants something done, type what the
// lesson's own solution does next until the step says that it is done. What is
// typed and answered is read from the lesson, so that it may change.
func TestStoreLessonsByKeys(t *testing.T) {
	t.Parallel()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, play := range []struct {
		id   string
		w, h int
	}{
		{"L11b", 120, 40},
	} {
		t.Run(play.id, func(t *testing.T) {
			t.Parallel()
			for _, l := range all {
				if l.ID == play.id {
					playThrough(t, l, play.w, play.h)
					return
				}
			}
			t.Fatal("there is no such lesson")
		})
	}
}

// A newcomer takes lessons in beats by the keys that are printed on the screen alone: enter
// where a command is offered, a digit where something is asked, else space. Each comes to its
// end, every goal done.
func TestTheStageByPrintedKeys(t *testing.T) {
	t.Parallel()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Format == 1 {
			continue
		}
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			s := begin(t, t.TempDir(), 80, 24, "lesson", "start", l.ID, "--speed", "10")
			s.sees("beat 1 of").misses("Setting the scene")
			s.goesOn("done ✓")
			s.press("q").sees("Leave kviz?").press("q").ends(0)
		})
	}
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
var free = regexp.MustCompile(`(?m)(?:^    |\[ \] )([1-9]) `)

// digitFree is an answer that is not given yet.
func digitFree(screen string) string {
	if found := free.FindStringSubmatch(screen); found != nil {
		return found[1]
	}
	return "1"
}

// playThrough goes through a lesson.
func playThrough(t *testing.T, l *lessons.Lesson, w, h int) {
	home := t.TempDir()
	p := &playing{t: t, home: home, parts: append([]string{l.Words}, scriptParts(l.Solution)...)}
	p.s = begin(t, home, w, h, "lesson", "start", l.ID, "--speed", "10")
	for i, step := range l.Steps {
		begins := strings.Join(strings.Fields(step.Title)[:2], " ") // what the scene's being set is not told with
		p.s.sees(fmt.Sprintf("%d/%d", i+1, len(l.Steps)), begins).misses("Setting the scene")
		if step.Question != nil {
			p.answer(step.Question)
		}
		if len(step.Goals) > 0 {
			p.solve()
		}
		if i+1 < len(l.Steps) {
			p.s.press("ctrl+n")
		}
	}
	for p.next < len(p.parts) { // what a last step is about
		p.typeNext()
	}
	p.s.sees("✓ Done").press("ctrl+x").misses("✓ Done").press("ctrl+c", "esc").sees("f break it").press("q").sees("Leave kviz?").press("q").ends(0)
}

// playing is a lesson under way.
type playing struct {
	t       *testing.T
	s       *terminal
	home    string
	parts   []string // of the solution; those from next on are not typed yet
	next    int
	console bool
}

// answer presses the keys of the right answer.
func (p *playing) answer(q *lessons.Question) {
	p.t.Helper()
	for _, n := range q.Right() {
		p.s.press(fmt.Sprintf("\x1b%d", n)) // alt and the number: it works in the console too
	}
}

// solve types the parts of the solution until the step is done.
func (p *playing) solve() {
	p.t.Helper()
	for p.next < len(p.parts) && !strings.Contains(p.s.text(), "All of it is done") {
		p.typeNext()
	}
	p.s.sees("All of it is done")
}

// typeNext has the console run the next part, and waits for its end.
func (p *playing) typeNext() {
	p.t.Helper()
	name := filepath.Join(p.home, fmt.Sprintf("part-%d.sh", p.next))
	if err := os.WriteFile(name, []byte(p.parts[p.next]+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if !p.console {
		p.s.press(":")
		p.console = true
	}
	p.next++
	p.s.command(fmt.Sprintf(". '%s'; echo part-$((%d+0))-ended", name, p.next)).sees(fmt.Sprintf("part-%d-ended", p.next))
}
