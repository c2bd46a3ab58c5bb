// Package replicaset is the ReplicaSet controller: it keeps as many pods of one
// template as spec.replicas says, no more and no fewer.
//
// The worked idea. A ReplicaSet wants 3 and has 1:
//
//  1. its pods: those whose controller reference has its UID, plus orphans
//     its selector matches (which it adopts), without those that have ended
//     or are being deleted
//  2. 1 - 3 = -2: create 2, first 1, then, since that worked, 1 (1, 2, 4 …: a
//     template the API server refuses is refused once, not 500 times)
//  3. it expects to see 2 creations, and does not create or delete again until
//     its cache has shown them
//  4. it writes what it counted into the status
//
// It never waits for a pod to run: counting the ready ones into the status is
// all it does about that. It does not know Deployments either; it only has an
// owner. A second copy of it keeps the pods of ReplicationControllers, see kind.go.
//
// Mirrors pkg/controller/replicaset and replication. Simplified: no consistency
// store, no metrics. Start reading at [Controller.sync].
package replicaset

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
	What: "the consistency store and the metrics of the ReplicaSet controller",
})

// The controllers' names, and where the second one's Events come from.
const (
	Name              = "replicaset-controller"
	ReplicationName   = "replicationcontroller-controller"
	ReplicationSource = "replication-controller"
)

// BurstReplicas is the most pods that one sync creates or deletes.
const BurstReplicas = 500

// Controller is the ReplicaSet controller, or that of ReplicationControllers.
type Controller struct {
	*reconcile.Env
	kind   *kind
	sets   *informer.Informer
	pods   *informer.Informer
	expect *expect.Expectations
	loop   *reconcile.Loop

	tallies map[string]*tally // by key of the ReplicaSet
}

// New makes the ReplicaSet controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, kind: replicaSets}
	c.watch()
	return c
}

// watch has every change looked at that may call for more pods or fewer.
func (c *Controller) watch() {
	c.sets, c.pods = c.Informers.For(c.kind.resource), c.Informers.For(client.Pods)
	c.expect, c.tallies = expect.New(), map[string]*tally{}
	c.loop = reconcile.NewLoop(c.Env, c.kind.queue, c.kind.resource, c.sync)
	ownerref.AddIndex(c.sets)
	ownerref.AddIndex(c.pods)
	c.sets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Update: c.updateSet,
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			c.expect.Forget(informer.KeyOf(obj))
			c.enqueue(t, obj)
		},
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.addPod(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.updatePod(t, old.(*corev1.Pod), new.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deletePod(t, obj.(*corev1.Pod)) },
	})
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.sets, c.pods) }

// Replication is the controller of ReplicationControllers.
type Replication struct{ c *Controller }

// NewReplication makes it; Start starts it.
func NewReplication(env *reconcile.Env) *Replication {
	return &Replication{&Controller{Env: env, kind: replicationControllers}}
}

// Start waits for the first ReplicationController and then begins to work.
func (r *Replication) Start() {
	r.c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, r.c.Client, client.ReplicationControllers)
		r.c.watch()
		r.c.Start()
	})
}

func (c *Controller) enqueue(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }

func (c *Controller) updateSet(t *sim.Task, old, new runtime.Object, _ trace.ID) {
	if was := c.kind.set(old); was.UID != c.kind.set(new).UID {
		c.expect.Forget(informer.KeyOf(was))
	}
	c.enqueue(t, new)
}

// addPod wakes up the pod's ReplicaSet, or, for an orphan, all that might adopt
// it.
func (c *Controller) addPod(t *sim.Task, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		// First seen when already on its way out: nobody's creation.
		c.deletePod(t, pod)
		return
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if rs, ok := c.owner(pod, ref); ok {
			c.expect.Created(informer.KeyOf(rs))
			c.enqueue(t, rs)
		}
		return
	}
	c.enqueueAdopters(t, pod)
}

func (c *Controller) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	labelled := !maps.Equal(old.Labels, pod.Labels)
	if pod.DeletionTimestamp != nil {
		// The replacement is due now, not when the kubelet is done.
		c.deletePod(t, pod)
		if labelled {
			c.deletePod(t, old)
		}
		return
	}
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	moved := !reflect.DeepEqual(was, is)
	if moved && was != nil {
		if rs, ok := c.owner(old, was); ok {
			c.enqueue(t, rs)
		}
	}
	if is == nil {
		if labelled || moved {
			c.enqueueAdopters(t, pod)
		}
		return
	}
	rs, ok := c.owner(pod, is)
	if !ok {
		return
	}
	c.enqueue(t, rs)
	if rs.Spec.MinReadySeconds > 0 && !pods.Ready(old) && pods.Ready(pod) {
		// It becomes available later, and nothing will happen then to say so.
		c.loop.AddAfter(t, informer.KeyOf(rs), time.Duration(rs.Spec.MinReadySeconds)*time.Second)
	}
}

func (c *Controller) deletePod(t *sim.Task, pod *corev1.Pod) {
	if rs, ok := c.owner(pod, metav1.GetControllerOfNoCopy(pod)); ok {
		c.expect.Deleted(informer.KeyOf(rs), informer.KeyOf(pod))
		c.enqueue(t, rs)
	}
}

func (c *Controller) owner(pod *corev1.Pod, ref *metav1.OwnerReference) (*appsv1.ReplicaSet, bool) {
	obj, ok := ownerref.Resolve[ownerref.Object](c.sets, c.kind.resource.Kind, pod.Namespace, ref)
	if !ok {
		return nil, false
	}
	return c.kind.set(obj), true
}

// enqueueAdopters wakes up every ReplicaSet whose selector matches an orphan.
func (c *Controller) enqueueAdopters(t *sim.Task, pod *corev1.Pod) {
	if len(pod.Labels) == 0 {
		return
	}
	for _, obj := range c.sets.ListNamespace(pod.Namespace) {
		rs := c.kind.set(obj)
		sel, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		if err == nil && !sel.Empty() && sel.Matches(labels.Set(pod.Labels)) {
			c.enqueue(t, rs)
		}
	}
}
