package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// The scheduler never moves a pod: a node that is added stays empty. The descheduler evicts, no faster
// than a budget allows, and the scheduler places the pods' successors on it. testdata/descheduler.txt is what is
// typed and what is seen.
func TestTheDescheduler(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 2})
		golden(t, "descheduler", typed(t, c, "testdata/descheduler.txt", identities, varying, logged))
	})
}
