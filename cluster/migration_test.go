package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A definition whose storage version changes, and built-in kinds, as their administrator has
// the objects stored again: testdata/migration.txt is what is typed and what is seen.
func TestStorageVersionMigration(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "migration", typed(t, c, "testdata/migration.txt", identities, varying))
	})
}
