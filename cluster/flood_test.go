package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A hundred updates of one object come to as many runs of its controller as a run
// leaves room for: testdata/hundred-updates.txt is what is typed and what is seen. A
// queue merges a key that waits, and lets one that is worked on go round once more;
// what comes in one burst, because the watch stood still, is merged whole.
func TestAHundredUpdates(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "hundred-updates", typed(t, c, "testdata/hundred-updates.txt"))
	})
}
