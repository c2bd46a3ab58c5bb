package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// identities are drawn from the seed and the store's revision; how many requests of
// its own kubectl makes side by side, and so the time, is nothing that this story tells.
var identities = []varies{
	{regexp.MustCompile(`((?:uid|UID|resourceVersion|Resource Version)"?: *)"?[-0-9a-f]+"?`), "$1…"},
	{regexp.MustCompile(`2026-01-01T00:\d\d:\d\dZ`), "TIME"},
}

// The CronTab of the Kubernetes documentation ("Extend the Kubernetes API with
// CustomResourceDefinitions"), from its definition to its end, in kubectl:
// testdata/crontab.txt is what is typed and what is seen. A command goes on over
// the lines that begin with "> ".
func TestKubectlCustomResources(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "crontab", typed(t, c, "testdata/crontab.txt", identities, varying))
	})
}
