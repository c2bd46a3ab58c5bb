// Package endpointslicemirroring is the EndpointSliceMirroring controller: what people
// write into the Endpoints of a Service without a selector it writes into EndpointSlices,
// because that is where kube-proxy and DNS look.
//
// The worked idea. Service db has no selector: the database is outside the cluster. Its
// Endpoints, written by hand, have one subset:
//
//	addresses: [192.0.2.7, 2001:db8::7]   ports: [5432]
//
// A slice has addresses of one family, so they become two slices, owned by the
// Endpoints and labelled as managed by this controller. A change to such a slice is
// undone; once the Service has a selector, the slices are deleted.
//
// Mirrors pkg/controller/endpointslicemirroring. Simplified: Endpoints of Services with
// selectors, for which upstream's controller would find nothing to do, are not even
// queued. Start reading at [Controller.sync].
package endpointslicemirroring

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

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
	What: "Endpoints of Services with selectors are not even queued for mirroring into slices",
})

// Name is the controller's name; ManagedBy is what its slices are labelled with.
const (
	Name      = "endpointslice-mirroring-controller"
	Source    = "endpoint-slice-mirroring-controller" // of its Events
	ManagedBy = "endpointslicemirroring-controller.k8s.io"
)

// Upstream's numbers.
const (
	MaxEndpoints = 1000 // of a subset; each has a slice of its own

	maxRetries = 15
	firstRetry = time.Second
	mirrored   = "mirrored" // slices by the Service they are for
)

// Controller is the EndpointSliceMirroring controller.
type Controller struct {
	*reconcile.Env
	endpoints *informer.Informer
	slices    *informer.Informer
	services  *informer.Informer
	loop      *reconcile.Loop
	tracker   services.Tracker
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	f := env.Informers
	c := &Controller{
		Env: env, endpoints: f.For(client.Endpoints), slices: f.For(client.EndpointSlices), services: f.For(client.Services),
		tracker: services.Tracker{},
	}
	c.loop = reconcile.NewLoop(env, "endpoint_slice_mirroring", client.Endpoints, c.sync)
	c.loop.MaxRetries = maxRetries
	c.loop.SetBaseDelay(firstRetry)
	c.slices.AddIndex(mirrored, func(obj runtime.Object) []string {
		s := obj.(*discoveryv1.EndpointSlice)
		if s.Labels[discoveryv1.LabelManagedBy] != ManagedBy {
			return nil
		}
		return []string{services.KeyOf(s)}
	})
	c.endpoints.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.endpointsChanged(t, obj, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.endpointsChanged(t, old, obj)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.endpointsChanged(t, obj, obj) },
	})
	services.FollowSlices(c.slices, ManagedBy, c.tracker, func(t *sim.Task, key string) { c.loop.Add(t, key) })
	cameOrWent := func(t *sim.Task, obj runtime.Object, _ trace.ID) {
		if obj.(*corev1.Service).Spec.Selector == nil {
			c.loop.Add(t, informer.KeyOf(obj))
		}
	}
	c.services.AddHandler(informer.Handler{
		Add: cameOrWent,
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if (old.(*corev1.Service).Spec.Selector == nil) != (obj.(*corev1.Service).Spec.Selector == nil) {
				c.loop.Add(t, informer.KeyOf(obj))
			}
		},
		Delete: cameOrWent,
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.endpoints, c.slices, c.services) }

// endpointsChanged wakes up for Endpoints that are, or were, to be mirrored.
func (c *Controller) endpointsChanged(t *sim.Task, old, obj runtime.Object) {
	key := informer.KeyOf(obj)
	if svc, ok := c.services.Get(key); ok && svc.(*corev1.Service).Spec.Selector != nil {
		return // what is left of before is removed when the Service gets its selector
	}
	if toMirror(old.(*corev1.Endpoints)) || toMirror(obj.(*corev1.Endpoints)) {
		c.loop.Add(t, key)
	}
}

// toMirror reports whether Endpoints are not left alone for what is written on them: that
// they are not to be mirrored, or that they are an old kind of Lease (shouldMirror).
func toMirror(e *corev1.Endpoints) bool {
	_, elects := e.Annotations[resourcelock.LeaderElectionRecordAnnotationKey]
	return !elects && e.Labels[discoveryv1.LabelSkipMirror] != "true"
}
