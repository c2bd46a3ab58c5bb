package cluster_test

import (
	"testing"

	"kviz/cluster"
)

// Owners and dependents of custom kinds, in every order and with every policy, as
// kubectl sees the garbage collector deal with them: testdata/custom-owners.txt.
func TestGarbageOfCustomOwners(t *testing.T) {
	t.Parallel()
	c := boot(t, cluster.Config{Seed: 1, Bare: true})
	golden(t, "custom-owners", typed(t, c, "testdata/custom-owners.txt", identities, varying))
}
