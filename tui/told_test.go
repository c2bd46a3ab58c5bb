package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
	"kviz/tui/words"
)

// narrated is what the explanation line tells of a tape, in a row, from an event on, while its clock runs with the
// cluster's: a line for each sentence, with the time at which it appeared.
func narrated(t *testing.T, tape *tuitest.Tape, from int, w, h int) string {
	t.Helper()
	c := tuitest.NewCluster(tape, from)
	d := exploreCluster(t, c, w, h).press("space")
	var told strings.Builder
	last, at := "", d.m.travel.State().At
	look := func() {
		d.m.history().CatchUp(0)
		d.m.pull(d.m.rate())
		d.m.View()
		x := d.m.explain()
		said := x.Words
		if said == "" && x.Event != nil {
			said = view.Explain(x.Event)
		}
		if x.Event != nil {
			said = "#" + x.Event.ID.String() + " " + said
		}
		if x.Notice != "" {
			said += " | " + x.Notice
		}
		if said != last {
			fmt.Fprintf(&told, "%s %s\n", words.Clock(at), said)
			last = said
		}
	}
	all := tape.Stream
	for pos := uint64(from); pos < all.Len(); pos++ {
		for next := all.Get(pos).At; at < next; at += d.m.rate() {
			look()
		}
		c.Play(1)
	}
	for range 12 * 30 {
		look()
		at += d.m.rate()
	}
	return told.String()
}

// What the explanation line tells, at every size the same: who asks for pre-votes, votes and leads; that the quorum is lost, what
// falls then, and that it is back; what becomes of pods. Each sentence stays for as long as it takes to read it, what nobody
// should miss comes first, and at rest it says what the cluster waits for.
func TestNarration(t *testing.T) {
	back := tuitest.QuorumLost(20 * time.Second)
	back.Emit(trace.CompSimulation, "", trace.FaultHealed, trace.Ref{}, &trace.Fault{Fault: "start", Target: "member/a", Undoes: []string{"crash", "stop"}})
	back.Members("a").After(400 * time.Millisecond).Elect("c")
	back.Renew("kube-node-lease", "node-1")
	for name, tape := range map[string]*tuitest.Tape{
		"leader-dead": tuitest.LeaderDead().After(time.Second).Elect("b"),
		"no-quorum":   back,
		"cut":         cut(tuitest.Calm(3, 3), "member/c").After(3 * time.Second),
		"unplaced":    tuitest.Unplaced(),
		"node-dead":   tuitest.NodeDead(),
		"story":       tuitest.Story(),
	} {
		t.Run(name, func(t *testing.T) {
			from := 0
			if name != "story" {
				from = int(tuitest.Calm(3, 3).Stream.Len())
			}
			told := narrated(t, tape, from, 120, 40)
			tuitest.Golden(t, "narration-"+name, told)
			if small := narrated(t, tape, from, 80, 24); small != told {
				t.Errorf("at 80x24 something else is told:\n%s", small)
			}
		})
	}
}

// A notice gives way to what happens next, once there has been time to read it.
func TestANoticeGivesWay(t *testing.T) {
	calm := tuitest.Calm(3, 3)
	from := int(calm.Stream.Len())
	c := tuitest.NewCluster(calm.After(time.Second).Down("a", "crashed").After(time.Second).Down("b", "crashed"), from)
	d := exploreCluster(t, c, 80, 24).press("space")
	d.m.say("done: crash member/a")
	wait := func(of time.Duration) {
		for passed := time.Duration(0); passed < of; passed += d.m.rate() {
			d.m.history().CatchUp(0)
			d.m.pull(d.m.rate())
		}
	}
	c.Play(1)
	wait(noticed - 100*time.Millisecond)
	if d.m.notice.text == "" {
		t.Error("nobody could read the notice")
	}
	c.Play(1)
	wait(time.Second)
	if d.m.notice.text != "" {
		t.Errorf("%q hides that there is no quorum any more", d.m.notice.text)
	}
	d.look()
	d.shows("no quorum")
}

func cut(tape *tuitest.Tape, target string) *tuitest.Tape {
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "cut", Target: target})
	return tape
}
