package cluster_test

import (
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Paths that reach out of where they belong: out of a pod's disk, out of a volume, out
// of what the API server serves. testdata/escape.txt is what is typed and what is seen;
// nothing of the machine's own files is in it.
func TestNoPathReachesOut(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		said := typed(t, c, "testdata/escape.txt", identities, varying)
		for _, of := range []string{"root:x:", "module kviz", "Linux version", "PRIVATE KEY"} {
			if strings.Contains(said, of) {
				t.Errorf("somewhere stands %q", of)
			}
		}
		golden(t, "escape", said)
	})
}
