package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A Service of type LoadBalancer has an address while cloud-controller-manager runs and the
// cloud answers, and from wherever somebody connects to the address the pods behind it
// answer: testdata/loadbalancers.txt.
func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "loadbalancers", typed(t, c, "testdata/loadbalancers.txt", varying))
	})
}
