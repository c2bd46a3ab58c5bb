package cluster

import (
	"encoding/binary"
	"net/netip"
)

// firstPods is where the pods' addresses begin: those of node n are 10.244.n.0/24 in
// every cluster that kubeadm's usual --pod-network-cidr is large enough for.
var firstPods = netip.AddrFrom4([4]byte{10, 244, 0, 0})

// nodeMask is kube-controller-manager's --node-cidr-mask-size: the pods of one node.
const nodeMask = 24

// clusterCIDR is kube-controller-manager's --cluster-cidr, where every pod's address
// comes from. What is in it is, for kube-proxy, traffic of pods.
type clusterCIDR struct{ netip.Prefix }

// usualBits is the size of the cluster CIDR that kubeadm's examples have.
const usualBits = 16

// podCIDRs is the cluster CIDR as somebody chooses it who knows how many nodes there
// will be: a /16 where 255 ranges are enough for the nodes and a quarter more to join,
// else as much as it takes.
func podCIDRs(nodes int) clusterCIDR {
	bits := usualBits
	for want := nodes + nodes/4; 1<<(nodeMask-bits)-1 < want; {
		bits--
	}
	return clusterCIDR{netip.PrefixFrom(firstPods, bits).Masked()}
}

// node is the range that node number i of a new cluster has, from 1: i ranges after firstPods (that
// one is left to the control plane's machine), and
// round from the end of the cluster's to its beginning, so that a node has the same
// range in a cluster that is a little larger.
func (c clusterCIDR) node(i int) netip.Prefix {
	network := func(a netip.Addr) uint32 {
		b := a.As4()
		return binary.BigEndian.Uint32(b[:])
	}
	begin, size := network(c.Addr()), uint32(1)<<(32-c.Bits())
	offset := (network(firstPods) - begin + uint32(i)<<(32-nodeMask)) % size
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], begin+offset)
	return netip.PrefixFrom(netip.AddrFrom4(b), nodeMask)
}
