// Package podgc is the pod garbage collector, which is not the garbage
// collector: it removes pods that nobody else will ever remove.
//
//   - pods bound to a node that no longer exists: no kubelet will end them. The
//     node must be gone for 40 s (it may just be registering again), and the API
//     server is asked once more.
//   - pods that are being deleted and were never bound to a node
//   - pods being deleted on a node tainted out-of-service, by an administrator
//     who knows that it is off
//   - the oldest ended pods beyond 12,500
//
// Mirrors pkg/controller/podgc. Start reading at [Controller.pass].
package podgc

import (
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
)

// Name is the controller's name.
const Name = "pod-garbage-collector-controller"

// Upstream's numbers.
const (
	period     = 20 * time.Second
	quarantine = 40 * time.Second // of a node that is not there
	// Threshold is how many ended pods may stay (--terminated-pod-gc-threshold).
	Threshold = 12500
)

// Controller is the pod garbage collector.
type Controller struct {
	*reconcile.Env
	pods  *informer.Informer
	nodes *informer.Informer
	gone  *workqueue.Queue[string] // names of nodes that are not there, delayed
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	return &Controller{
		Env: env, pods: env.Informers.For(client.Pods), nodes: env.Informers.For(client.Nodes),
		gone: workqueue.New[string]("orphaned_pods_nodes", env.Process.Lane, env.Process),
	}
}

// Start starts the pass that runs every 20 s.
func (c *Controller) Start() {
	c.Process.Go("gc", func(t *sim.Task) {
		c.pods.WaitForSync(t)
		c.nodes.WaitForSync(t)
		for {
			t.SetCauses()
			c.Linger(t)
			c.pass(t)
			t.Sleep(period)
		}
	})
}

// pass looks at all pods once (gc).
func (c *Controller) pass(t *sim.Task) {
	var ended []*corev1.Pod
	orphaned := c.missingNodes(t)
	for _, obj := range c.pods.List() {
		c.Attempt(t, client.RefOf(obj), "a look at the pod", func() {
			if pod := obj.(*corev1.Pod); c.look(t, pod, orphaned) {
				ended = append(ended, pod)
			}
		})
	}
	c.Attempt(t, trace.Ref{}, "the removal of ended pods", func() { c.trim(t, ended) })
}

// look removes a pod that nobody else will, and reports whether it has ended.
func (c *Controller) look(t *sim.Task, pod *corev1.Pod, orphaned map[string]bool) (ended bool) {
	node, exists := c.node(pod.Spec.NodeName)
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp != nil:
		c.remove(t, pod, nil, "pod %s is being deleted and was never bound to a node: nobody else will remove it", pod.Name)
	case pod.Spec.NodeName != "" && !exists:
		if orphaned[pod.Spec.NodeName] {
			c.remove(t, pod, &corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
			}, "node %s of pod %s no longer exists: no kubelet will end the pod", pod.Spec.NodeName, pod.Name)
		} else {
			c.gone.AddAfter(t, pod.Spec.NodeName, quarantine)
		}
	case exists && pod.DeletionTimestamp != nil && outOfService(node):
		c.remove(t, pod, nil, "pod %s is being deleted on node %s, which an administrator declared out of service", pod.Name, node.Name)
	case pods.Terminal(pod):
		return true
	}
	return false
}

func (c *Controller) node(name string) (*corev1.Node, bool) {
	obj, ok := c.nodes.Get(name)
	if !ok {
		return nil, false
	}
	return obj.(*corev1.Node), true
}

// missingNodes gives the nodes whose quarantine is over and which the API
// server does not have either (discoverDeletedNodes).
func (c *Controller) missingNodes(t *sim.Task) map[string]bool {
	missing := map[string]bool{}
	for c.gone.Len() > 0 {
		name, _, _ := c.gone.Get(t)
		if _, back := c.nodes.Get(name); !back {
			_, err := c.Client.Get(t, client.Nodes, "", name)
			missing[name] = apierrors.IsNotFound(err)
		}
		c.gone.Done(t, name)
	}
	return missing
}

func outOfService(node *corev1.Node) bool {
	tainted, ready := false, false
	for _, taint := range node.Spec.Taints {
		tainted = tainted || taint.Key == corev1.TaintNodeOutOfService
	}
	for _, cond := range node.Status.Conditions {
		ready = ready || cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
	}
	return tainted && !ready
}

// trim removes the oldest ended pods beyond the threshold (gcTerminated).
func (c *Controller) trim(t *sim.Task, ended []*corev1.Pod) {
	surplus := len(ended) - Threshold
	if surplus <= 0 {
		return
	}
	sort.SliceStable(ended, func(i, j int) bool {
		a, b := ended[i], ended[j]
		if ea, eb := evicted(a), evicted(b); ea != eb {
			return ea
		}
		if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
			return a.Name < b.Name
		}
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	})
	for _, pod := range ended[:surplus] {
		c.remove(t, pod, nil, "%d pods have ended and %d may stay: %s is among the oldest", len(ended), Threshold, pod.Name)
	}
}

func evicted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
}

// remove marks a pod failed and deletes it without grace
// (markFailedAndDeletePodWithCondition). An error is left to the next pass.
func (c *Controller) remove(t *sim.Task, pod *corev1.Pod, cond *corev1.PodCondition, why string, args ...any) {
	c.Act(t, informer.KeyOf(pod), client.RefOf(pod), "delete", client.RefOf(pod), nil, pod.Status.Phase, fmt.Sprintf(why, args...))
	if !pods.Terminal(pod) {
		status := *pod.Status.DeepCopy()
		status.Phase = corev1.PodFailed
		if cond != nil {
			pods.SetCondition(t, pod, &status, *cond)
		}
		if err := pods.PatchStatus(t, c.Client, pod, status); err != nil {
			t.SetCauses()
			return
		}
	}
	zero := int64(0)
	_ = c.Client.Delete(t, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	t.SetCauses()
}
