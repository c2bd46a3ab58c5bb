package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// The audit log as an administrator meets it: testdata/audit.txt is what is typed
// and what is seen. A policy is put in force, the log is searched for who did
// what, its disk fills up and is mended, the policy is taken away.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "audit", typed(t, c, "testdata/audit.txt"))
	})
}
