package teacher

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// walks begins a class that walks through a run in which a write is committed and the leader crashes. It must run in a bubble.
func walks(t *testing.T, live bool) (c *taught, run *tuitest.Cluster) {
	t.Helper()
	tape := tuitest.Calm(3, 3)
	commit := tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	crash := tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"})
	tape.Down("a", "crashed", crash)
	marks := walk.New(stage.Pictures(panes.All))
	run = tuitest.NewCluster(tape, -1)
	var over lessons.Cluster = run
	if !live {
		over = walk.NewRecording(tape.Stream)
		for _, m := range []walk.Mark{
			{At: trace.ID{Seq: commit.Seq - 4}, Show: "store/logs", Spots: []string{"store:member/a"}, Big: "TERM 1", Say: "a is the leader of term 1. Every write goes through it."},
			{At: commit, Say: "Two of three members have the entry on disk: it is **committed**.", Note: "Ask: what if c is slow?\nNobody waits for it."},
			{At: trace.ID{Seq: crash.Seq}, Say: "The leader crashes."},
		} {
			if err := marks.Set(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := view.NewHistory(over.Trace())
	h.CatchUp(0)
	player := walk.NewPlayer(walk.Config{Title: "run.kvrun", Cluster: over, History: h, Marks: marks, Panes: panes.Names()})
	if err := player.Start(""); err != nil {
		t.Fatal(err)
	}
	opened := clock()
	room := class.NewRoom(func() time.Time { return opened }, nil)
	room.Begin("")
	l := lead.New(lead.Config{Cluster: over, History: h, Player: player, Panes: panes.All, Room: room})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second) // until no screen waits for its next second
	})
	return &taught{t: t, lead: l, room: room, cfg: Config{
		Lead: l, Scenes: &l.Changed, Room: room, Seats: &room.Changed, Panes: panes.All, Title: "run.kvrun", Theme: "dark", Folder: t.TempDir(),
		Now:  func() time.Time { return opened.Add(100 * time.Second) }, // how long a walk takes to be shown depends on the machine
		Join: Join{Address: "ssh -p 2222 lab.example.org", Code: "plum-42", Fingerprint: "SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE"},
	}}, run
}

// rests waits until nothing moves.
func (s *seen) rests() {
	s.t.Helper()
	s.until("rest", func(string) bool { return !s.m.screen().scene.Running })
}

// TestAWalkOnAProjector: a clicker leads from mark to mark, and what happens between them is seen; keys look around, and set
// another mark.
func TestAWalkOnAProjector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := walks(t, false)
		c.joined(24)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.shows("a is the leader of term 1.", "mark 1 of 3", "plum-42")
		s.hides("#", "beat")
		s.golden("walk-1-mark")
		s.press("pgdown")
		if !s.m.screen().scene.Running {
			t.Error("the way to the second mark is not shown")
		}
		s.rests()
		s.shows("Two of three members have the entry", "mark 2 of 3")
		s.golden("walk-2-next")
		if on := c.room.State().Beat; on != s.m.screen().beat().ID {
			t.Errorf("the room is at %q", on)
		}
		s.press("pgup")
		s.rests()
		s.shows("a is the leader of term 1.", "mark 1 of 3")
		s.press("r")
		s.rests()
		s.press(".", ".", "4")
		s.shows("after mark 1 of 3")
		s.hides("a is the leader of term 1.")
		s.press("e")
		s.shows("#")
		s.press("e", "2")
		s.shows("─ store")
		s.press("s")
		s.shows("press the letters")
		p := s.m.(*Projector)
		for i, place := range p.spot.places {
			if strings.HasPrefix(place.Name, "store:member/") {
				for _, r := range label(i, len(p.spot.places)) {
					s.press(string(r))
				}
				break
			}
		}
		s.press("m")
		for _, r := range "Look at the log." {
			s.press(string(r))
		}
		s.shows("mark, in words: Look at the log.")
		s.press("enter")
		s.shows("mark 2 of 4", "Look at the log.")
		if b := s.m.screen().beat(); len(b.Spots) != 1 || !strings.HasPrefix(b.Spots[0], "store:member/") {
			t.Errorf("the ring is not the mark's: %v", b.Spots)
		}
		s.press(":")
		s.shows("this is a recording")
		if p.typing.on {
			t.Error("a command is typed in a recording")
		}
		s.press("pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
		s.shows("this is the last mark")
		s.press("b")
		s.until("black", func(on string) bool { return !strings.Contains(on, "member") })
	})
}

// TestTheNotesOfAWalk: what the teacher has written down, what comes next, and the keys of a walk.
func TestTheNotesOfAWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := walks(t, false)
		c.joined(24)
		s := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
		s.shows("mark 1: TERM 1", "next: 2  Two of three", "event before")
		s.press("space")
		s.rests()
		s.shows("Ask: what if c is slow?", "next: 3  The leader crashes.")
		s.golden("walk-3-notes")
		s.press(",")
		s.shows("after mark 1 of 3")
		s.press("B")
		s.shows("you: after mark 1 of 3")
	})
}

// TestALiveWalkOnAProjector: it follows the run, k stops it, and a command runs in it.
func TestALiveWalkOnAProjector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, run := walks(t, true)
		s := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.shows("now")
		s.press("k")
		s.until("the run goes on", func(string) bool { return !run.Clock().Paused })
		s.press("k")
		s.until("the run stands", func(string) bool { return run.Clock().Paused })
		s.press("m")
		for _, r := range "Here." {
			s.press(string(r))
		}
		s.press("enter")
		s.shows("a mark is set here")
		s.press(",")
		s.hides(" now ")
		s.press(":")
		for _, r := range "echo hi" {
			s.press(string(r))
		}
		s.press("enter")
		s.shows("$ echo hi", "now")
		s.press("pgup")
		s.rests()
		s.shows("Here.", "mark 1 of 1")
	})
}
