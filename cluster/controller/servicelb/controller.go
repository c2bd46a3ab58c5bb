// Package servicelb is the service controller of cloud-controller-manager: it has the cloud
// make a load balancer for each Service of type LoadBalancer, and writes its address into
// the Service's status, where kubectl shows it as EXTERNAL-IP.
//
// The worked idea. kubectl expose deployment web --type=LoadBalancer, in a cluster of three
// nodes:
//
//  1. the finalizer service.kubernetes.io/load-balancer-cleanup is put on the Service: it
//     cannot go while its load balancer is there
//  2. the cloud is asked for a load balancer that forwards to node-1, node-2 and node-3
//  3. some seconds later status.loadBalancer.ingress says 203.0.113.1
//
// A node that joins, goes, or gets the label node.kubernetes.io/exclude-from-external-load-balancers
// is a key of the queue node: each load balancer is given the new nodes. That a node is not
// Ready changes nothing; the load balancer asks the nodes itself whether they are well.
//
// A Service with a loadBalancerClass is another controller's, and left alone.
//
// Mirrors k8s.io/cloud-provider/controllers/service. Simplified: the caches do not tell of
// everything again every 30 and 100 s. Start reading at sync.go.
package servicelb

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the service controller is not told of every Service again every 30 s, nor of every node every 100 s; what fails is tried again after its back-off",
})

// The controller's name (k8s.io/cloud-provider/names ServiceLBController), and where its
// Events come from.
const (
	Name   = "service-lb-controller"
	Source = "service-controller"
)

// Finalizer keeps a Service until its load balancer is gone
// (service/helpers LoadBalancerCleanupFinalizer).
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// How long a Service waits after a failure, doubled each time (minRetryDelay, maxRetryDelay).
const (
	minRetry = 5 * time.Second
	maxRetry = 300 * time.Second
)

// LoadBalancers are the cloud's (cloudprovider.LoadBalancer).
type LoadBalancers interface {
	// Get is that of a Service as its status says it; nil if there is none.
	Get(t *sim.Task, svc *corev1.Service) (*corev1.LoadBalancerStatus, error)
	// Ensure makes it, or makes it as the Service now wants it.
	Ensure(t *sim.Task, svc *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	// Update gives it other nodes.
	Update(t *sim.Task, svc *corev1.Service, nodes []*corev1.Node) error
	// Delete takes it away, if it is there.
	Delete(t *sim.Task, svc *corev1.Service) error
}

// Controller is the service controller.
type Controller struct {
	*reconcile.Env
	cloud    LoadBalancers
	services *informer.Informer
	nodes    *informer.Informer
	loop     *reconcile.Loop // Services
	byNode   *reconcile.Loop // nodes that came, went or changed

	// known are the Services that have a load balancer, or shall have one, as they were
	// last synced (serviceCache).
	known map[string]*corev1.Service
	// synced are the nodes that each Service's load balancer was last given (lastSyncedNodes).
	synced map[string][]*corev1.Node
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env, cloud LoadBalancers) *Controller {
	c := &Controller{
		Env: env, cloud: cloud, services: env.Informers.For(client.Services), nodes: env.Informers.For(client.Nodes),
		known: map[string]*corev1.Service{}, synced: map[string][]*corev1.Node{},
	}
	c.loop = reconcile.NewLoop(env, "service", client.Services, c.sync)
	c.loop.SetBaseDelay(minRetry)
	c.loop.SetMaxDelay(maxRetry)
	c.byNode = reconcile.NewLoop(env, "node", client.Nodes, c.syncNodes)
	c.services.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			// What needs cleaning up is also looked at: the last controller may have ended meanwhile.
			if svc := obj.(*corev1.Service); Wants(svc) || needsCleanup(svc) {
				c.loop.Add(t, informer.KeyOf(svc))
			}
		},
		// A deletion is an update, with which the deletion timestamp comes.
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if svc := obj.(*corev1.Service); changed(old.(*corev1.Service), svc) || needsCleanup(svc) {
				c.loop.Add(t, informer.KeyOf(svc))
			}
		},
	})
	node := func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.byNode.Add(t, informer.KeyOf(obj)) }
	c.nodes.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    node,
		Update: func(t *sim.Task, old, obj runtime.Object, why trace.ID) {
			if matters(old.(*corev1.Node), obj.(*corev1.Node)) {
				node(t, obj, why)
			}
		},
		Delete: node,
	})
	return c
}

// Start starts the workers, that of nodes first: the nodes that are there are news to no load
// balancer yet.
func (c *Controller) Start() {
	c.byNode.Start(c.services, c.nodes)
	c.loop.Start(c.services, c.nodes)
}
