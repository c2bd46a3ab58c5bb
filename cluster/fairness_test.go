package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Priority and fairness as a learner meets it: testdata/fairness.txt is what is
// typed and what is seen. With few seats a storm of one user fills the queues of
// his flow and is turned down, while the cluster does its work.
func TestPriorityAndFairness(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "fairness", typed(t, c, "testdata/fairness.txt"))
	})
}
