package teacher

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class"
)

// TestAProjectorThroughALesson: a clicker leads through it; answers are seen by nobody until they are shown, and then at the
// cells of the picture; what came is marked once the run has shown it.
func TestAProjectorThroughALesson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		c.joined(24)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		s.shows("ssh -p 2222 lab.example.org", "plum-42", "beat 1 of 7")
		s.hides("#", "space", "⏸")
		s.golden("projector-1-see")
		s.press("pgdown")
		s.stands("on-disk")
		s.press("pgdown")
		s.stands("guess")
		c.says("guess", 12, 6)
		s.shows("18 of 24 have answered", "1  ", "2  ")
		s.hides("choice", "█")
		s.golden("projector-2-poll")
		s.press("V")
		s.shows("closed: 18 of 24 answered")
		s.hides("█", "what the class said")
		s.press("pgdown")
		s.stands("committed")
		s.hides("what the class said", "█ 12", "┆ 12")
		s.shows("✓ ")
		s.golden("projector-3-hidden")
		s.press("V")
		s.shows("┆ 12 of 18: ", "┆ 6 of 18: ", ": goes on", ": stays", "what the class said", "█ 12", "✓ ", "✗ ")
		s.golden("projector-4-shown")
		s.press("pgdown")
		s.stands("which")
		s.shows("Point at it.")
		s.hides("█", "You point at")
		s.press("V", "pgdown")
	})
}

// TestTheTeacherPoints at a cell of the picture, on the projector; the answer is the cell under the pointer.
func TestTheTeacherPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		for _, beat := range []string{"members", "on-disk"} {
			s.stands(beat)
			s.press("space")
		}
		s.stands("guess")
		s.press("1", "3", "pgdown")
		s.stands("committed")
		s.press("pgdown")
		s.stands("which")
		s.shows("Point at it.  member a (1 of 3)")
		first := plane(s.m.screen().canvas.Planes())
		s.press("down")
		s.shows("member b (2 of 3)")
		if plane(s.m.screen().canvas.Planes()) == first {
			t.Error("the pointer has not moved")
		}
		s.golden("projector-7-points")
		s.press("down", "down", "up")
		s.shows("member b (2 of 3)")
		if st := c.room.State().Polls["which"].State; st != class.Open {
			t.Errorf("the poll is %q before the teacher answers", st)
		}
		s.press("enter")
		s.until("that the poll is closed", func(string) bool { return c.room.State().Polls["which"].State == class.Closed })
		s.press("space", "space")
		s.stands("crash")
		c.crashes.Store(true)
		s.shows("● the leader, a, has crashed", "member b")
		s.hides("Right")
	})
}

// TestAGateOnAProjector: the goals, how many have done it, the command that is offered and what it printed.
func TestAGateOnAProjector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		c.joined(24)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		for _, beat := range []string{"members", "on-disk"} {
			s.stands(beat)
			s.press("space")
		}
		s.stands("guess")
		s.press("1", "3", "pgdown")
		s.stands("committed")
		s.shows("┆ the class: ")
		s.press("pgdown")
		s.stands("which")
		s.press("enter", "enter", "space")
		s.stands("crash")
		s.shows("○ the leader", "$ kviz fault crash member/")
		s.press("G")
		c.room.Progress("anna", "crash", 2, 2, "", false)
		c.room.Progress("bo", "crash", 1, 2, "you crashed member/b", false)
		s.shows("1 of 24 have done it")
		s.golden("projector-5-gate")
		c.crashes.Store(true)
		s.shows("● the leader, a, has crashed", "Right")
		s.hides("kviz fault", "#")
		s.press("A")
		if called := c.room.State().Called; called == 0 {
			t.Error("nobody is called back")
		}
		s.press(":")
		for _, r := range "echo hi" {
			s.press(string(r))
		}
		s.shows("$ echo hi▏")
		s.press("enter")
		s.shows("$ echo hi")
		s.press("pgup")
		other := c.sees(NewProjector(t.Context(), c.cfg), 80, 24) // it was not there as the command ran
		other.hides("echo hi")
		s.press("pgdown")
		other.shows("$ echo hi")
		s.press("G")
		if g := c.room.State().Gates["crash"]; g.State != class.Closed {
			t.Errorf("the gate is %q", g.State)
		}
	})
}

// TestKeysOfAProjector: black and back, the spotlight, event numbers, the clock, the echo of a key, and the two ways out.
func TestKeysOfAProjector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		ended := false
		c.cfg.End = func() { ended = true }
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		s.m.View()
		before := plane(s.m.screen().canvas.Planes())

		s.press(".")
		s.until("black", func(on string) bool { return !strings.Contains(on, "member") && !strings.Contains(on, "plum") })
		s.shows(" .") // the key is echoed
		time.Sleep(2 * time.Second)
		s.until("nothing at all", func(on string) bool { return strings.TrimSpace(on) == "" })
		s.press("b")
		s.shows("plum-42")

		s.press("s")
		s.shows("press the letters")
		s.golden("projector-6-spots")
		p := s.m.(*Projector)
		name, letters := "", ""
		for i, place := range p.spot.places {
			if place.Name == "store:member/c" {
				name, letters = place.Name, label(i, len(p.spot.places))
			}
		}
		if name == "" {
			t.Fatalf("member c cannot be ringed: %v", p.spot.places)
		}
		for _, l := range letters {
			s.press(string(l))
		}
		s.until("a ring around c", func(string) bool {
			spots := s.m.screen().scene.Stand.Spots
			return len(spots) == 1 && spots[0] == name
		})
		s.press("s")
		s.until("no ring of the teacher's", func(string) bool { return len(s.m.screen().scene.Stand.Spots) == 0 })
		time.Sleep(2 * time.Second)
		s.settles()
		s.m.View()
		if after := plane(s.m.screen().canvas.Planes()); after != before {
			t.Errorf("it is not as it was:\n%s", after)
		}

		s.press("e")
		s.shows("#")
		s.press("e", "t")
		s.shows("of 5:00")
		s.press("t")
		s.hides("of 5:00")

		s.press("q")
		s.shows("only this screen", "end the class")
		s.press("esc")
		s.hides("only this screen")
		s.press("q", "E")
		if !ended || !s.left {
			t.Error("the class goes on")
		}
		ended, s.left = false, false
		s.press("q", "q")
		if ended || !s.left {
			t.Error("only the screen was to be left")
		}
	})
}

// TestAScreenAtRest draws nothing: the same string, and no tick.
func TestAScreenAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		s.m.View()
		before := s.m.screen().drawn
		for range 100 {
			time.Sleep(time.Second)
			s.settles()
		}
		s.m.View()
		if after := s.m.screen().drawn; after != before {
			t.Errorf("it was drawn %d times more, and nothing had changed", after-before)
		}
	})
}

// The address of the class's page stands where there is room for it: beside the code, else above it.
func TestTheProjectorNamesThePage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := teaches(t)
		c.cfg.Join.Page = "http://lab.example.org:8080"
		c.cfg.Looking = func() int { return 7 }
		p := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		p.stands("members")
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			p.hears(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			p.shows("or  http://lab.example.org:8080", "code  plum-42", "beat 1 of 7")
		}
		n := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
		n.stands("members")
		n.shows("7 by the page", "http://lab.example.org:8080")
	})
}
