// Package controller starts the controllers of kube-controller-manager: each a
// loop that compares what is wanted with what is and takes one step towards it.
package controller

import (
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Config says how the controllers run. The zero value is upstream's defaults
// but for one worker a controller.
type Config struct {
	// Identity names this copy in the Lease kube-controller-manager; default
	// the process's lane.
	Identity string
	// ClientFor gives the connection a controller uses, as upstream gives each
	// its own ServiceAccount ("deployment-controller" …); nil: all use c.
	ClientFor func(controller string) client.Interface
	// Workers is how many workers each controller has; default 1.
	Workers int
	// RootCA is the certificate published as ConfigMap kube-root-ca.crt in
	// each namespace.
	RootCA string
}

// Start begins the election for the Lease kube-controller-manager in process p
// and, once it is won, runs every controller in children of p. When the Lease is
// lost, p is killed, as the real one exits.
func Start(p *sim.Process, c client.Interface, cfg Config) {
}
