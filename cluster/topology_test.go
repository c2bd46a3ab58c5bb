package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// kviz why tells how the pods are spread that a pod's constraints are about, which domain is refused and
// why: testdata/topology.txt.
func TestWhyTellsOfSpreadAndAffinity(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 3})
		golden(t, "topology", typed(t, c, "testdata/topology.txt", drawn))
	})
}
