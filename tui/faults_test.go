package tui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui/tuitest"
)

// catalogued is the cluster that notes what it is asked for, with the real
// catalogue of faults.
type catalogued struct{ *tuitest.Cluster }

func (catalogued) Faults() []control.FaultKind { return fault.Catalogue() }

func (catalogued) Targets() []string {
	return []string{"store", "member/a", "member/b", "member/c", "member/d"}
}

// storeTrouble are states of the store in which other faults make sense: it is
// whole; a member is down, one is a learner, the quota is reached; the quorum is
// lost; disks and elections are slow, a disk is full; every disk was lost.
func storeTrouble() map[string]*tuitest.Tape {
	broken := func(t *tuitest.Tape, name, target, detail string) {
		t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: name, Target: target, Detail: detail})
	}
	lost := tuitest.Story()
	for _, m := range []string{"b", "c"} {
		broken(lost, "stop", "member/"+m, "")
		lost.Down(m, "stopped by a fault", trace.ID{})
	}
	slow := tuitest.StoreStory()
	slow.After(time.Second)
	broken(slow, "slow-elections", "store", "10")
	broken(slow, "fill", "member/b", "")
	empty := tuitest.Story()
	empty.Emit(trace.CompStore, "", trace.StoreRestored, trace.Ref{}, &trace.Restore{Revision: 1, ClusterID: 2})
	return map[string]*tuitest.Tape{"an empty store was begun": empty, "down, learner, alarm": tuitest.StoreStory(), "no quorum": lost, "slow, full": slow}
}

var underCursor = regexp.MustCompile(`│▸\s+(.*?)\s*[┃│]`)

// Every fault of the store and of its members that the catalogue has stands in
// the menu in some state of the store, in full, with what it means below it, at
// both sizes, and can be reached with the arrow keys.
func TestEveryStoreFaultIsReached(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			met := map[string]bool{} // sentences that were under the cursor, by kind of target
			for _, tape := range storeTrouble() {
				for _, target := range []string{"store", "member a", "member b", "member c", "member d"} {
					c := catalogued{tuitest.NewCluster(tape, -1)}
					d := explore(t, size[0], size[1], -1, func(cfg *Config) { cfg.Cluster, cfg.History = c, view.NewHistory(c.Trace()) })
					d.press("2", "f", "end", "enter")
					d.shows("Break or mend what?")
					d.typed(strings.ReplaceAll(target, "store", "the store as a whole")).press("enter")
					d.shows("Break or mend ")
					kind, _, _ := strings.Cut(target, " ")
					walkMenu(d, kind, met)
				}
			}
			for _, f := range fault.Catalogue() {
				for _, w := range f.Ways {
					if slices.Contains([]string{"store", "member"}, f.Target) && !met[f.Target+": "+w.Say] {
						t.Errorf("%s of %s (%q) is in no menu", f.Name, f.Target, w.Say)
					}
				}
			}
		})
	}
}

// walkMenu goes down a fault menu to its end and notes every sentence.
func walkMenu(d *driver, kind string, met map[string]bool) {
	d.t.Helper()
	for range 100 {
		screen := d.screen()
		row := underCursor.FindStringSubmatch(screen)
		if row == nil {
			d.t.Fatalf("nothing is under the cursor:\n%s", screen)
		}
		if strings.HasPrefix(row[1], "Something else") {
			return
		}
		f, say := sentenceIn(row[1], kind)
		if say == "" {
			d.t.Fatalf("%q is not a whole sentence of the menu:\n%s", row[1], screen)
		}
		words := strings.Fields(f.Means)
		if first := strings.Join(words[:min(len(words), 3)], " "); !strings.Contains(screen, first) {
			d.t.Errorf("what %s means is not shown:\n%s", f.Name, screen)
		}
		met[kind+": "+say] = true
		d.press("down")
	}
	d.t.Fatal("the menu has no end")
}

// sentenceIn finds the fault and the sentence that a row of the menu shows whole.
func sentenceIn(row, kind string) (found control.FaultKind, sentence string) {
	for _, f := range fault.Catalogue() {
		for _, w := range f.Ways {
			say := w.Say
			if f.Target != kind {
				continue
			}
			whole := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(say), "%s", "[a-z]") + `\s+` + f.Name + `\b`)
			if whole.MatchString(row) && len(say) > len(sentence) {
				found, sentence = f, say
			}
		}
	}
	return found, sentence
}

// agreeing is a cluster in which a fault is done when the cluster goes on, as members do what
// they have to agree on.
type agreeing struct {
	*tuitest.Cluster
	goesOn chan struct{}
}

func (c agreeing) Resume() error {
	close(c.goesOn)
	return c.Cluster.Resume()
}

func (c agreeing) Fault(ctx context.Context, f control.Fault) error {
	select {
	case <-c.goesOn:
		return c.Cluster.Fault(ctx, f)
	case <-time.After(10 * time.Second):
		return errors.New("no key lets the cluster go on")
	}
}

// While a fault waits for a cluster that stands, the explorer answers keys: one of them lets
// the cluster go on, and then the fault is done. So it is with one that is typed.
func TestAFaultThatWaitsLeavesTheKeysAlone(t *testing.T) {
	for name, keys := range map[string][]string{"chosen": {"enter"}, "typed": {"end", "up", "enter", "2", "s", "enter"}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				d := explore(t, 120, 40, -1, func(c *Config) { c.Cluster = agreeing{c.Cluster.(*tuitest.Cluster), make(chan struct{})} })
				d.press("right", "f").press(keys...)
				d.shows("PAUSED", "under way: ", "waits until it goes on")
				d.press("space").settle()
				d.shows("RUNNING", "done: ")
			})
		})
	}
}

// What is too long for one copy is cut between two characters, and that is said.
func TestACopyThatIsTooLongIsCut(t *testing.T) {
	d := explore(t, 120, 40, -1)
	d.m.copy(strings.Repeat("a", clipboardLimit))
	if strings.Contains(d.m.notice.text, "first") {
		t.Errorf("of what fits is said %q", d.m.notice.text)
	}
	cmd := d.m.copy("a" + strings.Repeat("é", clipboardLimit/2))
	if got := fmt.Sprint(cmd()); !utf8.ValidString(got) || len(got) != clipboardLimit-1 {
		t.Errorf("copied %d bytes, valid %v", len(got), utf8.ValidString(got))
	}
	if !strings.Contains(d.m.notice.text, "copied the first") {
		t.Errorf("of what is cut is said %q", d.m.notice.text)
	}
}

// On a link of the raft picture, to which arrows and the mouse go, f breaks that link, and mends it where
// it was broken: there, or at its other end.
func TestALinkIsBrokenInThePicture(t *testing.T) {
	tape := func() *tuitest.Tape { return tuitest.NewTape().Members("a", "b", "c").Elect("a") }
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		open := func(tape *tuitest.Tape) *driver {
			t.Helper()
			c := tuitest.NewCluster(tape, -1)
			d := exploreCluster(t, c, size[0], size[1], func(cfg *Config) { cfg.Cluster = catalogued{c} })
			return d.press("2", "z")
		}
		d := open(tape())
		for range 12 {
			if on := d.m.frame.Under().ID; on == "member/b" || on == "member/c" {
				break
			}
			d.press("down")
		}
		d.press(map[string]string{"member/b": "left", "member/c": "right"}[d.m.frame.Under().ID])
		if on := d.m.frame.Under().ID; on != "link/b-c" {
			t.Fatalf("%v: the arrows go to %q, not to a link:\n%s", size, on, d.screen())
		}
		d.press("f").shows("Break or mend the link between b and c", "Cut it: nothing passes, neither way", "Lose what b sends to c: a cut one way",
			"Delay every message on it by 100 ms", "Lose three in ten messages on it", "Deliver three in ten messages on it twice", "The whole of member b …")
		d.hides("Mend")
		d.press("enter").settle()
		d.asked("fault cut member/b [c]")

		cut := tape()
		cut.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "cut", Target: "member/c", Detail: "b"})
		d = open(cut)
		x, y := d.at("✗")
		d.mouse(x, y)
		if on := d.m.frame.Under().ID; on != "link/b-c" {
			t.Fatalf("%v: a click on a link goes to %q", size, on)
		}
		d.press("f").shows("Mend this link only", "Mend the links of member c and its disk")
		d.hides("Cut it: nothing")
		d.press("enter").settle()
		d.asked("fault heal member/b [c]")
	}
}
