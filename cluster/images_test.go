package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Images that the simulation does not know run as what they are used for, and that is
// said; those that it knows are refused what the real ones are refused.
func TestImagesOutsideTheCatalogueRun(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 51, Bare: true, Nodes: 2})
		golden(t, "images", typed(t, c, "testdata/images.txt", drawn, []varies{
			{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
			{regexp.MustCompile(`exec "[0-9a-f]{64}"`), `exec "ID"`},
			{regexp.MustCompile(` +[0-9]+s$`), "  AGE"},
			{regexp.MustCompile(`(?m) +([0-9]+s ago\)|[0-9]+s)( +[0-9]+s)?$`), "  AGE"},
		}))
	})
}
