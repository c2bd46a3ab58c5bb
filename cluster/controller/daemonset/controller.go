// Package daemonset is the DaemonSet controller: it keeps one pod on each node that may
// have it.
//
// The worked idea. A DaemonSet agent on a cluster of three nodes, of which node-3 has a
// taint that it does not tolerate:
//
//  1. each node is asked: should it run there, and may it stay where it runs?
//     node-1 and node-2 say yes, node-3 says no
//  2. node-1 has its pod, node-2 has none: create one that can go nowhere else, by a
//     required affinity to the node's name. The scheduler binds it like any
//     other pod
//  3. an update deletes the pod of one node after the other, as maxUnavailable allows, and
//     the next run makes it anew; with maxSurge it makes the new one first
//  4. it writes what it counted into the status
//
// Its pods tolerate what happens to a node (not ready, unreachable, pressure, cordoned): who
// would bring the network back, if not they?
//
// Mirrors pkg/controller/daemon. Simplified: no metrics; where upstream goes through a map of
// nodes, this goes by their names. Nothing is watched before the first DaemonSet. Start reading at [Controller.sync].
package daemonset

import (
	"maps"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
	What: "the metrics of the DaemonSet controller",
})

// The controller's name, which its Events come from, and that of its ServiceAccount.
const (
	Name    = "daemonset-controller"
	Account = "daemon-set-controller"
)

// onNode is the name of the index of pods by node.
const onNode = "node"

// Controller is the DaemonSet controller.
type Controller struct {
	*reconcile.Env
	sets    *informer.Informer // from the first DaemonSet on, as the rest
	pods    *informer.Informer
	nodes   *informer.Informer
	history *history.Revisions
	expect  *expect.Expectations
	written *expect.Written
	failed  *backoff
	loop    *reconcile.Loop
	onNode  *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first DaemonSet and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.DaemonSets)
		c.watch()
		c.loop.Start(c.sets, c.pods, c.nodes, c.history.Informer())
		c.onNode.Start(c.sets, c.pods, c.nodes, c.history.Informer())
	})
}

// watch has every change looked at that may call for a pod more or less.
func (c *Controller) watch() {
	c.sets, c.pods, c.nodes = c.Informers.For(client.DaemonSets), c.Informers.For(client.Pods), c.Informers.For(client.Nodes)
	c.history = history.Of(c.Env)
	c.expect, c.written, c.failed = expect.New(), expect.NewWritten(c.pods, c.sets), newBackoff()
	c.loop = reconcile.NewLoop(c.Env, "daemonset", client.DaemonSets, c.sync)
	c.onNode = reconcile.NewLoop(c.Env, "daemonset-node-updates", client.Nodes, c.syncNode)
	c.loop.Persistent = true
	ownerref.AddIndex(c.pods)
	c.pods.AddIndex(onNode, func(obj runtime.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	c.sets.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if old.(*appsv1.DaemonSet).UID != obj.(*appsv1.DaemonSet).UID {
				c.forget(informer.KeyOf(old))
			}
			c.enqueue(t, obj)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			c.forget(informer.KeyOf(obj))
			c.enqueue(t, obj)
		},
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.addPod(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.updatePod(t, old.(*corev1.Pod), obj.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deletePod(t, obj.(*corev1.Pod)) },
	})
	c.history.Informer().AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			switch rev := obj.(*appsv1.ControllerRevision); {
			case rev.DeletionTimestamp != nil: // first seen when already on its way out
				c.enqueueOwner(t, rev)
			case metav1.GetControllerOfNoCopy(rev) == nil:
				c.enqueueAdopters(t, rev)
			}
		},
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*appsv1.ControllerRevision), obj.(*appsv1.ControllerRevision)
			if was.ResourceVersion != is.ResourceVersion {
				c.moved(t, was, is)
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueueOwner(t, obj.(*appsv1.ControllerRevision)) },
	})
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.onNode.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*corev1.Node), obj.(*corev1.Node)
			if !maps.Equal(was.Labels, is.Labels) || !apiequality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints) {
				c.onNode.Add(t, informer.KeyOf(is))
			}
		},
	})
}

func (c *Controller) enqueue(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }

func (c *Controller) forget(key string) {
	c.expect.Forget(key)
	c.written.Forget(key)
}

func (c *Controller) addPod(t *sim.Task, pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil: // first seen when already on its way out: nobody's creation
		c.deletePod(t, pod)
	case metav1.GetControllerOfNoCopy(pod) == nil:
		c.enqueueAdopters(t, pod)
	default:
		if ds, ok := c.owner(pod); ok {
			c.expect.Created(informer.KeyOf(ds))
			c.enqueue(t, ds)
		}
	}
}

func (c *Controller) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	if pod.DeletionTimestamp != nil {
		c.deletePod(t, pod)
		return
	}
	c.moved(t, old, pod)
	if ds, ok := c.owner(pod); ok && ds.Spec.MinReadySeconds > 0 && !pods.Ready(old) && pods.Ready(pod) {
		// It becomes available later, and nothing will happen then to say so.
		c.loop.AddAfter(t, informer.KeyOf(ds), time.Duration(ds.Spec.MinReadySeconds+1)*time.Second)
	}
}

func (c *Controller) deletePod(t *sim.Task, pod *corev1.Pod) {
	if ds, ok := c.owner(pod); ok {
		c.expect.Deleted(informer.KeyOf(ds), pod.Name)
		c.enqueue(t, ds)
	}
}

// moved wakes up who owned a changed object, who owns it, or who might.
func (c *Controller) moved(t *sim.Task, old, obj ownerref.Object) {
	moved := !reflect.DeepEqual(metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(obj))
	if moved {
		c.enqueueOwner(t, old)
	}
	switch {
	case metav1.GetControllerOfNoCopy(obj) != nil:
		c.enqueueOwner(t, obj)
	case moved || !maps.Equal(old.GetLabels(), obj.GetLabels()):
		c.enqueueAdopters(t, obj)
	}
}

func (c *Controller) owner(obj ownerref.Object) (*appsv1.DaemonSet, bool) {
	return ownerref.Resolve[*appsv1.DaemonSet](c.sets, client.DaemonSets.Kind, obj.GetNamespace(), metav1.GetControllerOfNoCopy(obj))
}

func (c *Controller) enqueueOwner(t *sim.Task, obj ownerref.Object) {
	if ds, ok := c.owner(obj); ok {
		c.enqueue(t, ds)
	}
}

// enqueueAdopters wakes up every DaemonSet whose selector matches an orphan.
func (c *Controller) enqueueAdopters(t *sim.Task, orphan ownerref.Object) {
	if len(orphan.GetLabels()) == 0 {
		return
	}
	for _, obj := range c.sets.ListNamespace(orphan.GetNamespace()) {
		sel, err := metav1.LabelSelectorAsSelector(obj.(*appsv1.DaemonSet).Spec.Selector)
		if err == nil && !sel.Empty() && sel.Matches(labels.Set(orphan.GetLabels())) {
			c.enqueue(t, obj)
		}
	}
}
