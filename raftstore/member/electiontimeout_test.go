package member

import (
	"slices"
	"sync"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// A follower of a group of which nobody else is there tells that its election timeout runs
// down, each part once, before it stands for election; held it tells nothing.
func TestAFollowerTellsHowItsTimeoutRuns(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var left []int
		var before []int // those told when it first stood for election
		m := solo(t, func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e.Timeout != nil:
				left = append(left, e.Timeout.Left)
				if e.Timeout.AtMost != 2*e.Timeout.AtLeast || e.Timeout.Factor != 4 {
					t.Errorf("the timeout says %+v", *e.Timeout)
				}
			case e.State != nil && e.State.Role == "candidate" && before == nil:
				before = append([]int{}, left...)
			}
		})
		m.cfg.Peers = append(m.cfg.Peers, Server{ID: "n", Address: "n"})
		m.SlowElections(4)
		must(t, m.Start(true, ""))
		steady.Until(t, "it stands for election", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return before != nil
		})
		if want := []int{2, 1, 0}; !slices.Equal(before, want) {
			t.Fatalf("before it stood for election it told %v quarters, want %v", before, want)
		}
		m.Hold(true)
		p := electionTimeout{since: time.Now().Add(-time.Hour), left: quarters}
		if again := m.running.Load().lookAtTimeout(&p); p.left != quarters || again <= 0 {
			t.Errorf("held it is at %d quarters, to look again in %s", p.left, again)
		}
	})
}
