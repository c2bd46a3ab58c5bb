// Package endpointslice is the EndpointSlice controller: it writes down, for
// each Service with a selector, the addresses of the pods behind it, a hundred
// to a slice. What kube-proxy and DNS know of pods, they know from here.
//
// The worked idea. Service web selects app=web, port 80 to the pods' port named
// http. Two pods match:
//
//	web-a  10.244.1.5  Ready              → address, ready serving
//	web-b  10.244.2.7  being deleted      → address, not ready, terminating,
//	                                        serving as long as its probe passes
//
// A pod without an address is not in the slice at all, one that is not ready is,
// with ready=false: so everybody can see it, and nobody sends to it. Slices are
// changed as little as possible, because each change goes to every node: an
// endpoint stays in the slice it is in, and room in a slice that changes anyway
// is used before another one is touched.
//
// Mirrors pkg/controller/endpointslice and the module k8s.io/endpointslice, whose
// reconciler takes endpoints out of a hash map in random order; here they keep
// the order of the pods' names. Simplified: no topology hints, and the services
// of a pod are looked up at once instead of in a queue of their own. Start
// reading at [Controller.sync].
package endpointslice

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "no topology hints; the services of a pod are looked up at once instead of in a queue of their own",
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
	tracker  tracker
	triggers triggers
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	f := env.Informers
	c := &Controller{
		Env: env, services: f.For(client.Services), pods: f.For(client.Pods), nodes: f.For(client.Nodes), slices: f.For(client.EndpointSlices),
		tracker: tracker{}, triggers: triggers{},
	}
	c.loop = reconcile.NewLoop(env, "endpoint_slice", client.Services, c.sync)
	c.loop.MaxRetries = maxRetries
	c.loop.SetBaseDelay(firstRetry)
	c.slices.AddIndex(byServiceLabels, func(obj runtime.Object) []string {
		slice := obj.(*discoveryv1.EndpointSlice)
		if !managed(slice) {
			return nil
		}
		return []string{serviceKey(slice)}
	})
	enqueue := func(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }
	c.services.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podCameOrWent(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.updatePod(t, old.(*corev1.Pod), new.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podCameOrWent(t, obj.(*corev1.Pod)) },
	})
	c.slices.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.sliceChanged(t, obj.(*discoveryv1.EndpointSlice)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.updateSlice(t, old.(*discoveryv1.EndpointSlice), new.(*discoveryv1.EndpointSlice))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.sliceDeleted(t, obj.(*discoveryv1.EndpointSlice)) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.pods, c.services, c.slices, c.nodes) }

func managed(s *discoveryv1.EndpointSlice) bool {
	return s.Labels[discoveryv1.LabelManagedBy] == ManagedBy
}

// serviceKey is the key of the Service a slice is for; "" without one.
func serviceKey(s *discoveryv1.EndpointSlice) string {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return ""
	}
	return informer.Key(s.Namespace, name)
}

// podCameOrWent wakes up the pod's Services. (Upstream does so for a pod
// without an address too, and finds nothing to do.)
func (c *Controller) podCameOrWent(t *sim.Task, pod *corev1.Pod) {
	if addressed(pod) {
		c.enqueueServices(t, pod, nil)
	}
}

// updatePod wakes up the pod's Services if something changed that endpoints
// tell (podEndpointsChanged).
func (c *Controller) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	labelled := !maps.Equal(old.Labels, pod.Labels) || old.Spec.Hostname != pod.Spec.Hostname || old.Spec.Subdomain != pod.Spec.Subdomain
	changed := (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		pods.Ready(old) != pods.Ready(pod) || pods.Terminal(old) != pods.Terminal(pod) || !sameIPs(old, pod)
	switch {
	case !addressed(old) && !addressed(pod):
	case labelled:
		c.enqueueServices(t, pod, old)
	case changed:
		c.enqueueServices(t, pod, nil)
	}
}

func sameIPs(a, b *corev1.Pod) bool {
	if len(a.Status.PodIPs) != len(b.Status.PodIPs) {
		return false
	}
	for i := range a.Status.PodIPs {
		if a.Status.PodIPs[i].IP != b.Status.PodIPs[i].IP {
			return false
		}
	}
	return true
}

// selects reports whether the Service's selector matches the pod. (A map of
// labels, compared directly: this runs for every pod in every sync.)
func selects(svc *corev1.Service, pod *corev1.Pod) bool {
	for k, v := range svc.Spec.Selector {
		if have, ok := pod.Labels[k]; !ok || have != v {
			return false
		}
	}
	return svc.Spec.Selector != nil
}

// addressed reports whether a pod can be an endpoint at all.
func addressed(pod *corev1.Pod) bool { return pod.Status.PodIP != "" || len(pod.Status.PodIPs) > 0 }

// enqueueServices wakes up the Services that select the pod, as it is or as it
// was.
func (c *Controller) enqueueServices(t *sim.Task, pod, was *corev1.Pod) {
	for _, obj := range c.services.ListNamespace(pod.Namespace) {
		svc := obj.(*corev1.Service)
		if selects(svc, pod) || was != nil && selects(svc, was) {
			c.loop.Add(t, informer.KeyOf(svc))
		}
	}
}

// sliceChanged wakes up the Service of a slice that this controller did not
// write in this form: somebody else did.
func (c *Controller) sliceChanged(t *sim.Task, s *discoveryv1.EndpointSlice) {
	if managed(s) && c.tracker.shouldSync(s) {
		c.wake(t, s)
	}
}

func (c *Controller) updateSlice(t *sim.Task, old, s *discoveryv1.EndpointSlice) {
	switch {
	case serviceKey(old) != serviceKey(s):
		c.wake(t, s)
		c.wake(t, old)
	case managed(old) != managed(s):
		c.wake(t, s)
	default:
		c.sliceChanged(t, s)
	}
}

func (c *Controller) sliceDeleted(t *sim.Task, s *discoveryv1.EndpointSlice) {
	if managed(s) && c.tracker.has(s) && !c.tracker.handleDeletion(s) {
		c.wake(t, s)
	}
}

func (c *Controller) wake(t *sim.Task, s *discoveryv1.EndpointSlice) {
	if key := serviceKey(s); key != "" {
		c.loop.AddAfter(t, key, foreignDelay)
	}
}
