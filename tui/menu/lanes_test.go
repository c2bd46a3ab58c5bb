package menu

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
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
	l := newLanes(chain, 120)
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
	l := newLanes(chain, 80)
	if len(l.names) > mostLanes || l.names[len(l.names)-1] != "other" {
		t.Errorf("the lanes are %v", l.names)
	}
	for _, link := range chain {
		if x := l.column(link.Event); x >= l.width() {
			t.Errorf("%s is drawn in column %d of %d", link.Event.Lane, x, l.width())
		}
	}
}
