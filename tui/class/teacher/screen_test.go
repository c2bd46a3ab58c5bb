package teacher

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
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
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

// taught is a class with a real lead and a real room, on a cluster that plays a tape.
type taught struct {
	t    *testing.T
	lead *lead.Lead
	room *class.Room
	cfg  Config

	crashes atomic.Bool // a member crashes now
}

// teaches begins a class; its cluster goes on by itself while it runs. It must run in a bubble.
func teaches(t *testing.T) *taught {
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
	before := tape.Stream.Len() // the crash
	tape.Down("a", "crashed", tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"}))
	c := tuitest.NewCluster(tape, calm)
	player := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
	room := class.NewRoom(clock, nil)
	room.Begin("L50@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L50"})
	ctx, cancel := context.WithCancel(t.Context())
	taught := &taught{t: t, lead: l, room: room}
	ended, played := make(chan error, 1), make(chan struct{})
	go func() { ended <- l.Run(ctx) }()
	go func() {
		defer close(played)
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			for range 3 {
				if taught.crashes.Load() || c.Trace().Len() < before {
					c.Play(1)
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-played
		player.Close()
		time.Sleep(2 * time.Second) // until no screen waits for its next second
	})
	taught.cfg = Config{
		Lead: l, Scenes: &l.Changed, Room: room, Seats: &room.Changed, Panes: panes.All, Beats: Beats(all[0]), Title: "L50 A write",
		Time: 5 * time.Minute, Theme: "dark", Folder: t.TempDir(), Now: clock, Hints: player.HintsOf,
		Join: Join{Address: "ssh -p 2222 lab.example.org", Code: "plum-42", Fingerprint: "SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE"},
	}
	return taught
}

// inBubble runs a test whose time is virtual.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// clock goes on by ten seconds at a time, so that a golden file does not depend on what took a moment longer.
func clock() time.Time { return time.Now().UTC().Truncate(10 * time.Second) }

// middle waits until the clock is far from its next step.
func middle() { time.Sleep(time.Until(clock().Add(15 * time.Second))) }

// model is a screen of the teacher's as the tests look at it.
type model interface {
	tea.Model
	screen() *desk
}

func (d *desk) screen() *desk { return d }

// seen is a screen that is being looked at: what a program would do for it.
type seen struct {
	t    *testing.T
	m    model
	msgs chan tea.Msg
	left bool
}

func (c *taught) sees(m model, w, h int) *seen {
	s := &seen{t: c.t, m: m, msgs: make(chan tea.Msg, 1000)}
	s.runs(m.Init())
	s.hears(tea.WindowSizeMsg{Width: w, Height: h})
	return s
}

// runs does a command beside the test.
func (s *seen) runs(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				s.runs(c)
			}
		default:
			s.msgs <- msg
		}
	}()
}

func (s *seen) hears(msg tea.Msg) {
	if _, quit := msg.(tea.QuitMsg); quit {
		s.left = true
		return
	}
	_, cmd := s.m.Update(msg)
	s.runs(cmd)
}

// settles waits until nothing more comes at this moment.
func (s *seen) settles() {
	for {
		synctest.Wait()
		select {
		case msg := <-s.msgs:
			s.hears(msg)
			continue
		default:
		}
		return
	}
}

// until waits until something is true of what is on the screen.
func (s *seen) until(what string, is func(text string) bool) {
	s.t.Helper()
	text := ""
	for range 3000 {
		s.settles()
		s.m.View()
		if text = s.m.screen().canvas.Planes().Plane(); is(text) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("never: %s\n%s", what, text)
}

// stands waits until a beat stands.
func (s *seen) stands(beat string) {
	s.t.Helper()
	s.until(beat, func(string) bool {
		sc := s.m.screen().scene
		b := sc.Stand.Look.Beat
		return b != nil && b.ID == beat && (b.Acts || b.Stopped && !sc.Running)
	})
}

func (s *seen) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		s.until(fmt.Sprintf("%q", text), func(on string) bool { return strings.Contains(on, text) })
	}
}

func (s *seen) hides(texts ...string) {
	s.t.Helper()
	s.settles()
	s.m.View()
	for _, text := range texts {
		if on := s.m.screen().canvas.Planes().Plane(); strings.Contains(on, text) {
			s.t.Errorf("it shows %q:\n%s", text, on)
		}
	}
}

// press presses keys by their names, and waits until what they do is done.
func (s *seen) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		s.hears(keyOf(k))
		s.settles()
	}
}

func keyOf(name string) tea.KeyPressMsg {
	if strings.HasPrefix(name, "ctrl+") {
		return tuitest.Press(name)
	}
	codes := map[string]rune{
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "left": tea.KeyLeft, "up": tea.KeyUp,
		"down": tea.KeyDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace,
	}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// golden compares the screen with golden files at both sizes, once with styles and once as a terminal without colour has it.
func (s *seen) golden(name string) {
	s.t.Helper()
	middle() // no key is echoed any more
	s.settles()
	d := s.m.screen()
	w, h := d.canvas.Size()
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		s.hears(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		s.m.View()
		tuitest.Golden(s.t, fmt.Sprintf("%s-%d", name, size[0]), tuitest.Planes(d.canvas.Planes()))
		if size[0] == 80 {
			tuitest.Golden(s.t, name+"-none", tuitest.Colourless(s.t, d.canvas.Planes()))
		}
	}
	s.hears(tea.WindowSizeMsg{Width: w, Height: h})
}

// joined has so many students come in.
func (c *taught) joined(n int) {
	for i := range n {
		c.room.Come(studentName(i))
	}
}

var names = strings.Fields("anna bo carla dmitri elif farid gerd hana ivo jonas kim lea mira noor otto pia qiu rosa sam tarek uma vera wim xena yusuf zoe ada")

func studentName(i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s%d", names[i%len(names)], i/len(names))
}

// says has students answer a question: the first ones the first choice, and so on.
func (c *taught) says(beat string, counts ...int) {
	c.t.Helper()
	i := 0
	for choice, n := range counts {
		for range n {
			a := lessons.Answer{Said: lessons.Said{Parts: []int{choice}}, Sure: 1 + i%3}
			if err := c.room.Answer(studentName(i), beat, &a, fmt.Sprintf("choice %d", choice+1)); err != nil {
				c.t.Fatal(err)
			}
			i++
		}
	}
}

func plane(g *grid.Grid) string { return g.Plane() + g.StylePlane(theme.Letter) }
