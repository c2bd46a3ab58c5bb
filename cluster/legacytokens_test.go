package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// The token of a Secret, as somebody uses it that has it from before Kubernetes 1.24:
// testdata/legacy-tokens.txt is what is typed and what is seen.
func TestLegacyTokens(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "legacy-tokens", typed(t, c, "testdata/legacy-tokens.txt", identities, varying))
	})
}
