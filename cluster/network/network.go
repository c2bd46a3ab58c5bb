// Package network is the nodes' network: links between nodes, each node's
// netfilter tables and connection tracking, and the walk of a packet through
// them.
//
// In a real cluster this is the Linux kernel and the wires. Here a node's
// tables hold exactly the rules kube-proxy wrote (package proxy), and the first
// packet of a connection is matched against them rule by rule; every rule met
// is an event, with the reason why it matched or not.
//
// Simplified: only the first packet walks, answers find their way back; node
// CIDRs are routed without encapsulation; there is no network policy; names are
// asked of a Resolver, not of a DNS server by packets. Start reading at dial.go,
// then walk.go.
package network

import (
	"math/rand/v2"
	"net/netip"
	"sort"
	"time"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Simplified,
	What: "only the first packet of a connection is walked through the rules; answers find their way back",
	Seen: "pane 8, the way of a packet",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Absent,
	What: "network policies, and any encapsulation between nodes",
})

// Network joins the nodes of a cluster. Its methods may be called only on the
// kernel's goroutine.
type Network struct {
	k     *sim.Kernel
	nodes map[string]*Node
	rand  *rand.Rand
	flows uint64
	cut   map[[2]string]bool
	// isolated are nodes that are cut from all others.
	isolated map[string]bool
	delay    map[[2]string]time.Duration

	resolver  Resolver
	balancers Balancers
	routes    Routes
}

// Node is a node's kernel as far as packets go. It outlives kube-proxy: a
// stopped proxy leaves its rules here.
type Node struct {
	Name    string
	Address string // 192.168.0.x
	PodCIDR string
	Tables  *Tables

	address   netip.Addr
	pods      netip.Prefix
	listeners Pods
	recent    map[string]map[netip.Addr]time.Duration
	conntrack map[tuple]*Connection
	servers   map[int]Server // by port
}

// Pods finds what listens on a node's addresses: the node's *runtime.Runtime.
type Pods interface {
	Has(ip string) bool
	PodAt(ip string) (string, bool)
	AddressOf(namespace, name string) (string, bool)
	Connect(ip string, port int, path string) runtime.Answer
	Powered() bool
}

// New makes a network without nodes.
func New(k *sim.Kernel) *Network {
	return &Network{k: k, nodes: map[string]*Node{}, rand: k.Rand("network"), cut: map[[2]string]bool{}, isolated: map[string]bool{}, delay: map[[2]string]time.Duration{}}
}

// AddNode adds a node, or replaces the one of the name, and joins the commands
// in its containers to the network. It panics on an address or CIDR that cannot
// be read: the cluster makes them up.
func (n *Network) AddNode(name, address, podCIDR string, pods Pods) *Node {
	node := &Node{
		Name: name, Address: address, PodCIDR: podCIDR, Tables: newTables(),
		address: netip.MustParseAddr(address), listeners: pods,
		recent: map[string]map[netip.Addr]time.Duration{}, conntrack: map[tuple]*Connection{}, servers: map[int]Server{},
	}
	node.SetPodCIDR(podCIDR)
	n.nodes[name] = node
	if rt, ok := pods.(interface{ SetDialer(runtime.Dialer) }); ok {
		rt.SetDialer(n)
	}
	return node
}

// SetPodCIDR gives a node the addresses of its pods; "" is none.
func (n *Node) SetPodCIDR(podCIDR string) {
	if n.PodCIDR, n.pods = podCIDR, (netip.Prefix{}); podCIDR != "" {
		n.pods = netip.MustParsePrefix(podCIDR)
	}
}

// RemoveNode takes a node away.
func (n *Network) RemoveNode(name string) { delete(n.nodes, name) }

// Node gives a node, nil if there is none of the name.
func (n *Network) Node(name string) *Node { return n.nodes[name] }

// SetResolver sets who resolves names; nil is nobody.
func (n *Network) SetResolver(r Resolver) { n.resolver = r }

// Routes are a cloud's table of where packets to pods go.
type Routes interface {
	// Routed reports whether it leads to a node's pods, which have these addresses.
	Routed(node, podCIDR string) bool
}

// SetRoutes sets the table that packets between nodes need to get to pods; nil: the nodes know the
// way themselves.
func (n *Network) SetRoutes(r Routes) { n.routes = r }

// Cut cuts the links between a node and its peers (all nodes, if none are
// named), both ways: packets are lost.
func (n *Network) Cut(node string, peers ...string) {
	if len(peers) == 0 {
		n.isolated[node] = true
	}
	for _, p := range peers {
		n.cut[pair(node, p)] = true
	}
}

// Heal mends what Cut has cut.
func (n *Network) Heal(node string, peers ...string) {
	if len(peers) == 0 {
		delete(n.isolated, node)
		for _, p := range n.names() {
			delete(n.cut, pair(node, p))
		}
	}
	for _, p := range peers {
		delete(n.cut, pair(node, p))
	}
}

// linked reports whether packets get from one node to another.
func (n *Network) linked(a, b *Node) bool {
	return !n.cut[pair(a.Name, b.Name)] && !n.isolated[a.Name] && !n.isolated[b.Name] && b.listeners.Powered()
}

// Linked reports whether packets get from one node to another, or to itself.
func (n *Network) Linked(a, b string) bool {
	from, to := n.nodes[a], n.nodes[b]
	return from != nil && to != nil && (a == b || n.linked(from, to))
}

// SetDelay makes the link between two nodes take d longer each way.
func (n *Network) SetDelay(a, b string, d time.Duration) { n.delay[pair(a, b)] = d }

func pair(a, b string) [2]string {
	if b < a {
		a, b = b, a
	}
	return [2]string{a, b}
}

// names lists the nodes, sorted.
func (n *Network) names() []string {
	names := make([]string, 0, len(n.nodes))
	for name := range n.nodes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// local reports whether an address is the node's own (addrtype LOCAL).
func (n *Node) local(a netip.Addr) bool {
	return a == n.address || a.IsLoopback() || a == n.pods.Masked().Addr().Next() // cni0
}

// owner is the node whose address it is, or whose pods have it.
func (n *Network) owner(a netip.Addr) (node *Node, host bool) {
	for _, name := range n.names() {
		o := n.nodes[name]
		if o.address == a {
			return o, true
		}
		if o.pods.Contains(a) {
			return o, false
		}
	}
	return nil, false
}
