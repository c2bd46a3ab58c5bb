package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// What nothing acts on is told in an Event too, so that kubectl describe tells those who did
// not write the object: once, about what a person wrote, and of a flood only the beginning.
func TestWhatIsNotSimulatedIsToldInEvents(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 51, Bare: true, Nodes: 1})
		golden(t, "not-simulated", typed(t, c, "testdata/not-simulated.txt", []varies{
			{regexp.MustCompile(`  [0-9]+s  `), "  AGE  "},
			{regexp.MustCompile(`  [0-9.]+m?s \(x[0-9]+ over [0-9.]+m?s\)`), "  AGE"},
		}))
	})
}
