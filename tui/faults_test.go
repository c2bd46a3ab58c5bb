package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/trace"
	"kviz/cluster/view"
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
