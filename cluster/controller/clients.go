package controller

import (
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/garbage"
	"kviz/cluster/controller/namespace"
	"kviz/cluster/controller/storageversionmigrator"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// How fast a client of kube-controller-manager may send (pkg/controller/apis/config/v1alpha1
// defaults.go).
const (
	usualQPS   = 20
	usualBurst = 30
)

// clients makes clients, each with a rate limit of its own (controller-manager
// pkg/clientbuilder).
type clients struct {
	p   *sim.Process
	c   client.Interface // of the process itself
	cfg Config
}

// root is a client of the process itself (rootClientBuilder).
func (cs clients) root(name string) client.Interface {
	return throttle.New(cs.p, cs.p.Lane, cs.c, name, cs.limits())
}

// of is a controller's client, through which its Events go, too
// (cmd/kube-controller-manager NewClient).
func (cs clients) of(controller string) client.Interface {
	own, limits := cs.c, cs.limits()
	if cs.cfg.ClientFor != nil {
		own = cs.cfg.ClientFor(controller)
	}
	switch controller { // cmd/kube-controller-manager/app/core.go
	case namespace.Name: // newNamespaceController: it is very chatty
		limits.QPS *= 20
		limits.Burst *= 100
	case storageversionmigrator.Name: // newSVMController: a migration is many requests
		limits.QPS *= 20
		limits.Burst *= 100
	case garbage.Name: // newGarbageCollectorController: a deletion takes two calls
		limits.QPS *= 2
	}
	return throttle.New(cs.p, trace.Lane{Component: controller}, own, controller, limits)
}

func (cs clients) limits() throttle.Limits {
	return cs.cfg.Limits.Or(throttle.Limits{QPS: usualQPS, Burst: usualBurst})
}
