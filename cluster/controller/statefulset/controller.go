// Package statefulset is the StatefulSet controller: it keeps pods that are somebody. Each
// has an ordinal, and with it a name, a host name and volumes of its own; who takes its
// place gets all of them.
//
// The worked idea. A StatefulSet db wants 3 and has db-0:
//
//  1. its pods by their ordinals, which it reads from their names: db-0 is there, db-1
//     and db-2 are missing, nothing is beyond them
//  2. it goes through the ordinals from 0 on. db-0 runs and is available: go on. db-1 is
//     missing: make its claims from the templates (data-db-1), then the pod, and stop
//     here. Nothing is done for db-2 before db-1 is available; it may have to
//     find db-1 at work
//  3. once all are available: the pod of the highest ordinal beyond spec.replicas goes,
//     and when none is left there, the one of the highest ordinal that is not of the
//     newest template: update means delete, the next run makes it anew
//  4. it writes what it counted into the status
//
// A pod that does not become available stops all of this (podManagementPolicy
// OrderedReady), also the update that would mend it: then somebody has to delete it.
// With Parallel nothing waits for anything, except an update for maxUnavailable.
//
// The claims stay when the pods go, unless persistentVolumeClaimRetentionPolicy says
// otherwise: then they are given an owner whose end the garbage collector notices, see
// retention.go.
//
// Mirrors pkg/controller/statefulset. Simplified: no metrics, no memory of comparisons of
// revisions; requests for a pod's claims are sent in the order of the templates, which
// upstream takes from a map. Nothing is watched before the first StatefulSet. Start reading at
// [Controller.sync].
package statefulset

import (
	"maps"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/expect"
	"kviz/cluster/controller/history"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Absent,
	What: "the metrics of the StatefulSet controller",
})

// Name is the controller's name, and where its Events come from.
const Name = "statefulset-controller"

// Controller is the StatefulSet controller.
type Controller struct {
	*reconcile.Env
	sets    *informer.Informer // from the first StatefulSet on, as the rest
	pods    *informer.Informer
	claims  *informer.Informer
	history *history.Revisions
	written *expect.Written
	loop    *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first StatefulSet and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.StatefulSets)
		c.watch()
		c.loop.Start(c.sets, c.pods, c.claims, c.history.Informer())
	})
}

// watch has every change looked at that may call for a step. Claims and revisions are
// only read.
func (c *Controller) watch() {
	c.sets, c.pods = c.Informers.For(client.StatefulSets), c.Informers.For(client.Pods)
	c.claims, c.history = c.Informers.For(client.PersistentVolumeClaims), history.Of(c.Env)
	c.written = expect.NewWritten(c.pods, c.claims, c.sets)
	c.loop = reconcile.NewLoop(c.Env, "statefulset", client.StatefulSets, c.sync)
	c.loop.Persistent = true
	ownerref.AddIndex(c.pods)
	c.sets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.addPod(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.updatePod(t, old.(*corev1.Pod), obj.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deletePod(t, obj.(*corev1.Pod)) },
	})
}

func (c *Controller) enqueue(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }

// addPod wakes up the pod's StatefulSet, or, for an orphan, all that might adopt it.
func (c *Controller) addPod(t *sim.Task, pod *corev1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if pod.DeletionTimestamp != nil || ref != nil {
		c.enqueueOwner(t, pod, ref)
		return
	}
	c.enqueueAdopters(t, pod)
}

func (c *Controller) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	moved := !reflect.DeepEqual(was, is)
	if moved {
		c.enqueueOwner(t, old, was)
	}
	if is == nil {
		if moved || !maps.Equal(old.Labels, pod.Labels) {
			c.enqueueAdopters(t, pod)
		}
		return
	}
	if set, ok := c.enqueueOwner(t, pod, is); ok && set.Spec.MinReadySeconds > 0 && !pods.Ready(old) && pods.Ready(pod) {
		// It becomes available later, and nothing will happen then to say so.
		c.loop.AddAfter(t, informer.KeyOf(set), time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
}

func (c *Controller) deletePod(t *sim.Task, pod *corev1.Pod) {
	c.enqueueOwner(t, pod, metav1.GetControllerOfNoCopy(pod))
}

func (c *Controller) enqueueOwner(t *sim.Task, pod *corev1.Pod, ref *metav1.OwnerReference) (*appsv1.StatefulSet, bool) {
	set, ok := ownerref.Resolve[*appsv1.StatefulSet](c.sets, client.StatefulSets.Kind, pod.Namespace, ref)
	if ok {
		c.enqueue(t, set)
	}
	return set, ok
}

// enqueueAdopters wakes up every StatefulSet whose selector matches an orphan.
func (c *Controller) enqueueAdopters(t *sim.Task, pod *corev1.Pod) {
	if len(pod.Labels) == 0 {
		return
	}
	for _, obj := range c.sets.ListNamespace(pod.Namespace) {
		sel, err := metav1.LabelSelectorAsSelector(obj.(*appsv1.StatefulSet).Spec.Selector)
		if err == nil && !sel.Empty() && sel.Matches(labels.Set(pod.Labels)) {
			c.enqueue(t, obj)
		}
	}
}
