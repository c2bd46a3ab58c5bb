package hall_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/class"
	"kviz/tui/class/door"
	"kviz/tui/class/guest"
	"kviz/tui/class/hall"
	"kviz/tui/class/lead"
	"kviz/tui/class/rehearsal"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// taught is a class that students come to over SSH, on this machine; its cluster plays a tape.
type taught struct {
	t     *testing.T
	lead  *lead.Lead
	room  *class.Room
	door  *door.Door
	looks *guest.Screens
	addr  string
}

func begins(t *testing.T) *taught {
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
	player := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
	room := class.NewRoom(time.Now, nil)
	room.Begin("L50@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L50"})
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	looks := guest.New("ada")
	d, err := door.Open(door.Config{Host: hall.New(hall.Config{Lead: l, Room: room, Panes: panes.All, Teacher: "ada", Screens: looks, Alone: alone}), Key: signer})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := door.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Serve(listener); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			c.Play(3)
		}
	})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		wait.Wait()
		player.Close()
	})
	return &taught{t, l, room, d, looks, listener.Addr().String()}
}

// sits comes in under a name, with a terminal of a size.
func (c *taught) sits(name string, size [2]int) *desk {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), steady.Patience(c.t))
	defer cancel()
	s, err := rehearsal.Class{Address: c.addr}.Join(ctx, rehearsal.As{Name: name, Width: size[0], Height: size[1]})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Drop)
	return &desk{c.t, s}
}

// desk is a student's terminal.
type desk struct {
	t *testing.T
	*rehearsal.Student
}

func (d *desk) types(keys string) {
	d.t.Helper()
	if err := d.Type(keys); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) sees(text string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), steady.Patience(d.t))
	defer cancel()
	if _, err := d.Sees(ctx, text); err != nil {
		d.t.Fatal(err)
	}
}

// goesOn has the teacher go on.
func (c *taught) goesOn() {
	c.t.Helper()
	if err := c.lead.Press(tuitest.Press("space")); err != nil {
		c.t.Fatal(err)
	}
}

// TestAClassOverSSH: students with terminals of eight sizes see each beat, answer, drop and come again where the class is, and
// late ones begin there; afterwards nobody is left.
func TestAClassOverSSH(t *testing.T) {
	steady.RealTime(t, "SSH over sockets")
	c := begins(t)
	var desks []*desk
	for i, size := range rehearsal.Sizes {
		desks = append(desks, c.sits(fmt.Sprintf("s%d", i+1), size))
	}
	all := func(text string) {
		t.Helper()
		for _, d := range desks {
			d.sees(text)
		}
	}
	all("following ada")
	all("copy of one log")
	c.goesOn()
	all("on disk. Two of three")
	desks[3].Drop()
	c.goesOn()
	again := c.sits("s4", rehearsal.Sizes[0]) // where the class is
	desks[3] = again
	all("the poll is open")
	for i, d := range desks {
		d.types(fmt.Sprint(1+i%2) + "2")
		d.sees("you have answered")
	}
	if p := c.room.State().Polls["guess"]; p.Given != len(desks) || len(p.Answers) != 2 {
		t.Errorf("the poll has %+v", p)
	}
	c.goesOn()
	all("the poll is closed")
	c.goesOn()
	all("your prediction")
	if err := c.lead.ShowPoll(); err != nil {
		t.Fatal(err)
	}
	all("████")
	late := c.sits("late", rehearsal.Sizes[0])
	late.sees("It moved to 16")
	desks[0].types("hq")
	steady.Until(t, "a hand, and one who left", func() bool {
		s, _ := c.room.State().Seat("s1")
		return s.Hand && s.Here == 0
	})
	for _, d := range append(desks[1:], late) {
		d.Drop()
	}
	steady.Until(t, "an empty room", func() bool { return c.room.State().Here == 0 })
}

// alone is a run of one's own that cannot be had.
func alone(context.Context, *door.Visit) error {
	return errors.New("there is no run of your own from here: the run's first 900 events have left memory")
}

// TestAStudentForWhomThereIsNoRun reads why, whole also on a narrow terminal, and follows on.
func TestAStudentForWhomThereIsNoRun(t *testing.T) {
	steady.RealTime(t, "SSH over sockets")
	c := begins(t)
	d := c.sits("mira", [2]int{100, 24})
	d.sees("following ada")
	d.types("F")
	d.sees("there is no run of your own from here: the run's first 900 events have left memory")
	d.types("h")
	d.sees("following ada")
	c.goesOn()
	d.sees("on disk. Two of three")
}

// sees waits until a guest sees something on a student's screen.
func sees(t *testing.T, l *guest.Look, text string) {
	t.Helper()
	steady.Await(t, "the teacher sees "+text, func() error {
		now := l.Now()
		if now.Frame == nil {
			return fmt.Errorf("nothing: %+v", now)
		}
		if on := now.Frame.Grid.Plane(); !strings.Contains(on, text) {
			return fmt.Errorf("they see\n%s", on)
		}
		return nil
	})
}

// TestALookOverSSH: one student lets the teacher look, and type; the other students and the teacher's run hear nothing of it.
func TestALookOverSSH(t *testing.T) {
	steady.RealTime(t, "SSH over sockets")
	c := begins(t)
	mira, jonas := c.sits("mira", rehearsal.Sizes[0]), c.sits("jonas", rehearsal.Sizes[0])
	mira.sees("following ada")
	jonas.sees("following ada")
	look, err := c.looks.Look(t.Context(), "mira")
	if err != nil {
		t.Fatal(err)
	}
	mira.sees("ada asks to look at your screen")
	if now := look.Now(); now.Frame != nil || now.State != guest.Asked {
		t.Errorf("before mira agrees: %+v", now)
	}
	mira.types("\x1dy") // ctrl+], which turns to the question
	sees(t, look, "following ada")
	mira.sees("ada sees your screen")
	c.goesOn()
	sees(t, look, "on disk. Two of three")
	look.AskHand()
	mira.sees("asks to type on your keys")
	if err := look.Type(tuitest.Press("h")); !errors.Is(err, guest.ErrNoHand) {
		t.Errorf("without a hand: %v", err)
	}
	mira.types("\x1dy")
	mira.sees("types on your keys")
	for _, k := range []string{"h", "q", "ctrl+c", "F", "?", "w", "h", "y"} { // the hand, three ways to leave, a question
		if err := look.Type(tuitest.Press(k)); err != nil {
			t.Fatal(err)
		}
	}
	mira.sees("your question: why")
	sees(t, look, "your question: why")
	mira.types("!\r")
	steady.Until(t, "the question that both have typed, and the hand", func() bool {
		s, _ := c.room.State().Seat("mira")
		return s.Hand && s.Asks == "why!" && s.Here == 1
	})
	mira.types("\x1d")
	steady.Until(t, "the end", func() bool { return look.Now().State == guest.Over })
	if err := look.Type(tuitest.Press("h")); !errors.Is(err, guest.ErrNoHand) || look.Now().Frame != nil {
		t.Errorf("after the end: %v, %+v", err, look.Now())
	}
	c.goesOn() // to the question
	mira.sees("the poll is open")
	jonas.sees("the poll is open")
	if s := jonas.Screen(); strings.Contains(s, "ada sees") || strings.Contains(s, "your keys") {
		t.Errorf("jonas sees\n%s", s)
	}
	again, err := c.looks.Look(t.Context(), "jonas")
	if err != nil {
		t.Fatal(err)
	}
	jonas.sees("ada asks to look at your screen")
	jonas.Drop()
	steady.Until(t, "a look at somebody who has gone", func() bool { return again.Now().State == guest.Over })
}
