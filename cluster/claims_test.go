package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A pod whose claim does not exist, or is not bound, is not scheduled, and says why; it starts
// when the claim is bound, by hand here. For a claim that waits for its first pod the scheduler
// writes down its choice, and the pod waits for the claim: testdata/claims.txt.
func TestClaimsAreScheduled(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "claims", typed(t, c, "testdata/claims.txt"))
	})
}
