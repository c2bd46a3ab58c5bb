// Package network is the nodes' network: links between nodes, each node's
// netfilter tables and connection tracking, and the walk of a packet through
// them.
//
// In a real cluster this is the Linux kernel and the wires. Here a node's
// tables hold exactly the rules kube-proxy wrote (package proxy), and a packet
// is matched against them rule by rule; every rule met is an event. Start
// reading at walk.go.
package network

import (
	"kviz/cluster/sim"
)

// Network joins the nodes of a cluster.
type Network struct {
	k     *sim.Kernel
	nodes map[string]*Node
}

// Node is a node's kernel as far as packets go. It outlives kube-proxy: a
// stopped proxy leaves its rules here.
type Node struct {
	Name    string
	Address string // 192.168.0.x
	PodCIDR string
	Tables  *Tables
}

// New makes a network without nodes.
func New(k *sim.Kernel) *Network { return &Network{k: k, nodes: map[string]*Node{}} }

// AddNode adds a node. pods finds what listens on its addresses (the node's
// runtime.Runtime).
func (n *Network) AddNode(name, address, podCIDR string, pods Pods) *Node {
	node := &Node{Name: name, Address: address, PodCIDR: podCIDR, Tables: newTables()}
	n.nodes[name] = node
	return node
}

// Pods finds what listens on the pod addresses of one node.
type Pods interface{}
