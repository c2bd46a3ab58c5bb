package motion_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/tuitest"
)

const tick = time.Second / 30

// Every kind of event has a pulse or a reason for having none, and none that is not a kind.
func TestEveryKindIsAnswered(t *testing.T) {
	for _, k := range trace.Kinds() {
		light, none, ok := motion.RuleOf(k.Kind)
		switch {
		case !ok:
			t.Errorf("%s: neither a light nor a reason for none", k.Kind)
		case light == (none != ""):
			t.Errorf("%s: a light and a reason for none exclude each other", k.Kind)
		}
	}
	for _, k := range motion.Ruled() {
		if !k.Known() {
			t.Errorf("%s is no kind", k)
		}
	}
}

func story() ([]*trace.Event, *view.State) {
	h := tuitest.Story().History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	return events, h.Latest()
}

// Every event of the story can be drawn: what has a light has a place to begin at.
func TestTheStoryHasLight(t *testing.T) {
	events, s := story()
	seen := map[motion.Class]int{}
	for _, e := range events {
		if l, ok := motion.Of(e, s); ok {
			seen[l.Class]++
			if l.From == "" || l.Glyph == 0 {
				t.Errorf("#%s %s: %+v", e.ID, e.Kind, l)
			}
		}
	}
	for _, c := range []motion.Class{motion.Asks, motion.Answers, motion.Tells, motion.Entries, motion.Works, motion.Faults} {
		if seen[c] == 0 {
			t.Errorf("nothing of class %d in the whole story", c)
		}
	}
}

// Whatever comes and whenever, there are never more pulses than the tempo allows, shares
// stay between 0 and 1, one event is emphasised and it is one that is drawn; and when no
// more comes, everything comes to rest.
func TestAnyMotion(t *testing.T) {
	events, s := story()
	rnd := rand.New(rand.NewSource(1))
	for _, mode := range []motion.Mode{motion.Full, motion.Calm, motion.Off} {
		for _, tempo := range []motion.Tempo{motion.Live(0.02), motion.Live(0.2), motion.Live(1), motion.Live(10), motion.Stepped, motion.Walked} {
			p := motion.New(mode)
			for at := 0; at < len(events); {
				n := min(rnd.Intn(40), len(events)-at)
				p.Catch(events[at:at+n], s, tempo)
				at += n
				for range rnd.Intn(10) {
					p.Tick(tick)
					checkShot(t, p, tempo)
				}
			}
			for i := 0; p.Busy(); i++ {
				if i > 200 {
					t.Fatalf("%s %+v: never at rest", mode, tempo)
				}
				p.Tick(tick)
			}
			was := p.Shot()
			if p.Tick(tick) || p.Shot() != was {
				t.Fatalf("%s %+v: at rest, and it moves", mode, tempo)
			}
			if tempo.Stand && mode == motion.Full && len(was.Pulses)+len(was.Lamps) != 1 {
				t.Fatalf("%s %+v: after a step %d things stand, want one", mode, tempo, len(was.Pulses)+len(was.Lamps))
			}
		}
	}
}

func checkShot(t *testing.T, p *motion.Player, tempo motion.Tempo) {
	t.Helper()
	s := p.Shot()
	limit := max(tempo.Most, 1)
	if p.Mode() != motion.Full {
		limit = 1
	}
	going := slices.DeleteFunc(slices.Clone(s.Pulses), func(q motion.Pulse) bool { return tempo.Glow && q.Gone })
	if n := len(going); n > limit {
		t.Fatalf("%d pulses at once, want no more than %d", n, limit)
	}
	drawn := s.Event == nil
	for _, q := range append(append([]motion.Pulse{}, s.Pulses...), s.Lamps...) {
		if q.Share < 0 || q.Share > 1 {
			t.Fatalf("share %g", q.Share)
		}
		drawn = drawn || q.Event == s.Event
	}
	if !drawn {
		t.Fatalf("#%s is emphasised and not on the picture", s.Event.ID)
	}
}

// Finish leaves what stands after a step, which is the last event of it that has a light,
// and it is the one that is told.
func TestFinishLeavesOneStanding(t *testing.T) {
	events, s := story()
	for n := 1; n < len(events); n += 7 {
		p := motion.New(motion.Full)
		p.Catch(events[max(n-20, 0):n], s, motion.Stepped)
		p.Finish()
		var last *trace.Event
		for _, e := range events[max(n-20, 0):n] {
			if _, ok := motion.Of(e, s); ok {
				last = e
			}
		}
		shot := p.Shot()
		if got := len(shot.Pulses) + len(shot.Lamps); last != nil && (got != 1 || shot.Event != last || shot.Place == "") {
			t.Fatalf("after %d events %d stand, told %v at %q, want %v", n, got, shot.Event, shot.Place, last)
		}
		if p.Busy() {
			t.Fatal("finished, and busy")
		}
	}
}

// Going anywhere in the past moves nothing, and gives the same shot every time.
func TestThePastNeverMoves(t *testing.T) {
	events, s := story()
	p, q := motion.New(motion.Full), motion.New(motion.Full)
	for i := len(events) - 1; i >= 0; i -= 3 {
		p.Stand(events[i], s)
		if p.Busy() || p.Tick(tick) {
			t.Fatalf("#%s moves", events[i].ID)
		}
		q.Stand(events[len(events)-1], s)
		q.Stand(events[i], s)
		a, b := *p.Shot(), *q.Shot()
		a.Version, b.Version = 0, 0
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
			t.Fatalf("#%s: another shot when one comes from elsewhere", events[i].ID)
		}
	}
}

// Several on one edge at usual speed are one pulse that counts.
func TestMerge(t *testing.T) {
	events, s := story()
	var one *trace.Event
	for _, e := range events {
		if e.Kind == trace.WatchDelivered {
			one = e
			break
		}
	}
	p := motion.New(motion.Full)
	p.Catch([]*trace.Event{one, one, one, one, one, one, one}, s, motion.Live(1))
	if got := p.Shot().Pulses; len(got) != 1 || got[0].Count != 7 {
		t.Fatalf("got %+v, want one that counts 7", got)
	}
	p.Tick(200 * time.Millisecond)
	if got := p.Shot().Pulses[0].Share; got < 0.7 || got > 0.8 { // smoothstep of two thirds is 0.74
		t.Errorf("share %g after two thirds of its time", got)
	}
	for range 4 {
		p.Tick(50 * time.Millisecond)
	}
	if got := p.Shot(); len(got.Pulses) != 0 || len(got.Glows) != 1 || got.Glows[0].Level != 3 {
		t.Fatalf("after its arrival: %+v, want a glow", got)
	}
}

// A lost one becomes ✗ where it was lost, and stands there for a while.
func TestLost(t *testing.T) {
	h := tuitest.Story().History()
	e := &trace.Event{Kind: trace.WatchLost, Payload: &trace.WatchEvent{Client: "scheduler"}}
	p := motion.New(motion.Full)
	p.Catch([]*trace.Event{e}, h.Latest(), motion.Live(0.02))
	for range 25 {
		p.Tick(tick)
	}
	got := p.Shot().Pulses
	if len(got) != 1 || !got[0].Gone || got[0].Glyph != '✗' || got[0].Share != 0.5 {
		t.Fatalf("got %+v", got)
	}
}

// The emphasis goes to the highest rank, and stays for a moment where it is.
func TestEmphasis(t *testing.T) {
	_, s := story()
	news := &trace.Event{Kind: trace.WatchDelivered, Payload: &trace.WatchEvent{Client: "scheduler"}}
	fault := &trace.Event{Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "crash", Target: "member/a"}}
	p := motion.New(motion.Full)
	p.Catch([]*trace.Event{news}, s, motion.Live(0.02))
	p.Catch([]*trace.Event{fault}, s, motion.Live(0.02))
	if p.Shot().Event != news {
		t.Error("the emphasis leaves at once")
	}
	for range 10 {
		p.Tick(tick)
	}
	if p.Shot().Event != fault {
		t.Errorf("told %v, want the fault", p.Shot().Event)
	}
}

// What 24 pulses in motion cost a frame.
func BenchmarkTick(b *testing.B) {
	events, s := story()
	p := motion.New(motion.Full)
	for i := 0; b.Loop(); i++ {
		if len(p.Shot().Pulses) < 24 {
			p.Catch(events[:min(200, len(events))], s, motion.Live(0.02))
		}
		p.Tick(tick)
	}
}

// An election that is over between two frames is shown step by step: who asks, who answers,
// who leads, each after the one before has arrived; and the next one after that.
func TestAnElectionIsSeen(t *testing.T) {
	h := tuitest.Story().History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	var ballots []*trace.Event
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.RaftMessage:
			if p.RPC == "RequestVote" && p.Term == 1 && e.Kind != trace.RaftDeliver {
				ballots = append(ballots, e)
			}
		case *trace.MemberState:
			if p.Role == "leader" && p.Term == 1 {
				ballots = append(ballots, e)
			}
		}
	}
	p := motion.New(motion.Full)
	p.Catch(ballots, h.Latest(), motion.Live(1))
	var order []string
	see := func() {
		var now string
		for _, q := range append(p.Shot().Pulses, p.Shot().Lamps...) {
			switch {
			case q.Event.Kind == trace.MemberRole:
				now += "leads "
			case q.Event.Kind == trace.RaftReply:
				now += "votes "
			default:
				now += "asks "
			}
		}
		if n := len(order); now != "" && (n == 0 || order[n-1] != now) {
			order = append(order, now)
		}
	}
	for see(); p.Busy(); see() {
		p.Tick(tick)
	}
	if got, want := fmt.Sprint(order), "[asks asks  votes votes  leads ]"; got != want {
		t.Errorf("it is shown as %s, want %s", got, want)
	}
}

// What is broken flashes twice, at any speed, and then stands as it is; while nothing may
// travel it does not flash at all.
func TestAFaultFlashesTwice(t *testing.T) {
	_, s := story()
	fault := &trace.Event{Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "crash", Target: "member/a"}}
	for _, c := range []struct {
		mode  motion.Mode
		speed float64
		want  int
	}{{motion.Full, 0.02, 2}, {motion.Full, 1, 2}, {motion.Full, 100, 2}, {motion.Calm, 1, 0}, {motion.Off, 1, 0}} {
		p := motion.New(c.mode)
		p.Catch([]*trace.Event{fault}, s, motion.Live(c.speed))
		flashes, was := 0, false
		for range 60 {
			on := false
			for _, l := range p.Shot().Lamps {
				on = on || l.Bright
			}
			if on && !was {
				flashes++
			}
			was = on
			p.Tick(tick)
		}
		if flashes != c.want || p.Busy() {
			t.Errorf("%s at %gx: %d flashes, want %d; busy %v", c.mode, c.speed, flashes, c.want, p.Busy())
		}
	}
}

// At great speed a way that something was lost on has a ✗ in its middle for a while, and how
// it glows says how much is on it.
func TestRates(t *testing.T) {
	_, s := story()
	lost := &trace.Event{Kind: trace.WatchLost, Payload: &trace.WatchEvent{Client: "scheduler"}}
	p := motion.New(motion.Full)
	p.Catch([]*trace.Event{lost}, s, motion.Live(100))
	if got := p.Shot().Pulses; len(got) != 1 || !got[0].Gone || got[0].Share != 0.5 {
		t.Fatalf("got %+v, want ✗ in the middle", got)
	}
	for range 30 {
		p.Tick(tick)
	}
	if got := p.Shot().Pulses; len(got) != 0 {
		t.Fatalf("a second later still %+v", got)
	}
	one := &trace.Event{Kind: trace.WatchDelivered, Payload: &trace.WatchEvent{Client: "scheduler"}}
	for level, n := range map[int]int{1: 4, 2: 5, 3: 25, 4: 125} {
		p := motion.New(motion.Full)
		var all []*trace.Event
		for range n {
			all = append(all, one)
		}
		p.Catch(all, s, motion.Live(100))
		if got := p.Shot().Glows; len(got) != 1 || got[0].Level != level {
			t.Errorf("%d events: %+v, want level %d", n, got, level)
		}
	}
}

// A sync that has changed rules goes along the line of the Service whose rules they are; one that
// changed none makes no light.
func TestASyncOfRulesGoesAlongTheServicesLine(t *testing.T) {
	h := tuitest.Story().History()
	found := false
	for pos := uint64(0); pos < h.Stream().Len(); pos++ {
		e := h.Stream().Get(pos)
		if e.Kind != trace.ProxySync {
			continue
		}
		found = true
		if l, ok := motion.Of(e, h.At(pos)); !ok || l.From != "svc/demo/web" || l.To != "node/"+e.Lane.Instance {
			t.Errorf("#%s on %s goes from %q to %q", e.ID, e.Lane, l.From, l.To)
		}
	}
	if !found {
		t.Error("no proxy syncs in the story")
	}
	idle := &trace.Event{Kind: trace.ProxySync, Lane: trace.Lane{Component: trace.CompProxy, Instance: "node-1"}, Payload: &trace.ProxySyncInfo{Node: "node-1"}}
	if l, ok := motion.Of(idle, h.Latest()); ok {
		t.Errorf("a sync that changes nothing lights %+v", l)
	}
}

// Without motion what stands is what the explanation line tells: routine and the members' messages do not
// take its place, and change nothing.
func TestRoutineDoesNotStand(t *testing.T) {
	h := tuitest.Calm(3, 3).History()
	s := h.Latest()
	news := &trace.Event{ID: trace.ID{Seq: 9000}, Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "crash", Target: "node/node-1"}}
	beat := &trace.Event{ID: trace.ID{Seq: 9000, Sub: 1}, Kind: trace.RaftSend, Payload: &trace.RaftMessage{RPC: "AppendEntries", From: "a", To: "b", Term: 1}}
	vote := &trace.Event{ID: trace.ID{Seq: 9000, Sub: 2}, Kind: trace.RaftSend, Payload: &trace.RaftMessage{RPC: "RequestVote", From: "a", To: "b", Term: 2}}
	p := motion.New(motion.Off)
	p.Catch([]*trace.Event{news, beat}, s, motion.Live(1))
	was := p.Shot()
	if was.Event != news {
		t.Fatalf("#%v stands, want the news", was.Event)
	}
	if p.Catch([]*trace.Event{beat}, s, motion.Live(1)); p.Shot() != was {
		t.Error("a heartbeat changed what stands")
	}
	if p.Catch([]*trace.Event{vote, beat}, s, motion.Live(1)); p.Shot().Event != vote {
		t.Errorf("of a message that asks for a vote and a heartbeat #%v stands", p.Shot().Event)
	}
}
