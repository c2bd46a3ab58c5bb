package cluster_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui/menu"
)

// scenario plays one of the scenarios about workloads, and shows the state after each write to look at.
func scenario(t *testing.T, name string, look func(s *view.State, e *trace.Event)) {
	t.Helper()
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 3})
		golden(t, "workloads-"+name, typed(t, c, "testdata/workloads-"+name+".txt", identities, varying))
		b := view.NewBuilder()
		for _, e := range after(t, c, trace.ID{}) {
			b.Apply(e)
			if e.Kind == trace.StoreCommit {
				look(b.Live(), e)
			}
		}
	})
}

// In both rollouts, the good one and the one that stalls, never more pods are there than may be, and from the moment
// when enough were available never fewer are.
func TestRolloutsHoldTheInvariant(t *testing.T) {
	var reached, surged, stalled bool
	scenario(t, "rollout", func(s *view.State, e *trace.Event) {
		r := s.Rollout(s.Object("deployments", "default", "shop"))
		if r == nil {
			return
		}
		says, _ := r.Says()
		if reached = reached || r.Held(); reached && !r.Held() || !r.UnderMost() {
			t.Errorf("#%s: %d pods, at most %d; %d available, at least %d: %s", e.ID, r.Total, r.Most(), r.Available, r.Least(), says)
		}
		surged = surged || r.Total == 5 && len(r.Revisions) == 2
		stalled = r.Stalled != "" && r.Available == 4 && !r.Done()
	})
	if !reached || !surged || !stalled {
		t.Errorf("enough were available: %t; one more than wanted was there: %t; it ends stalled with four available: %t", reached, surged, stalled)
	}
}

// A StatefulSet is updated from the highest ordinal down, those below the partition only when it goes.
func TestAnUpdateInOrder(t *testing.T) {
	var went []string
	gone := map[string]bool{}
	scenario(t, "ordered", func(s *view.State, _ *trace.Event) {
		o := s.Object("statefulsets", "default", "db")
		if o == nil {
			return
		}
		for _, slot := range s.Slots(o, 0, 10) {
			if leaves := slot.Stage == view.Terminating; leaves != gone[slot.Name] {
				if gone[slot.Name] = leaves; leaves {
					went = append(went, slot.Name)
				}
			}
		}
	})
	if want := []string{"db-3", "db-2", "db-1", "db-0"}; !slices.Equal(went, want) {
		t.Errorf("pods were deleted in the order %v, want %v", went, want)
	}
}

// Two indexes fail, are tried once more, and are given up; the others succeed.
func TestFailingIndexes(t *testing.T) {
	var again []string
	var last *view.JobRun
	scenario(t, "indexes", func(s *view.State, _ *trace.Event) {
		if r := s.JobRun(s.Object("jobs", "default", "indexes")); r != nil {
			if text := r.Again.String(); text != "" && !slices.Contains(again, text) {
				again = append(again, text)
			}
			last = r
		}
	})
	if last == nil || last.Done.String() != "0,1,3,4,6,7" || last.Lost.String() != "2,5" || last.NotBegun.Count() != 0 || last.Over != "Failed" || len(again) == 0 {
		t.Errorf("indexes that were to be tried again: %v; at the end %+v", again, last)
	}
}

// A CronJob makes a Job every minute; what it missed is seen, and made up for once.
func TestATick(t *testing.T) {
	most, left := 0, -1
	scenario(t, "tick", func(s *view.State, _ *trace.Event) {
		if c := s.Schedule(s.Object("cronjobs", "default", "tick"), 1); c != nil {
			most, left = max(most, c.Missed), c.Missed
		}
	})
	if most < 2 || left != 0 {
		t.Errorf("at most %d runs were missed, %d at the end", most, left)
	}
}

// What the palette offers to create is created, each line an object of its kind.
func TestThePaletteCreatesEveryKind(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 3})
		for _, x := range menu.Creations() {
			var out bytes.Buffer
			c.Console().RunScript(t.Context(), "palette", x.Line, control.Streams{Out: &out, Err: &out})
			made := strings.ToLower(x.Kind)
			if text := out.String(); !strings.Contains(text, made) || !strings.Contains(text, "/") || !strings.HasSuffix(text, " created\n") {
				t.Errorf("%s: %s", x.Line, text)
			}
		}
	})
}
