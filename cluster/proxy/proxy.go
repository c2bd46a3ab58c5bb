// Package proxy is kube-proxy in iptables mode: on every node it watches
// Services and EndpointSlices and keeps the node's netfilter rules in line with
// them.
//
// It mirrors pkg/proxy/iptables: the chains, their hashed names, comments and
// probabilities are upstream's, letter by letter; the rules go to the node's
// tables (package network) where packets meet them, and stay there when the
// proxy dies. Start reading at rules.go, then sync.go.
package proxy

import (
	"kviz/cluster/client"
	"kviz/cluster/network"
	"kviz/cluster/sim"
)

// Config says which node a proxy serves.
type Config struct {
	Node        *network.Node // whose tables it writes
	ClusterCIDR string        // "" means 10.244.0.0/16
	// Shared lets the proxies of many nodes compute equal rule sets once; nil
	// means this proxy computes its own.
	Shared *Shared
}

// Shared is work that the proxies of a cluster have in common.
type Shared struct{}

// NewShared makes an empty Shared; give the same one to every proxy.
func NewShared() *Shared { return &Shared{} }

// Proxy is the kube-proxy of one node.
type Proxy struct {
	cfg Config
	p   *sim.Process
	c   client.Interface
}

// Start starts a proxy as tasks of p, whose lane is {proxy, node}.
func Start(p *sim.Process, c client.Interface, cfg Config) *Proxy {
	return &Proxy{cfg: cfg, p: p, c: c}
}
