// Package route is the node route controller of cloud-controller-manager: it has the cloud lead
// packets to the pods of each node, and says in the node's condition NetworkUnavailable whether
// it does.
//
// A cloud's network knows its machines, but not the addresses of pods. Its table of routes says
// where a packet goes whose destination is no machine's: to the node that has those addresses in
// spec.podCIDRs.
//
// The worked idea. node-1 has 10.244.1.0/24. Every ten seconds, and when it starts, the
// controller
//
//  1. asks the cloud for the routes that there are
//  2. deletes those of the cluster's addresses that lead to no node, or to one with other
//     addresses
//  3. makes those that are missing: 10.244.1.0/24 leads to node-1
//  4. writes into each node's status: NetworkUnavailable is False, reason RouteCreated; or True,
//     reason NoRouteCreated, from which the node lifecycle controller makes the taint
//     node.kubernetes.io/network-unavailable, so that no pod goes there
//
// Mirrors k8s.io/cloud-provider/controllers/route with its gate
// CloudControllerManagerWatchBasedRoutesReconciliation off, as it is by default. Simplified: the
// loop, which has no queue upstream, is the key periodic of the queue Routes, which upstream has
// with the gate on. Start reading at sync.go.
package route

import (
	"net/netip"
	"time"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "node-route-controller looks at all routes every 10 s, as with the gate CloudControllerManagerWatchBasedRoutesReconciliation off, but as the key periodic of the queue that upstream has with the gate on",
	Seen: "pane 5",
})

// Name is the controller's name (k8s.io/cloud-provider/names NodeRouteController), Source where
// its Events come from, and Account its service account.
const (
	Name    = "node-route-controller"
	Source  = "route_controller"
	Account = "route-controller"
)

// Period is what lies between the beginnings of two looks at all routes
// (--route-reconciliation-period).
const Period = 10 * time.Second

// key is that of the queue: a look at all routes (routeCorrectionsKey).
const key = "periodic"

// Routes are the cloud's (cloudprovider.Routes).
type Routes interface {
	// ListRoutes are those that there are.
	ListRoutes(t *sim.Task) ([]cloudprovider.Route, error)
	// CreateRoute makes one; hint is a part of its name.
	CreateRoute(t *sim.Task, hint string, r cloudprovider.Route) error
	// DeleteRoute takes one away.
	DeleteRoute(t *sim.Task, r cloudprovider.Route) error
}

// Controller is the node route controller.
type Controller struct {
	*reconcile.Env
	routes  Routes
	cluster netip.Prefix // --cluster-cidr
	nodes   *informer.Informer
	loop    *reconcile.Loop
}

// New makes the controller of the routes to the pods of a cluster; Start starts it.
func New(env *reconcile.Env, routes Routes, cluster netip.Prefix) *Controller {
	c := &Controller{Env: env, routes: routes, cluster: cluster, nodes: env.Informers.For(client.Nodes)}
	c.loop = reconcile.NewLoop(env, "Routes", client.Nodes, c.sync)
	c.loop.RefOf = func(string) trace.Ref { return trace.Ref{} }
	c.loop.MaxRetries = -1 // the next look at all routes tries again
	return c
}

// Start starts the worker and the clock.
func (c *Controller) Start() {
	c.loop.Start(c.nodes)
	c.Process.Go("clock", func(t *sim.Task) {
		c.nodes.WaitForSync(t)
		for {
			c.loop.Add(t, key)
			t.Sleep(Period)
		}
	})
}
