package menu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/tuitest"
)

// A time in which nothing happens is a row of its own, with the heavy lane of who has it;
// an arrow crosses the lanes between, and goes back to the left.
func TestLanes(t *testing.T) {
	var chain []view.Link
	at := func(comp string, when time.Duration) {
		chain = append(chain, view.Link{Event: &trace.Event{ID: trace.ID{Seq: uint64(len(chain) + 1)}, At: when, Lane: trace.Lane{Component: comp}}})
	}
	at(trace.CompConsole, 0)
	at(trace.CompStore, time.Millisecond)
	at("deployment-controller", 2*time.Millisecond)
	at(trace.CompRuntime, 3*time.Second)
	l := newLanes(chain, nil, 120)
	for i, want := range []string{
		"  ●       │       │       │ ",
		"  ╰──────▶●       │       │ ",
		"  │       ╰──────▶●       │ ",
		"  │       │       ╰──────▶● ",
	} {
		var before *trace.Event
		if i > 0 {
			before = chain[i-1].Event
		}
		if got := l.row(before, chain[i].Event, false); got != want {
			t.Errorf("row %d is\n%q, want\n%q", i, got, want)
		}
	}
	if got, want := l.row(chain[3].Event, chain[0].Event, true), "  ◉◀──────┼───────┼───────╯ "; got != want {
		t.Errorf("back over the lanes between it is\n%q, want\n%q", got, want)
	}
	if got, want := l.gap(chain[3].Event), "  ┆       ┆       ┆       ┃ "; got != want {
		t.Errorf("the gap is %q, want %q", got, want)
	}
	if got, want := strings.Fields(l.head()), "you store ctl runtime"; strings.Join(got, " ") != want {
		t.Errorf("the lanes are %v, want %s", got, want)
	}
}

// More places than lanes: the rarest share one.
func TestTheRarestLanesAreOne(t *testing.T) {
	var chain []view.Link
	for i, comp := range []string{trace.CompConsole, trace.CompAPIServer, trace.CompStore, trace.CompKCM, trace.CompScheduler, trace.CompKubelet, trace.CompRuntime, trace.CompProxy, trace.CompNet, trace.CompWebhook} {
		for range 10 - i {
			chain = append(chain, view.Link{Event: &trace.Event{Lane: trace.Lane{Component: comp}}})
		}
	}
	l := newLanes(chain, nil, 80)
	if len(l.names) > mostLanes || l.names[len(l.names)-1] != "other" {
		t.Errorf("the lanes are %v", l.names)
	}
	for _, link := range chain {
		if x := l.column(link.Event); x >= l.width() {
			t.Errorf("%s is drawn in column %d of %d", link.Event.Lane, x, l.width())
		}
	}
}

// What is not of the chain stands above the row that it led to, oldest first: the stages
// and queues on the way itself, and what else had a part in it. What has two effects
// stands once.
func TestPlumbingStandsBetweenTwoRows(t *testing.T) {
	link := func(seq uint64, from int, kind trace.Kind, main, again bool) view.Link {
		e := &trace.Event{ID: trace.ID{Seq: seq}, At: time.Duration(seq) * time.Millisecond, Kind: kind, Lane: trace.Lane{Component: trace.CompAPIServer}}
		return view.Link{ID: e.ID, Event: e, From: from, Main: main, Minor: main && kind == trace.QueueAdd, Again: again}
	}
	c := newChain([]view.Link{
		link(90, -1, trace.StoreCommit, true, false),
		link(80, 0, trace.QueueAdd, true, false),      // on the way
		link(50, 1, trace.StoreCommit, true, false),   // the cause before
		link(10, 2, trace.CommandStart, true, false),  // where it began
		link(40, 2, trace.InformerSync, false, false), // had a part in 50
		link(60, 1, trace.WatchClosed, false, false),  // had a part in 80, so in 90
		link(30, 5, trace.InformerSync, false, false),
		link(40, 0, trace.InformerSync, false, true),
	})
	got := ""
	for _, r := range c.rows {
		for _, l := range r.plumbing {
			got += "·" + l.ID.String() + " "
		}
		got += r.ID.String() + " "
	}
	if want := "10 ·40 50 ·30 ·60 ·80 90 "; got != want {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	if all, shown := c.count(); all != 6 || shown != 0 {
		t.Errorf("%d causes of which %d are plumbing that is shown, want 6 and 0", all, shown)
	}
}

// The key opens what stands above the row under the cursor and closes it again; on the
// line that speaks of all it opens all. The cursor stays on its event.
func TestPlumbingOpensInPlace(t *testing.T) {
	h := tuitest.Story().History()
	var c *chain
	for pos := h.First(); pos < h.Len(); pos++ { // with plumbing above two rows, the question is one of them
		is, ok := Lanes(h, h.Stream().Get(pos).ID, 120, nil).(*chain)
		if !ok {
			continue
		}
		above := len(is.rows[len(is.rows)-1].plumbing)
		if all, _ := is.count(); above > 0 && all > len(is.rows)-1+above {
			c = is
		}
	}
	if c == nil {
		t.Fatal("no event of the story has plumbing above two rows of its chain")
	}
	asked := c.rows[len(c.rows)-1].ID
	press := func(k string) overlay.Reaction { return c.Key(tea.KeyPressMsg{Code: rune(k[0]), Text: k}) }
	closed, all := c.Labels(), func() int { n, _ := c.count(); return n }()
	if !strings.Contains(closed, fmt.Sprintf("… all %d causes: a opens", all)) || strings.Contains(closed, "·#") {
		t.Fatalf("closed, the picture is\n%s", closed)
	}
	press("a")
	if between := strings.Count(c.Labels(), "·#"); between == 0 || between >= all-len(c.rows)+1 {
		t.Errorf("%d rows of plumbing are open above the question, of %d in all:\n%s", between, all, c.Labels())
	}
	if got := c.Under(); got != (action.Goto{ID: asked}) {
		t.Errorf("the cursor went from the question to %v", got)
	}
	c.Key(tea.KeyPressMsg{Code: tea.KeyUp})
	if press("a"); c.Labels() != closed || c.Under() != (action.Goto{ID: asked}) {
		t.Errorf("closed from a row that was open, with the cursor on %v, the picture is\n%s", c.Under(), c.Labels())
	}
	c.Key(tea.KeyPressMsg{Code: tea.KeyDown})
	if r := c.Key(tea.KeyPressMsg{Code: tea.KeyEnter}); r.Close || r.Do != nil {
		t.Errorf("the line that speaks of all answers %v", r)
	}
	if got := strings.Count(c.Labels(), "·#"); got != all-len(c.rows)+1 {
		t.Errorf("all open, there are %d rows of plumbing, want %d", got, all-len(c.rows)+1)
	}
	if press("a"); c.Labels() != closed {
		t.Errorf("closed again, the picture is\n%s", c.Labels())
	}
}

// Between a row and its cause there may be nothing; then the key says so.
func TestNothingIsBetween(t *testing.T) {
	c := newChain([]view.Link{{ID: trace.ID{Seq: 7}, From: -1, Main: true}, {ID: trace.ID{Seq: 3}, Main: true}})
	if r := c.turn(place{row: 1}); r.Do != (action.Notice{Text: "nothing stands between #7 and its cause: go to another row, or to the line that counts them all"}) {
		t.Errorf("the answer is %v", r)
	}
}
