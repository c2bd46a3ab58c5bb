package main

import (
	"fmt"
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui/pane/store"
	"kviz/tui/tuitest"
)

// The election of real members that has no winner is told in the raft picture: how the votes fell while
// the term lasts, and that it had no winner once the next has begun.
func TestASplitVoteOfRealMembersIsTold(t *testing.T) {
	for _, members := range []int{4, 5} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) { aSplitVoteIsTold(t, members) })
		})
	}
}

func aSplitVoteIsTold(t *testing.T, members int) {
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 2, Members: members, Nodes: 1, NoSync: true, Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Fault(t.Context(), control.Fault{Name: "split-vote", Target: "store"}); err != nil {
		t.Fatal(err)
	}
	h := view.NewHistory(c.Trace())
	halves := func(p *view.Poll) bool { // another election may have come before the one that was arranged
		all := []view.Tally(nil)
		if p != nil {
			all = p.Tallies()
		}
		return len(all) == 2 && all[0].Votes == 2 && all[1].Votes == 2
	}
	var p *view.Poll
	steady.Until(t, "a term that ended without a winner", func() bool {
		h.CatchUp(0)
		p = h.Latest().Store.LastOver()
		return halves(p)
	})
	_, pos, _ := c.Trace().At(p.Over)
	before, after := h.At(pos-1), h.At(pos)
	told := func(s *view.State, what string) {
		t.Helper()
		for _, size := range [][2]int{{80, 18}, {120, 33}} {
			if got := tuitest.Pane(store.New(), h, s, size[0], size[1]).Plane(); !regexp.MustCompile(what).MatchString(got) {
				t.Errorf("%v: %q is not told:\n%s", size, what, got)
			}
		}
	}
	split := fmt.Sprintf(`split: [a-e] 2, [a-e] 2 of %d`, members)
	told(before, split)
	told(after, fmt.Sprintf(`term %d had no winner +%s`, p.Term, split))
}
