package teacher

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class/guest"
	"kviz/tui/class/student"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// follower is a student's terminal.
type follower struct {
	m     tea.Model
	msgs  chan tea.Msg
	leave func()
}

// follows is a student whose screen the teacher may ask to see. It must be in a bubble.
func (c *taught) follows(s *guest.Screens, name string, w, h int) *follower {
	host, ended := s.Begin(name), make(chan struct{})
	m := student.New(student.Config{
		Name: name, Teacher: "ada", Lead: c.lead, Room: c.room, Panes: panes.All, Theme: "dark",
		Changes: func() (scene, room <-chan struct{}) { return c.lead.Changed.Next(), c.room.Changed.Next() },
		Alone:   func() string { return "" },
	}, ended)
	f := &follower{m: host.Wrap(m), msgs: make(chan tea.Msg, 1000), leave: sync.OnceFunc(func() { host.End(); close(ended) })}
	f.runs(f.m.Init())
	f.hears(tea.WindowSizeMsg{Width: w, Height: h})
	return f
}

func (f *follower) runs(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, one := range msg {
				f.runs(one)
			}
		default:
			f.msgs <- msg
		}
	}()
}

func (f *follower) hears(msg tea.Msg) {
	_, cmd := f.m.Update(msg)
	f.m.View()
	f.runs(cmd)
}

// settles waits until nothing more comes at this moment.
func (f *follower) settles() {
	for {
		synctest.Wait()
		select {
		case msg := <-f.msgs:
			f.hears(msg)
			continue
		default:
		}
		return
	}
}

// types presses keys, which answer questions too.
func (f *follower) types(keys ...string) {
	f.settles()
	time.Sleep(2 * time.Second)
	for _, k := range keys {
		f.hears(tuitest.Press(k))
		f.settles()
	}
}

// TestTheTeacherLooksIn from the board, where the student agrees, and types on their keys where they agree to that too.
func TestTheTeacherLooksIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		screens := guest.New("ada")
		c.cfg.LookInto = screens.Look
		s := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		c.joined(2)
		s.press("B")
		s.shows("anna")
		s.press("enter")
		s.shows("anna has no screen here now")
		anna, bo := c.follows(screens, "anna", 80, 24), c.follows(screens, "bo", 100, 30)
		defer anna.leave()
		defer bo.leave()
		s.press("enter")
		s.shows("anna is asked, on their screen.", "look away")
		s.hides("following ada")
		s.golden("look-1-asked")
		anna.types("n")
		s.shows("anna does not want you to look now", "back to the board")
		s.press("B", "q", "A") // as if the teacher typed still
		s.shows("anna does not want")
		s.press("esc", "enter")
		anna.types("y")
		s.shows("following ada", "copy of one log", "anna's screen  80x23 of 80x24", "type on their keys")
		s.golden("look-2-sees")
		s.press("down")
		s.shows("q leave") // the last row of it
		s.press("up", "@")
		s.shows("they are asked for their keys")
		s.press("h") // no hand yet
		anna.types("y")
		s.shows("you type on their keys", "let go")
		s.golden("look-3-types")
		s.press("?", "w", "h", "y")
		anna.settles()
		s.shows("your question: why")
		s.press("esc", "h", "q")
		anna.settles()
		s.shows("only anna can leave here")
		if seat, _ := c.room.State().Seat("anna"); !seat.Hand || seat.Asks != "" {
			t.Errorf("anna's hand and question: %+v", seat)
		}
		if seat, _ := c.room.State().Seat("bo"); seat.Hand {
			t.Error("bo's hand is up")
		}
		s.press("ctrl+]")
		s.shows("type on their keys")
		s.press("@")
		anna.types("y")
		s.shows("you type on their keys")
		anna.types("ctrl+]")
		s.shows("anna has ended it")
		s.hides("following ada")
		s.press("h", "esc")
		s.shows("class plum-42", "anna")
		s.press("down", "enter")
		bo.types("y")
		s.shows("bo's screen  80x23 of 100x30")
		s.press("right", "right", "right")
		s.shows("#") // where the event is
		s.golden("look-4-larger")
		anna.leave()
		s.press("q")
		s.shows("class plum-42")
		bo.settles()
		if strings.Contains(bo.m.View().Content, "ada sees") {
			t.Error("bo is seen still")
		}
	})
}
