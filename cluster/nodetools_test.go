package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// What the tools of a node tell, past the API server and the kubelet:
// testdata/node-tools.txt. All that the help names is there.
func TestNodeTools(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "node-tools", typed(t, c, "testdata/node-tools.txt", varying))
	})
}
