package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Owners and dependents of custom kinds, in every order and with every policy, as
// kubectl sees the garbage collector deal with them: testdata/custom-owners.txt.
func TestGarbageOfCustomOwners(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "custom-owners", typed(t, c, "testdata/custom-owners.txt", identities, varying))
	})
}
