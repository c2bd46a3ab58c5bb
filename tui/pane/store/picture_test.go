package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/tuitest"
)

// The raft picture at the sizes at which a screen of 80x24 and one of 120x40 show it.
var pictured = [][2]int{{80, 18}, {120, 33}}

// members are those of a store by number.
func members(n int) []string { return strings.Split("abcdefghi", "")[:n] }

// led is a store of so many members in which a leads and some keys are written.
func led(n int) *tuitest.Tape {
	t := tuitest.NewTape()
	t.Members(members(n)...)
	t.Elect("a")
	for i := range 4 {
		name := fmt.Sprintf("settings-%d", i)
		t.Commit(tuitest.Ref("ConfigMap", "demo", name), "configmaps", nil)
	}
	t.After(5*time.Second).Commit(tuitest.Ref("ConfigMap", "demo", "settings-5"), "configmaps", nil)
	return t
}

// at says what one member does.
func at(t *tuitest.Tape, member string, k trace.Kind, payload any, causes ...trace.ID) trace.ID {
	return t.Emit(trace.CompMember, member, k, trace.Ref{}, payload, causes...)
}

// stood has a store of so many members in which a has crashed and c stands for election:
// one has voted for it, and the votes of the others cross.
func stood(n int) *tuitest.Tape {
	t := led(n)
	t.Down("a", "crashed")
	t.After(400 * time.Millisecond)
	names := members(n)
	for _, m := range names[1:] {
		at(t, m, trace.RaftTimeout, &trace.RaftPatience{Member: m, Leader: "a", Left: 1, AtLeast: 250 * time.Millisecond, AtMost: 500 * time.Millisecond, Factor: 1})
	}
	at(t, "c", trace.MemberRole, &trace.MemberState{Member: "c", Role: "candidate", Term: 2})
	at(t, "c", trace.RaftVote, &trace.RaftVoteRecord{Member: "c", Term: 2, Candidate: "c"})
	for i, m := range names[1:] {
		if m == "c" {
			continue
		}
		x := &trace.RaftMessage{Serial: uint64(900 + i), RPC: "RequestVote", From: "c", To: m, Term: 2}
		at(t, "c", trace.RaftSend, x)
		at(t, m, trace.MemberRole, &trace.MemberState{Member: m, Role: "follower", Term: 2})
		if m != names[n-1] {
			at(t, m, trace.RaftDeliver, x)
			at(t, m, trace.RaftVote, &trace.RaftVoteRecord{Member: m, Term: 2, Candidate: "c"})
			at(t, m, trace.RaftTimeout, &trace.RaftPatience{Member: m, Left: 4, AtLeast: 250 * time.Millisecond, AtMost: 500 * time.Millisecond, Factor: 1})
		}
		if m == "b" && n > 3 {
			y := *x
			y.Answer, y.OK, y.ReplyTerm = true, true, 2
			at(t, "c", trace.RaftReply, &y)
		}
	}
	return t
}

// elected is the same store after c has won.
func elected(n int) *tuitest.Tape {
	t := stood(n)
	return t.Elect("c")
}

// split is a store of so many members in which two stand in the same term, and each has half the
// votes of those that are up: all of an even number, else all but a.
func split(n int) *tuitest.Tape {
	t := led(n)
	names := members(n)
	if n%2 == 1 {
		t.Down("a", "crashed")
		names = names[1:]
	}
	t.After(300 * time.Millisecond)
	for _, m := range []string{"b", "c"} {
		at(t, m, trace.MemberRole, &trace.MemberState{Member: m, Role: "candidate", Term: 2})
		at(t, m, trace.RaftVote, &trace.RaftVoteRecord{Member: m, Term: 2, Candidate: m})
	}
	serial := uint64(900)
	asks := func(c, m string, gives bool) {
		serial++
		x := trace.RaftMessage{Serial: serial, RPC: "RequestVote", From: c, To: m, Term: 2}
		at(t, c, trace.RaftSend, &x)
		at(t, m, trace.RaftDeliver, &x)
		if gives {
			at(t, m, trace.RaftVote, &trace.RaftVoteRecord{Member: m, Term: 2, Candidate: c})
		}
		y := x
		y.Answer, y.OK, y.ReplyTerm = true, gives, 2
		at(t, c, trace.RaftReply, &y)
	}
	asks("b", "c", false)
	asks("c", "b", false)
	first, second := "b", "c"
	for _, m := range names {
		if m != "b" && m != "c" {
			at(t, m, trace.MemberRole, &trace.MemberState{Member: m, Role: "follower", Term: 2})
			asks(first, m, true)
			asks(second, m, false)
			first, second = second, first
		}
	}
	return t
}

// again is the same store after the first of the two has begun the next term.
func again(n int) *tuitest.Tape {
	t := split(n)
	t.After(200 * time.Millisecond)
	at(t, "b", trace.MemberRole, &trace.MemberState{Member: "b", Role: "candidate", Term: 3})
	at(t, "b", trace.RaftVote, &trace.RaftVoteRecord{Member: "b", Term: 3, Candidate: "b"})
	return t
}

// parted is a store of five of which a and b are on the other side of a partition: a
// leads there still, and d on this side.
func parted() *tuitest.Tape {
	t := led(5)
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "partition", Target: "store", Detail: "a,b c,d,e"})
	x := &trace.RaftMessage{Serial: 700, RPC: "AppendEntries", From: "a", To: "c", Term: 1, PrevLog: 6, PrevTerm: 1, Commit: 6, Entries: []trace.RaftEntry{{Index: 7, Term: 1, Type: "command", Size: 300}}}
	at(t, "a", trace.RaftSend, x)
	for _, m := range []string{"a", "b"} {
		at(t, m, trace.RaftAppend, &trace.RaftLog{Member: m, Entries: x.Entries, First: 7, Last: 7})
		at(t, m, trace.RaftDurable, &trace.RaftLog{Member: m, First: 7, Last: 7})
	}
	at(t, "d", trace.MemberRole, &trace.MemberState{Member: "d", Role: "candidate", Term: 2})
	for _, m := range []string{"c", "d", "e"} {
		at(t, m, trace.RaftVote, &trace.RaftVoteRecord{Member: m, Term: 2, Candidate: "d"})
	}
	at(t, "d", trace.MemberRole, &trace.MemberState{Member: "d", Role: "leader", Term: 2, Leader: "d"})
	for _, m := range []string{"c", "e"} {
		at(t, m, trace.MemberRole, &trace.MemberState{Member: m, Role: "follower", Term: 2, Leader: "d"})
	}
	for _, m := range []string{"c", "d", "e"} {
		at(t, m, trace.RaftAppend, &trace.RaftLog{Member: m, Entries: []trace.RaftEntry{{Index: 7, Term: 2, Type: "command"}}, First: 7, Last: 7})
		at(t, m, trace.RaftDurable, &trace.RaftLog{Member: m, First: 7, Last: 7})
		at(t, m, trace.RaftApply, &trace.RaftProgress{Member: m, Index: 7, Term: 2, Revision: 7})
	}
	return t
}

// installing is a store of three whose leader sends c a snapshot, and which has a learner.
func installing() *tuitest.Tape {
	t := led(3)
	at(t, "x", trace.MemberUp, &trace.MemberState{Member: "x", Role: "follower"})
	t.Emit(trace.CompMember, "x", trace.MemberJoined, trace.Ref{}, &trace.Membership{Member: "x", Learner: true, Voters: 3})
	at(t, "a", trace.RaftSnapshot, &trace.RaftSnapshotInfo{Member: "a", Index: 5, Term: 1, What: "taken"})
	at(t, "a", trace.RaftTruncate, &trace.RaftLog{Member: "a", First: 1, Last: 4})
	at(t, "a", trace.RaftSend, &trace.RaftMessage{Serial: 800, RPC: "InstallSnapshot", From: "a", To: "x", Term: 1, PrevLog: 5, PrevTerm: 1})
	return t
}

// deaf is a store of three in which b cannot be heard and the link of a and c is slow,
// while entry 7 is on its way to c.
func deaf() *tuitest.Tape {
	t := led(3)
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "mute", Target: "member/b"})
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "delay", Target: "member/a", Detail: "c 30ms"})
	x := &trace.RaftMessage{Serial: 700, RPC: "AppendEntries", From: "a", To: "c", Term: 1, PrevLog: 6, PrevTerm: 1, Commit: 6, Entries: []trace.RaftEntry{{Index: 7, Term: 1, Type: "command", Size: 300}}}
	at(t, "a", trace.RaftAppend, &trace.RaftLog{Member: "a", Entries: x.Entries, First: 7, Last: 7})
	at(t, "a", trace.RaftSend, x)
	return t
}

// Every state of the members that the picture shows, at rest.
func TestPicture(t *testing.T) {
	for _, c := range []struct {
		name string
		tape *tuitest.Tape
	}{
		{"steady-3", led(3)},
		{"steady-4", led(4)},
		{"steady-5", led(5)},
		{"steady-6", led(6)},
		{"steady-7", led(7)},
		{"steady-8", led(8)},
		{"steady-9", led(9)},
		{"steady-1", led(1)},
		{"election-3", stood(3)},
		{"election-5", stood(5)},
		{"election-6", stood(6)},
		{"election-9", stood(9)},
		{"split-4", split(4)},
		{"split-5", split(5)},
		{"undecided-5", again(5)},
		{"split-6", split(6)},
		{"elected-3", elected(3)},
		{"elected-5", elected(5)},
		{"partition-5", parted()},
		{"snapshot", installing()},
		{"links", deaf()},
	} {
		h := c.tape.History()
		for _, size := range pictured {
			t.Run(fmt.Sprintf("%s-%d", c.name, size[0]), func(t *testing.T) {
				g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
				tuitest.Golden(t, fmt.Sprintf("picture-%s-%d", c.name, size[0]), tuitest.Planes(g))
				if size[0] == 120 {
					tuitest.Golden(t, fmt.Sprintf("picture-%s-none", c.name), tuitest.Colourless(t, g))
				}
			})
		}
	}
}

// shown is the picture of a state with what moves.
func shown(h *view.History, s *view.State, shot *motion.Shot, w, rows int) *grid.Grid {
	g := grid.New(w, rows)
	pane.NewHost(New(), "2").Draw(g, grid.Rect{W: w, H: rows}, pane.Frame{S: s, H: h, Motion: shot, Focused: true, Live: true})
	return g
}

// Votes that cross, at the beginning, the middle and the end of their way.
func TestVotesCross(t *testing.T) {
	h := elected(5).History()
	for _, share := range []float64{0, 0.5, 1} {
		shot := &motion.Shot{Version: 1}
		stream := h.Stream()
		for pos := stream.First(); pos < stream.Len(); pos++ {
			e := stream.Get(pos)
			if m, ok := e.Payload.(*trace.RaftMessage); !ok || e.Kind != trace.RaftReply || m.Term != 2 || m.RPC != "RequestVote" {
				continue
			}
			l, _ := motion.Of(e, h.Latest())
			shot.Pulses = append(shot.Pulses, motion.Pulse{Light: l, Event: e, Count: 1, Share: share})
			shot.Event = e
		}
		for _, size := range pictured {
			g := shown(h, h.Latest(), shot, size[0], size[1])
			tuitest.Golden(t, fmt.Sprintf("votes-%g-%d", share, size[0]), tuitest.Planes(g))
			if share == 0.5 {
				if n := strings.Count(g.Plane(), "✓") - 4; n < 2 { // four are counted below
					t.Errorf("%d votes are seen to cross", n)
				}
				if strings.Contains(g.Plane(), "CANDIDATE") || !strings.Contains(g.Plane(), "★ c  LEADS") {
					t.Error("c is not shown to lead while its votes still cross")
				}
			}
		}
	}
}

// text is a view of the pane as plain text.
func text(p *Store, h *view.History, w, rows int) string {
	return tuitest.Pane(p, h, h.Latest(), w, rows).Plane()
}

// Members that are cut off are neither counted nor shown as well, and both sides of a
// partition are told, at every size.
func TestCutOffMembersAreNoQuorum(t *testing.T) {
	h := parted().History()
	if q := h.Latest().Reach(); q.Have != 3 || !q.OK() {
		t.Errorf("2 | 3: %+v", q)
	}
	for _, size := range pictured {
		p := New()
		for _, want := range []string{"side a b ", "2 of 5: no quorum", "behind; writes wait", "side c d e ", "3 of 5: quorum"} {
			if got := text(p, h, size[0], size[1]); !strings.Contains(got, want) {
				t.Errorf("%v: %q is not told:\n%s", size, want, got)
			}
		}
		if _, below, _ := strings.Cut(text(p, h, size[0], size[1]), "side a b "); strings.Contains(below, "▸picture") && strings.Index(below, "▸picture") < strings.Index(below, "side c d e ") {
			t.Errorf("%v: the tabs stand between the two sides:\n%s", size, below)
		}
		p.ShowView("members")
		for _, want := range []string{"5 of 5 voters up, 3 reach one another", "cut off from c d e: no quorum on its side", "■ ■ ■ ╎□ □"} {
			if got := text(p, h, size[0], size[1]); !strings.Contains(got, want) {
				t.Errorf("%v: %q is not told:\n%s", size, want, got)
			}
		}
	}

	thirds := led(6)
	thirds.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "partition", Target: "store", Detail: "a,b c,d e,f"})
	h = thirds.History()
	if q := h.Latest().Reach(); q.OK() {
		t.Errorf("2 | 2 | 2 is a quorum: %+v", q)
	}
	p := New()
	p.ShowView("logs")
	if got := text(p, h, 120, 33); !strings.Contains(got, "No quorum: of 6 voters 2 reach one another") {
		t.Errorf("the lost quorum is not told:\n%s", got)
	}
	events, _, _ := h.Stream().Read(0, 1<<20)
	if got := h.Latest().Meaning(events[len(events)-1]); !strings.Contains(got, "2 of 6 reach one another") {
		t.Errorf("the partition means %q", got)
	}
}

// How the votes of a split term fell is told while it lasts, and when the next has begun; at both sizes.
func TestASplitVoteIsTold(t *testing.T) {
	for _, c := range []struct {
		tape *tuitest.Tape
		want []string
	}{
		{split(4), []string{"split: b 2, c 2 of 4"}},
		{split(5), []string{"split: b 2, c 2 of 5"}},
		{split(6), []string{"split: b 3, c 3 of 6"}},
		{again(5), []string{"votes for b, term 3", "term 2 had no winner   split: b 2, c 2 of 5"}},
	} {
		h := c.tape.History()
		for _, size := range pictured {
			for _, want := range c.want {
				if got := text(New(), h, size[0], size[1]); !strings.Contains(got, want) {
					t.Errorf("%v: %q is not told:\n%s", size, want, got)
				}
			}
		}
	}
	won := again(5).After(time.Second)
	at(won, "b", trace.MemberRole, &trace.MemberState{Member: "b", Role: "leader", Term: 3, Leader: "b"})
	if got := text(New(), won.History(), 120, 33); !strings.Contains(got, "term 2 had no winner") {
		t.Error("it is forgotten in the moment in which somebody is elected")
	}
	won.After(recently).Commit(tuitest.Ref("ConfigMap", "demo", "later"), "configmaps", nil)
	if got := text(New(), won.History(), 120, 33); strings.Contains(got, "had no winner") {
		t.Error("it is told for ever")
	}
}

// At the size that a screen of 120x40 leaves to the pane, the term without a winner stands beside the
// votes of the next one, also while a partition takes rows, and the log of every member below.
func TestATermWithoutAWinnerIsNotCrowdedOut(t *testing.T) {
	cut := again(5)
	cut.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "partition", Target: "store", Detail: "a,b c,d,e"})
	for _, c := range []struct {
		name string
		tape *tuitest.Tape
		want []string
	}{
		{"one side", again(5), nil},
		{"two sides", cut, []string{"side b ", "side c d e "}},
	} {
		got := text(New(), c.tape.History(), 120, 31)
		for _, want := range append(c.want, "votes for b, term 3", "term 2 had no winner   split: b 2, c 2 of 5", "▸picture",
			"member        term", "✗ a down", "◇ b candidate", "◇ c candidate", "● d follower", "● e follower") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not told:\n%s", c.name, want, got)
			}
		}
	}
}

// When a term ends without a winner, the boxes of all that voted in it flash, once.
func TestATermWithoutAWinnerFlashes(t *testing.T) {
	h := again(5).History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	p := motion.New(motion.Full)
	p.Catch(events[len(events)-2:], h.Latest(), motion.Live(1))
	flashes := func() (n int) {
		g := shown(h, h.Latest(), p.Shot(), 120, 33)
		for y := range 33 {
			for x := range 120 {
				if c := g.At(x, y); c.R == '┏' && c.S.Has(grid.Reverse) {
					n++
				}
			}
		}
		return n
	}
	on, turns := flashes(), 0
	if on != 4 {
		t.Errorf("%d of the 4 that voted flash", on)
	}
	for range 60 {
		p.Tick(time.Second / 30)
		if n := flashes(); (n > 0) != (on > 0) {
			on, turns = n, turns+1
		}
	}
	if on > 0 || turns != 1 {
		t.Errorf("after two seconds %d flash, which went on or off %d times", on, turns)
	}
}

// A follower's election timeout slides from one mark to the next while it is seen to happen; in a step, and
// where nothing moves, it stands at the mark.
func TestTheElectionTimeoutSlides(t *testing.T) {
	tape := led(3)
	at(tape, "b", trace.RaftTimeout, &trace.RaftPatience{Member: "b", Leader: "a", Left: 2, AtLeast: 4 * time.Second, AtMost: 8 * time.Second})
	h := tape.History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	bar := func(p *motion.Player) int {
		g := shown(h, h.Latest(), p.Shot(), 120, 33)
		box, _ := newRingAt(h).At("member/b")
		n := 0
		for x := box.Rect.X; x < box.Rect.X+box.Rect.W; x++ {
			if g.At(x+1, box.Rect.Y+3).R == '▓' {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		mode   motion.Mode
		tempo  motion.Tempo
		slides bool
	}{{motion.Full, motion.Live(1), true}, {motion.Full, motion.Stepped, false}, {motion.Calm, motion.Live(1), false}} {
		p := motion.New(c.mode)
		p.Catch(events[len(events)-1:], h.Latest(), c.tempo)
		begin := bar(p)
		for range 20 {
			p.Tick(time.Second / 30)
		}
		if later := bar(p); begin == 0 || (later < begin) != c.slides || later > begin {
			t.Errorf("%s, %+v: the bar is %d wide, then %d", c.mode, c.tempo, begin, later)
		}
	}
}

// newRingAt is where the members of a state stand in a window of 120 columns.
func newRingAt(h *view.History) *scene.Scene {
	f := &pane.Frame{S: h.Latest(), H: h}
	return scene.RingOf(newRing(nil, f).shape(), 117, 31)
}

// In a small box the votes of five are whole, also those that are asked for beforehand.
func TestVotesAreWhole(t *testing.T) {
	tape := led(5)
	tape.Down("a", "crashed")
	at(tape, "c", trace.MemberRole, &trace.MemberState{Member: "c", Role: "candidate", Term: 1})
	for i, m := range []string{"b", "d", "e"} {
		at(tape, "c", trace.RaftSend, &trace.RaftMessage{Serial: uint64(900 + i), RPC: "RequestPreVote", From: "c", To: m, Term: 2})
	}
	h := tape.History()
	for _, size := range pictured {
		if got := text(New(), h, size[0], size[1]); !strings.Contains(got, "a✗ b◇ c✓ d◇ e◇") {
			t.Errorf("%v: the pre-votes are not whole:\n%s", size, got)
		}
	}
}
