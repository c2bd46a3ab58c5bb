package student_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/class/student"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// taught is a class whose cluster plays a tape by itself while it runs, with one student at a screen. It must run in a bubble.
type taught struct {
	t    *testing.T
	lead *lead.Lead
	room *class.Room
	me   *student.Model
	end  func()
}

func begins(t *testing.T, w, h int) *taught {
	t.Helper()
	text, err := os.ReadFile("../lead/testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	tape := tuitest.Calm(3, 3)
	calm := int(tape.Stream.Len())
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	tape.Down("a", "crashed", tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"}))
	c := tuitest.NewCluster(tape, calm)
	player := lessons.NewPlayer(c, all, lessons.NewProgress(func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }))
	room := class.NewRoom(time.Now, nil)
	room.Begin("L50@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L50"})
	ctx, cancel := context.WithCancel(t.Context())
	ended, played := make(chan error, 1), make(chan struct{})
	go func() { ended <- l.Run(ctx) }()
	go func() {
		defer close(played)
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			c.Play(3)
		}
	}()
	for _, name := range []string{"mira", "jonas", "tarek"} {
		room.Come(name)
	}
	me := student.New(student.Config{
		Name: "mira", Teacher: "ada", Lead: l, Room: room, Panes: panes.All, Theme: "none",
		Changes: func() (scene, room2 <-chan struct{}) { return l.Changed.Next(), room.Changed.Next() },
		Alone:   func() string { return "" },
	}, ctx.Done())
	me.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return &taught{t: t, lead: l, room: room, me: me, end: func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-played
		player.Close()
	}}
}

// counted counts how often the lesson is looked at as a student sees it, which each drawing begins with.
type counted struct {
	student.Lead
	looks int
}

func (c *counted) LookAs(given map[string]lessons.Answer) lessons.Look {
	c.looks++
	return c.Lead.LookAs(given)
}

// TestOthersAnswersDrawNothing: a hundred students who answer would else have each of a hundred screens drawn again.
func TestOthersAnswersDrawNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := begins(t, 80, 24)
		defer c.end()
		looked := &counted{Lead: c.lead}
		c.me = student.New(student.Config{
			Name: "mira", Teacher: "ada", Lead: looked, Room: c.room, Panes: panes.All, Theme: "none",
			Changes: func() (scene, room <-chan struct{}) { return c.lead.Changed.Next(), c.room.Changed.Next() },
		}, t.Context().Done())
		c.me.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		for _, beat := range []string{"members", "on-disk"} {
			c.at(beat)
			c.teacher("space")
		}
		c.at("guess")
		before := looked.looks
		answers := func(name string, n int) {
			t.Helper()
			a := lessons.Answer{Said: lessons.Said{Parts: []int{n}}, Sure: 2}
			if err := c.room.Answer(name, "guess", &a, fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			c.me.Update(student.Said())
		}
		for n := range 30 {
			answers([]string{"jonas", "tarek"}[n%2], n/2%2)
		}
		if looked.looks != before {
			t.Errorf("for 30 answers of others the lesson was looked at %d times", looked.looks-before)
		}
		answers("mira", 1)
		c.shows("you have answered")
		c.room.Poll("guess", class.Closed)
		c.me.Update(student.Said())
		c.shows("the poll is closed")
		c.room.Poll("guess", class.Shown)
		c.me.Update(student.Said())
		if looked.looks == before {
			t.Error("what concerns the student is not drawn")
		}
	})
}

// at has the teacher go on to a beat, and the student see it.
func (c *taught) at(beat string) {
	c.t.Helper()
	for range 10_000 {
		next := c.lead.Changed.Next()
		s := c.lead.Scene()
		if b := s.Stand.Look.Beat; b != nil && b.ID == beat && !s.Running && (b.Stopped || b.Acts) {
			c.sees()
			return
		}
		select {
		case <-next:
		case <-time.After(time.Second):
		}
	}
	c.t.Fatalf("the class never comes to %s", beat)
}

// sees has the student's screen take what has changed.
func (c *taught) sees() {
	synctest.Wait()
	c.me.Update(student.Changed())
}

func (c *taught) press(keys ...string) {
	for _, k := range keys {
		c.me.Update(tuitest.Press(k))
	}
	c.sees()
}

func (c *taught) teacher(keys ...string) {
	c.t.Helper()
	for _, k := range keys {
		if err := c.lead.Press(tuitest.Press(k)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.sees()
}

func (c *taught) screen() string {
	c.me.View()
	return student.Grid(c.me).Plane()
}

func (c *taught) shows(words ...string) {
	c.t.Helper()
	for _, w := range words {
		if got := c.screen(); !strings.Contains(got, w) {
			c.t.Errorf("there is no %q on\n%s", w, got)
		}
	}
}

// TestAStudentFollows is a student's way through a class, at two sizes.
func TestAStudentFollows(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := begins(t, size[0], size[1])
				defer c.end()
				golden := func(name string) {
					c.me.View()
					tuitest.Golden(t, fmt.Sprintf("%dx%d-%s", size[0], size[1], name), tuitest.Planes(student.Grid(c.me)))
				}
				c.at("members")
				c.shows("following ada", "3 here", "own run")
				c.teacher("space")
				c.at("on-disk")
				golden("follows")
				c.teacher("space")
				c.at("guess")
				c.shows("the poll is open: your prediction", "1-9 answer")
				c.press("1")
				c.shows("How sure are you?")
				c.press("3")
				c.shows("you have answered", "change it")
				c.press("backspace")
				c.shows("the poll is open: your prediction")
				c.press("1", "2")
				golden("answered")
				c.teacher("space") // which closes the poll
				c.shows("the poll is closed")
				c.press("backspace", "2") // and the answer stays
				c.shows("answers stay as they are")
				c.teacher("space")
				c.at("committed")
				if err := c.lead.ShowPoll(); err != nil {
					t.Fatal(err)
				}
				c.sees()
				c.shows("your prediction", "█")
				golden("verdict")
				c.press("h", "?", "w", "h", "y", "enter", "-")
				c.shows("nobody sees who")
				st := c.room.State()
				if mira, _ := st.Seat("mira"); !mira.Hand || mira.Asks != "why" || st.Slower != 1 {
					t.Errorf("the room knows of %+v, slower %d", mira, st.Slower)
				}
				c.press("4")
				c.shows("you look around", "Events ·", "f follows ada again")
				before := c.screen()
				c.press(",", ",")
				if c.screen() == before {
					t.Error("the event before looks the same")
				}
				c.press(".", ".", ".", ".") // not beyond where the class is
				c.press("f")
				c.shows("your prediction")
				c.press("4")
				c.room.Call()
				c.sees()
				c.shows("your prediction", "ada calls everybody back")
			})
		})
	}
}

// TestAStudentGoesOff into a run of their own, where there can be one.
func TestAStudentGoesOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := begins(t, 80, 24)
		defer c.end()
		c.at("members")
		c.press("F")
		if c.me.Outcome != student.Alone {
			t.Error("F does nothing")
		}
	})
}

// TestAStudentIsHeld at what the teacher shows, can say what can be said there, and is let go.
func TestAStudentIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := begins(t, 80, 24)
		defer c.end()
		c.at("members")
		c.press("4")
		c.shows("you look around")
		c.press("?", "w", "h")
		c.room.Pin(true)
		c.sees()
		c.press("y", "enter") // what was being typed goes on
		c.shows("ada holds everybody here")
		for _, k := range []string{",", ".", "4", "F", "left"} {
			c.press("h", "h") // which takes the notice away
			c.press(k)
			c.shows("ada holds everybody here", "that waits until ada lets everybody go")
			if c.me.Outcome != student.Left || strings.Contains(c.screen(), "you look around") {
				t.Errorf("%s leads away", k)
			}
		}
		if mira, _ := c.room.State().Seat("mira"); mira.Asks != "why" {
			t.Errorf("mira asks %q", mira.Asks)
		}
		c.room.Pin(false)
		c.sees()
		c.press("4")
		c.shows("you look around")
		c.press("F")
		if c.me.Outcome != student.Alone {
			t.Error("F does nothing after they were let go")
		}
	})
}
