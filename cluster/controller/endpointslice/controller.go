// Package endpointslice is the EndpointSlice controller: it writes down, for each
// Service with a selector, the addresses of the pods behind it, a hundred to a slice.
// Everything that kube-proxy and DNS know of pods they know from these.
//
// The worked idea. Service web selects app=web, port 80 to the pods' port named
// http. Two pods match:
//
//	web-a  10.244.1.5  Ready              → address, ready serving
//	web-b  10.244.2.7  being deleted      → address, not ready, terminating,
//	                                        serving as long as its probe passes
//
// A pod without an address is not in the slice at all; one that is not ready is, with
// ready=false, so that everybody can see it and nobody sends to it. Slices are
// changed as little as possible, because each change goes to every node: an endpoint
// stays in the slice it is in, and room in a slice that changes anyway is used before
// another one is touched.
//
// Mirrors pkg/controller/endpointslice and the module k8s.io/endpointslice, whose
// reconciler takes endpoints out of a hash map in random order; here they keep
// the order of the pods' names. Simplified: no topology hints. Start reading at
// [Controller.sync].
package endpointslice

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/services"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "no topology hints in EndpointSlices",
})

// Name is the controller's name; ManagedBy is what its slices are labelled with.
const (
	Name      = "endpointslice-controller"
	Source    = "endpoint-slice-controller" // of its Events
	ManagedBy = "endpointslice-controller.k8s.io"
)

// Upstream's numbers.
const (
	MaxEndpoints = 100 // to a slice

	maxRetries      = 15
	firstRetry      = time.Second
	foreignDelay    = time.Second // after somebody else touched a slice
	byServiceLabels = "service"
)

// Controller is the EndpointSlice controller.
type Controller struct {
	*reconcile.Env
	services *informer.Informer
	pods     *informer.Informer
	nodes    *informer.Informer
	slices   *informer.Informer
	loop     *reconcile.Loop
	tracker  services.Tracker
	triggers services.Triggers
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	f := env.Informers
	c := &Controller{
		Env: env, services: f.For(client.Services), pods: f.For(client.Pods), nodes: f.For(client.Nodes), slices: f.For(client.EndpointSlices),
		tracker: services.Tracker{}, triggers: services.Triggers{},
	}
	c.loop = reconcile.NewLoop(env, "endpoint_slice", client.Services, c.sync)
	c.loop.MaxRetries = maxRetries
	c.loop.SetBaseDelay(firstRetry)
	c.slices.AddIndex(byServiceLabels, func(obj runtime.Object) []string {
		slice := obj.(*discoveryv1.EndpointSlice)
		if !managed(slice) {
			return nil
		}
		return []string{services.KeyOf(slice)}
	})
	enqueue := func(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }
	c.services.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
	})
	services.Follow(c.services, c.pods, c.loop.Add)
	services.FollowSlices(c.slices, ManagedBy, c.tracker, func(t *sim.Task, key string) { c.loop.AddAfter(t, key, foreignDelay) })
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.pods, c.services, c.slices, c.nodes) }

func managed(s *discoveryv1.EndpointSlice) bool {
	return s.Labels[discoveryv1.LabelManagedBy] == ManagedBy
}
