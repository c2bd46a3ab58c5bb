package page_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/door"
	"kviz/tui/class/lead"
	"kviz/tui/class/page"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// moment is what a class showed at one moment, with the lesson as it is seen by those who gave answers.
type moment struct {
	scene *lead.Scene
	room  *class.State
	as    map[string]lessons.Look // by the first part of the answer to the question "guess"
}

// moments are those of a class that was taught once, by name.
var (
	moments = map[string]moment{}
	once    sync.Once
)

// taught teaches the class, on a cluster that plays a tape.
func taught(t *testing.T) map[string]moment {
	t.Helper()
	once.Do(func() { synctest.Test(t, func(t *testing.T) { teach(t, moments) }) })
	if len(moments) == 0 {
		t.Fatal("the class was not taught")
	}
	return moments
}

func teach(t *testing.T, into map[string]moment) {
	text, err := os.ReadFile("../teacher/testdata/lesson.md")
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
	ended, played := make(chan error, 1), make(chan struct{})
	go func() { ended <- l.Run(ctx) }()
	go func() {
		defer close(played)
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			c.Play(3)
		}
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-played
		player.Close()
	}()
	at := func(beat string) {
		for range 10_000 {
			s := l.Scene()
			if b := s.Stand.Look.Beat; b != nil && b.ID == beat && !s.Running && (b.Stopped || b.Acts) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("never at %s", beat)
	}
	keep := func(name string) {
		m := moment{scene: l.Scene(), room: room.State(), as: map[string]lessons.Look{}}
		for n := range 2 {
			m.as[fmt.Sprint(n)] = l.LookAs(map[string]lessons.Answer{"guess": {Said: lessons.Said{Parts: []int{n}}}})
		}
		into[name] = m
	}
	press := func() {
		if err := l.Press(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}); err != nil {
			t.Fatal(err)
		}
	}
	at("members")
	keep("see")
	press()
	at("on-disk")
	keep("change")
	for _, name := range []string{"mira", "jonas", "tarek"} {
		room.Come(name)
	}
	press()
	at("guess")
	for name, n := range map[string]int{"mira": 0, "jonas": 0, "tarek": 1} {
		a := lessons.Answer{Said: lessons.Said{Parts: []int{n}}, Sure: 2}
		if err := room.Answer(name, "guess", &a, player.Words("guess", a)); err != nil {
			t.Fatal(err)
		}
	}
	keep("open")
	press() // closes the poll
	time.Sleep(2 * time.Second)
	keep("closed")
	press()
	at("committed")
	keep("hidden")
	if err := l.ShowPoll(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	keep("shown")
	press()
	at("which")
	keep("point")
}

// shown is a class at a moment that a test chooses: what the page reads.
type shown struct {
	mu    sync.Mutex
	now   moment
	bells [2]class.Bell
	looks int // how often the scene was read
}

func (s *shown) Scene() *lead.Scene {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.now.scene
}

func (s *shown) State() *class.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.room
}

func (s *shown) LookAs(given map[string]lessons.Answer) lessons.Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range given {
		return s.now.as[fmt.Sprint(a.Parts[0])]
	}
	return lessons.Look{}
}

// goes has the class come to a moment.
func (s *shown) goes(m moment) {
	s.mu.Lock()
	s.now = m
	s.mu.Unlock()
	for i := range s.bells {
		s.bells[i].Ring()
	}
}

// keeper is a door with a code.
type keeper struct {
	mu      sync.Mutex
	code    string
	guesses []string // addresses
}

func (k *keeper) Code() string { return k.code }

func (k *keeper) Try(addr, code string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.guesses = append(k.guesses, addr); len(k.guesses) > 3 {
		return door.ErrGuesses
	}
	if code != k.code {
		return door.ErrWrongCode
	}
	return nil
}

// opens opens the page of a class at a moment; code is "" where nobody is asked for one.
func opens(t *testing.T, at, code string, limits ...page.Limits) (*page.Page, *shown, *keeper) {
	t.Helper()
	s, k := &shown{now: taught(t)[at]}, &keeper{code: code}
	cfg := page.Config{
		Lead: s, Room: s, Door: k, Panes: panes.All, Teacher: "ada", Title: "L50 A write", Join: "ssh -p 2222 lab.example.org",
		Changes: func() (scene, room <-chan struct{}) { return s.bells[0].Next(), s.bells[1].Next() },
	}
	for _, l := range limits {
		cfg.Limits = l
	}
	return page.New(cfg), s, k
}
