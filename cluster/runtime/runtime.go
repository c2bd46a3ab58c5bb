// Package runtime is the container runtime of a node: what containerd is to a
// real kubelet, at the other end of the CRI, with the CNI plugin it calls.
//
// The calls, their order, their errors and their state are the CRI's. Below
// that boundary containers are simulated: a container is a [Behaviour] that
// listens on ports, answers, crashes or exits after some virtual time, chosen
// by image, command and annotation (behaviour.go has the catalogue). A
// runtime belongs to a node, not to a kubelet: it goes on when its kubelet
// dies, and containers go on when the runtime itself is stopped.
//
// Start reading at sandbox.go (RunPodSandbox) and container.go.
package runtime

import (
	"kviz/cluster/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Config says what node a runtime is on.
type Config struct {
	Node    string // "node-1"
	PodCIDR string // addresses CNI hands out: "10.244.1.0/24"
}

// Runtime is the container runtime of one node.
type Runtime struct {
	cfg  Config
	k    *sim.Kernel
	reg  *registry.Registry
	lane trace.Lane
}

// New makes the runtime of a node, running and with its network ready.
func New(k *sim.Kernel, reg *registry.Registry, cfg Config) *Runtime {
	return &Runtime{cfg: cfg, k: k, reg: reg, lane: trace.Lane{Component: trace.CompRuntime, Instance: cfg.Node}}
}
