package view_test

import (
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Two runs of which one goes on longer are compared at the same virtual time: at the earlier of their ends, or at one that is
// chosen before it.
func TestTwoRunsAreSummedUpToTheSameTime(t *testing.T) {
	commits := func(n int) []*trace.Event {
		all := []*trace.Event{{ID: trace.ID{Seq: 1}, Kind: trace.Ready}}
		for i := range n {
			all = append(all, &trace.Event{ID: trace.ID{Seq: uint64(i + 2)}, At: time.Duration(i+1) * time.Second, Kind: trace.StoreCommit, Payload: &trace.Commit{Revision: int64(i + 2)}})
		}
		return all
	}
	for until, want := range map[time.Duration]int{0: 8, 3500 * time.Millisecond: 3, time.Hour: 8} {
		c, err := view.Compare(commits(8), commits(15), until)
		if err != nil {
			t.Fatal(err)
		}
		if c.A.Commits != want || c.B.Commits != want || c.A.Gap != c.B.Gap {
			t.Errorf("until %s: %+v and %+v", until, c.A, c.B)
		}
		if c.A.End != 8*time.Second || c.B.End != 15*time.Second || c.Until > c.A.End {
			t.Errorf("until %s: they end at %s and %s, and are compared at %s", until, c.A.End, c.B.End, c.Until)
		}
	}
}
