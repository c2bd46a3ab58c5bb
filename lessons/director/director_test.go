package director_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/lessons/director"
)

const ms = time.Millisecond

// TestAPlan tells what becomes of a beat: changes stay, what is not seen takes no time, and a
// wait becomes a bar.
func TestAPlan(t *testing.T) {
	events := []director.Event{
		{Pos: 10, At: 1000 * ms},
		{Pos: 11, At: 1001 * ms, Visible: true},
		{Pos: 12, At: 1002 * ms},
		{Pos: 13, At: 4002 * ms, Visible: true},
		{Pos: 14, At: 4003 * ms, Visible: true},
		{Pos: 15, At: 4250 * ms},
	}
	p := director.Make(10, 990*ms, events, director.Tempo{Change: 600 * ms, Quiet: time.Second})
	if got, want := told(p), `stands 600ms before #10
stands 600ms before #12
a bar of 1s for 3.001s before #12
stands 600ms before #14
stands 600ms before #15
a bar of 247ms for 247ms before #15
ends before #16`; got != want {
		t.Errorf("the plan is\n%s\nwant\n%s", got, want)
	}
	if p.Changes != 3 || p.Lasts() != 4*600*ms+1247*ms || p.Span != 3260*ms {
		t.Errorf("%d changes, %s, of %s", p.Changes, p.Lasts(), p.Span)
	}
	if still := director.Make(10, 0, nil, director.Tempo{Change: ms}); told(still) != "ends before #10" {
		t.Errorf("nothing happens: %s", told(still))
	}
}

// TestAPlanInAHurry: a long way takes no longer than it may. Its changes stay shorter, and where there would be more of them
// than anybody sees, some are left out; it ends where it would have.
func TestAPlanInAHurry(t *testing.T) {
	way := func(n int) director.Plan {
		var events []director.Event
		for i := range n {
			events = append(events, director.Event{Pos: uint64(i), At: time.Duration(i) * 3 * ms, Visible: true})
		}
		return director.Make(0, 0, events, director.Tempo{Change: 600 * ms, Quiet: time.Second, Most: 3 * time.Second})
	}
	if p := way(3); p.Lasts() != 3*600*ms {
		t.Errorf("three changes last %s", p.Lasts())
	}
	for _, n := range []int{10, 30, 31, 500, 5000} {
		p := way(n)
		if lasts := p.Lasts(); lasts > 3*time.Second || lasts < 2900*ms || p.Changes != n {
			t.Errorf("%d changes last %s", n, lasts)
		}
		last := uint64(0)
		for i, f := range p.Frames[:len(p.Frames)-1] {
			if f.For < 90*ms || f.Pos < last || i > 0 && f.Pos == last {
				t.Errorf("of %d changes, number %d stays %s at %d, after %d", n, i, f.For, f.Pos, last)
			}
			last = f.Pos
		}
		if end := p.Frames[len(p.Frames)-1]; end.Pos != uint64(n) || end.For != 0 {
			t.Errorf("%d changes end at %+v", n, end)
		}
	}
}

// TestAPlay plays one by the clock, by keys, and both.
func TestAPlay(t *testing.T) {
	events := []director.Event{{Pos: 1, At: ms, Visible: true}, {Pos: 2, At: 2 * ms, Visible: true}}
	byClock := director.NewPlay(director.Make(1, 0, events, director.Tempo{Change: 600 * ms, Quiet: time.Second}))
	var seen []uint64
	for range 50 {
		f, _ := byClock.Frame()
		if len(seen) == 0 || seen[len(seen)-1] != f.Pos {
			seen = append(seen, f.Pos)
		}
		byClock.Tick(33*ms, 1)
	}
	if fmt.Sprint(seen) != "[1 2 3]" || !byClock.Over() {
		t.Errorf("it showed %v, over: %v", seen, byClock.Over())
	}
	if byClock.Tick(time.Second, 1) {
		t.Error("what stands draws nothing")
	}

	byKey := director.NewPlay(director.Make(1, 0, events, director.Tempo{Change: 600 * ms, ByKey: true}))
	byKey.Tick(time.Hour, 1)
	if f, _ := byKey.Frame(); f.Pos != 2 || !byKey.Waits() {
		t.Errorf("it waits for a key before #2: it is before #%d", f.Pos)
	}
	byKey.Next()
	if !byKey.Over() || byKey.Change() != 2 {
		t.Errorf("the second key ends it; change %d", byKey.Change())
	}
	byKey.Again()
	if f, _ := byKey.Frame(); f.Pos != 1 || byKey.Change() != 0 {
		t.Errorf("again begins before #1, not #%d", f.Pos)
	}
	fast := director.NewPlay(director.Make(1, 0, events, director.Tempo{Change: 600 * ms}))
	fast.Tick(700*ms, 4)
	if !fast.Over() {
		t.Error("at four times the tempo it is over")
	}
}

func told(p director.Plan) string {
	var b strings.Builder
	for i, f := range p.Frames {
		switch {
		case f.Skips > 0:
			fmt.Fprintf(&b, "a bar of %s for %s before #%d\n", f.For, f.Skips, f.Pos)
		case i == len(p.Frames)-1:
			fmt.Fprintf(&b, "ends before #%d\n", f.Pos)
		default:
			fmt.Fprintf(&b, "stands %s before #%d\n", f.For, f.Pos)
		}
	}
	return strings.TrimSpace(b.String())
}
