package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Admission plugins that an administrator configures: testdata/rate-limit.txt is what
// is typed and what is seen. Events that come too fast are refused until the bucket
// has filled again, by virtual time; pods must keep a standard where their namespace
// says nothing.
func TestAdmissionConfiguration(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "rate-limit", typed(t, c, "testdata/rate-limit.txt"))
	})
}
