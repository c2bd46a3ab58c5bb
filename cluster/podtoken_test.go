package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A pod's token, as something in the pod finds it: whose it is, what it may do, that
// the kubelet writes another before it ends, and that it ends with its pod.
// testdata/pod-token.txt is what is typed and what is seen.
func TestAPodsToken(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "pod-token", typed(t, c, "testdata/pod-token.txt", identities, varying))
	})
}
