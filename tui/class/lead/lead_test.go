package lead_test

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
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// lesson is a class on a cluster that plays a tape.
type lesson struct {
	t    *testing.T
	lead *lead.Lead
	room *class.Room
	end  func()
}

// begins begins a class; its cluster goes on by itself while it runs. It must run in a bubble.
func begins(t *testing.T) *lesson {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
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
	player := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
	room := class.NewRoom(time.Now, nil)
	room.Begin("L50@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L50"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	played := make(chan struct{})
	go func() {
		defer close(played)
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			c.Play(3)
		}
	}()
	return &lesson{t: t, lead: l, room: room, end: func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-played
		player.Close()
	}}
}

// until waits for a scene of which something is true.
func (l *lesson) until(what string, is func(*lead.Scene) bool) *lead.Scene {
	l.t.Helper()
	for range 10_000 {
		next := l.lead.Changed.Next()
		s := l.lead.Scene()
		if is(s) {
			return s
		}
		select {
		case <-next:
		case <-time.After(time.Second):
		}
	}
	l.t.Fatalf("never: %s", what)
	return nil
}

// at waits until a beat stands.
func (l *lesson) at(beat string) *lead.Scene {
	l.t.Helper()
	return l.until(beat, func(s *lead.Scene) bool {
		b := s.Stand.Look.Beat
		return b != nil && b.ID == beat && !s.Running && (b.Stopped || b.Acts)
	})
}

func (l *lesson) press(keys ...tea.KeyPressMsg) {
	l.t.Helper()
	for _, k := range keys {
		if err := l.lead.Press(k); err != nil {
			l.t.Fatal(err)
		}
	}
}

var space = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}

// drawn is a scene at a size.
func drawn(s *lead.Scene, w, h int) string {
	follower := stage.New(panes.All)
	follower.Follow(s.Stand)
	g := grid.New(w, h)
	follower.Draw(g, s.Around)
	return g.Plane()
}

// TestAClassFollows: what the teacher's stage shows is drawn at every other size, with the same change ringed, and what the
// class guessed is judged by the run.
func TestAClassFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begins(t)
		defer l.end()
		l.at("members")
		l.press(space)
		s := l.at("on-disk")
		for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 18}} {
			got := drawn(s, size[0], size[1])
			if !strings.Contains(got, "Two of three are") || !strings.Contains(got, "┏━") {
				t.Errorf("at %dx%d a follower sees\n%s", size[0], size[1], got)
			}
		}
		for _, name := range []string{"mira", "jonas", "tarek"} {
			l.room.Come(name)
		}
		l.press(space)
		l.at("guess")
		if p := l.room.State().Polls["guess"]; p.State != class.Open {
			t.Fatalf("the poll is %q", p.State)
		}
		for name, n := range map[string]int{"mira": 0, "jonas": 1, "tarek": 1} {
			a := lessons.Answer{Said: lessons.Said{Parts: []int{n}}, Sure: 2}
			if err := l.room.Answer(name, "guess", &a, fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
		}
		l.press(space) // closes the poll, and the lesson has what most said
		if p := l.room.State().Polls["guess"]; p.State != class.Closed {
			t.Fatalf("the poll is %q", p.State)
		}
		l.press(space)
		l.at("committed")
		if err := l.lead.ShowPoll(); err != nil {
			t.Fatal(err)
		}
		st := l.room.State()
		mira, _ := st.Seat("mira")
		jonas, _ := st.Seat("jonas")
		if mira.Right["guess"] == jonas.Right["guess"] || st.Polls["guess"].State != class.Shown {
			t.Errorf("one of two answers is right: %+v, %+v", mira, jonas)
		}
		for _, seat := range []class.Seat{mira, jonas} { // each sees a verdict of their own
			b := l.lead.LookAs(seat.Answers).Beat
			if b.Told == nil || b.Told.Right != seat.Right["guess"] || len(b.Ghosts) == 0 {
				t.Errorf("%s is told %+v", seat.Name, b.Told)
			}
		}
		if b := l.lead.LookAs(nil).Beat; b.Told != nil || len(b.Ghosts) > 0 {
			t.Errorf("somebody who said nothing is told %+v", b.Told)
		}
	})
}

// TestNobodyAnswers: the lesson goes on without an answer, at once where nobody could give one.
func TestNobodyAnswers(t *testing.T) {
	for _, here := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			l := begins(t)
			defer l.end()
			if here > 0 {
				l.room.Come("mira")
			}
			for _, beat := range []string{"members", "on-disk"} {
				l.at(beat)
				l.press(space)
			}
			l.at("guess")
			l.press(space)
			if here > 0 {
				l.until("it is said", func(s *lead.Scene) bool { return strings.Contains(s.Around.Notice, "nobody has answered") })
				if p := l.room.State().Polls["guess"]; p.State != class.Closed || l.lead.Scene().Stand.Look.Beat.ID != "guess" {
					t.Errorf("the poll is %+v at %s", p, l.lead.Scene().Stand.Look.Beat.ID)
				}
				l.press(space)
			}
			l.at("committed")
			if b := l.lead.Scene().Stand.Look.Beat; b.Told != nil || len(b.Ghosts) > 0 {
				t.Errorf("without an answer it says %+v", b.Told)
			}
		})
	}
}

// TestTheTeacherPointsOut a place, and makes the screens dark.
func TestTheTeacherPointsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begins(t)
		defer l.end()
		before := drawn(l.at("members"), 80, 24)
		if err := l.lead.Spot("store:member/c"); err != nil {
			t.Fatal(err)
		}
		s := l.until("another ring", func(s *lead.Scene) bool { return len(s.Stand.Spots) > 0 })
		if drawn(s, 80, 24) == before {
			t.Error("the ring stays where it was")
		}
		if err := l.lead.Black(); err != nil {
			t.Fatal(err)
		}
		l.until("black", func(s *lead.Scene) bool { return s.Black })
	})
}
