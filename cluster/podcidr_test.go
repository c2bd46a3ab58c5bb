package cluster_test

import (
	"net/netip"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// However many nodes there are, each has a range of its own for its pods, all within
// the cluster CIDR, and none within the Services' (kubeadm's 10.96.0.0/12).
func TestNodesShareTheClusterCIDR(t *testing.T) {
	services := netip.MustParsePrefix("10.96.0.0/12")
	for nodes, want := range map[int]string{1: "10.244.0.0/16", 204: "10.244.0.0/16", 205: "10.244.0.0/15", 1000: "10.240.0.0/13", 3072: "10.240.0.0/12", 5000: "10.224.0.0/11"} {
		all, of := cluster.PodCIDRs(nodes)
		if all.String() != want || all.Overlaps(services) {
			t.Errorf("%d nodes: cluster CIDR %s, want %s", nodes, all, want)
		}
		seen := map[netip.Prefix]bool{}
		for i, p := range of {
			if !all.Overlaps(p) || p.Bits() != 24 || p != p.Masked() || seen[p] {
				t.Fatalf("node-%d of %d has %s, of %s; had before: %v", i+1, nodes, p, all, seen[p])
			}
			seen[p] = true
		}
		if of[0].String() != "10.244.1.0/24" {
			t.Errorf("%d nodes: the first has %s", nodes, of[0])
		}
	}
}

// What kube-proxy takes for traffic of pods is what the nodes' ranges are cut from, and
// its configuration says the same.
func TestKubeProxyKnowsTheClusterCIDR(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Bare: true, Nodes: 260})
		out := run(t, c, `
kubectl get node node-256 -o jsonpath='{.spec.podCIDR}{"\n"}'
kubectl -n kube-system get configmap kube-proxy -o jsonpath='{.data.config\.conf}'
on node-1 iptables-save
`)
		for _, want := range []string{"10.245.0.0/24\n", "clusterCIDR: 10.244.0.0/15\n", "-A KUBE-SVC-NPX46M4PTMTKRN6Y ! -s 10.244.0.0/15 "} {
			if !strings.Contains(strings.ReplaceAll(out, `"`, ""), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if strings.Contains(out, "/16") {
			t.Errorf("somebody still speaks of a /16:\n%s", out)
		}
	})
}

// Every node has an address of its own, which is no end of a /24, from 192.168.0.11 on.
func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	if got := cluster.NodeAddress(1); got != "192.168.0.11" {
		t.Errorf("the first is %s", got)
	}
	seen := map[string]bool{}
	for i := 1; i <= 5000; i++ {
		a := netip.MustParseAddr(cluster.NodeAddress(i)).As4()
		if s := cluster.NodeAddress(i); seen[s] || a[3] == 0 || a[3] == 255 {
			t.Errorf("node %d has %s", i, s)
		}
		seen[cluster.NodeAddress(i)] = true
	}
}

// The node IPAM controller gives a node that joins its range. While it is stopped the node has
// none, is not Ready, and its pods wait: testdata/podcidrs.txt.
func TestANodeWaitsForItsRange(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 4, Bare: true})
		golden(t, "podcidrs", typed(t, c, "testdata/podcidrs.txt", varying))
	})
}
