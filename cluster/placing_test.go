package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A pod whose claim does not exist, or is not bound, is not scheduled, and says why; it starts
// when the claim is bound, by hand here. For a claim that waits for its first pod the scheduler
// writes down its choice, and the controller of claims binds them: testdata/claims.txt.
func TestClaimsAreScheduled(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "claims", typed(t, c, "testdata/claims.txt"))
	})
}

// Room is made for a pod where it does the least harm, which begins with the budgets that the
// disruption controller keeps; kviz why tells of the other nodes: testdata/preemption.txt.
func TestPreemptionWithBudgets(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "preemption", typed(t, c, "testdata/preemption.txt", []varies{
			{regexp.MustCompile(`#[0-9]+`), "#N"},
			{regexp.MustCompile(`[0-9]+\.[0-9]{3}s`), "Ts"},
			{regexp.MustCompile(`revision [0-9]+`), "revision N"},
		}))
	})
}
