package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Who one is to the API server, as an administrator and jane see it:
// testdata/identity.txt is what is typed and what is seen. A client certificate
// makes one jane (inventory 54), RBAC decides what she may (60), and she is nobody
// when the certificate expires; a service account's token does what RBAC says, for
// the right audience, until it expires (55).
func TestIdentity(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "identity", typed(t, c, "testdata/identity.txt"))
	})
}
