// Package endpoint is the Endpoints controller: it writes down, for each Service with a
// selector, the addresses of the pods behind it, all in one object of the Service's name.
// It is what EndpointSlices replaced; kube-proxy and DNS read those, and `kubectl get
// endpoints` is answered with a warning. People, scripts and older programs still look
// here.
//
// The worked idea. Service web selects app=web and has the ports http and metrics. Pods
// a and b are Ready, c is not:
//
//	subsets:
//	- addresses: [a, b]            everybody may send here
//	  notReadyAddresses: [c]       nobody should
//	  ports: [http 8080, metrics 9090]
//
// A subset is a set of addresses that have the same ports; a pod where the port named
// http is another number is in a subset of its own. A pod that is being deleted is not in
// the object at all (a slice would say terminating), unless not-ready addresses are
// published. Each change of one pod writes all addresses again and sends them to every
// watcher. That is why there are slices, and why Endpoints stop at a thousand addresses.
//
// Mirrors pkg/controller/endpoint; the packing is upstream's code
// (pkg/api/v1/endpoints). Start reading at [Controller.sync].
package endpoint

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/services"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name, Source that of its Events and of its ServiceAccount.
const (
	Name   = "endpoints-controller"
	Source = "endpoint-controller"
)

// LabelManagedBy is on the objects that this controller keeps; its value is [Source].
const LabelManagedBy = "endpoints.kubernetes.io/managed-by"

const maxRetries = 15

// Controller is the Endpoints controller.
type Controller struct {
	*reconcile.Env
	services  *informer.Informer
	pods      *informer.Informer
	endpoints *informer.Informer
	loop      *reconcile.Loop
	triggers  services.Triggers
	// stale is, by key, the resourceVersion that the object had before this controller's
	// newest update of it (staleEndpointsTracker).
	stale map[string]string
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	f := env.Informers
	c := &Controller{
		Env: env, services: f.For(client.Services), pods: f.For(client.Pods), endpoints: f.For(client.Endpoints),
		triggers: services.Triggers{}, stale: map[string]string{},
	}
	c.loop = reconcile.NewLoop(env, "endpoint", client.Services, c.sync)
	c.loop.MaxRetries = maxRetries
	enqueue := func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) }
	c.services.AddHandler(informer.Handler{
		Add:    enqueue,
		Update: func(t *sim.Task, _, obj runtime.Object, id trace.ID) { enqueue(t, obj, id) },
		Delete: enqueue,
	})
	services.Follow(c.services, c.pods, c.loop.Add)
	c.endpoints.AddHandler(informer.Handler{
		// Those of the first list are looked at: their Services may have gone while nobody
		// looked (checkLeftoverEndpoints). Those of an old kind of election have none.
		Add: func(t *sim.Task, obj runtime.Object, id trace.ID) {
			_, elects := obj.(*corev1.Endpoints).Annotations[resourcelock.LeaderElectionRecordAnnotationKey]
			if !c.endpoints.HasSynced() && !elects {
				enqueue(t, obj, id)
			}
		},
		Delete: enqueue,
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.pods, c.services, c.endpoints) }
