package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A team gets a quota, sizes for its pods, and a Pod Security Standard:
// testdata/admission.txt is what is typed and what is seen. The ReplicaSet that may
// not make its third pod says so, and makes it when the quota allows it.
func TestKubectlLimits(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true})
		golden(t, "admission", typed(t, c, "testdata/admission.txt", varying))
	})
}
