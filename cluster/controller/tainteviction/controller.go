// Package tainteviction is the taint eviction controller: it deletes the pods
// on a node with NoExecute taints that they do not tolerate, at once or when
// their tolerationSeconds are over.
//
// The worked idea. Node node-2 stops answering; the node lifecycle controller
// taints it node.kubernetes.io/unreachable:NoExecute. Its pods:
//
//	tolerations                                then
//	none for this taint                        deleted now
//	unreachable for 300 s (admission adds it)  deleted in 300 s, unless the
//	                                           taint is gone by then
//	unreachable without a limit (DaemonSets)   stay
//
// Deleted means: in the API. The pods stay Terminating until the kubelet confirms,
// and it is the kubelet that does not answer; their owner makes new ones at once.
//
// Until Kubernetes 1.29 this was part of the node lifecycle controller; the earlier
// flag --pod-eviction-timeout is gone.
//
// Mirrors pkg/controller/tainteviction. Start reading at [Controller.syncNode].
package tainteviction

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name.
const Name = "taint-eviction-controller"

// byNode is the name of the pod index by node.
const byNode = "node"

// Controller is the taint eviction controller.
type Controller struct {
	*reconcile.Env
	pods  *informer.Informer
	nodes *informer.Informer

	nodeLoop *reconcile.Loop
	podLoop  *reconcile.Loop
	evict    *reconcile.Loop
	planned  map[string]eviction // by pod key
}

// eviction is a deletion that is planned.
type eviction struct {
	created time.Time
	due     time.Time
	uid     types.UID
	why     string
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, pods: env.Informers.For(client.Pods), nodes: env.Informers.For(client.Nodes), planned: map[string]eviction{}}
	c.nodeLoop = reconcile.NewLoop(env, "noexec_taint_node", client.Nodes, c.syncNode)
	c.podLoop = reconcile.NewLoop(env, "noexec_taint_pod", client.Pods, c.syncPod)
	c.evict = reconcile.NewLoop(env, "taint_eviction", client.Pods, c.delete)
	c.evict.MaxRetries = 5
	c.pods.AddIndex(byNode, func(obj runtime.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if len(noExecute(obj.(*corev1.Node))) > 0 {
				c.nodeLoop.Add(t, informer.KeyOf(obj))
			}
		},
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			if !reflect.DeepEqual(noExecute(old.(*corev1.Node)), noExecute(new.(*corev1.Node))) {
				c.nodeLoop.Add(t, informer.KeyOf(new))
			}
		},
	})
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podSeen(t, nil, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.podSeen(t, old.(*corev1.Pod), new.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if _, ok := c.planned[informer.KeyOf(obj)]; ok {
				c.podLoop.Add(t, informer.KeyOf(obj))
			}
		},
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() {
	c.nodeLoop.Start(c.nodes, c.pods)
	c.podLoop.Start(c.nodes, c.pods)
	c.evict.Start(c.nodes, c.pods)
}

// podSeen wakes up for a pod that came to a tainted node or whose tolerations
// changed.
func (c *Controller) podSeen(t *sim.Task, old, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	if old != nil && old.Spec.NodeName == pod.Spec.NodeName && reflect.DeepEqual(old.Spec.Tolerations, pod.Spec.Tolerations) {
		return
	}
	if len(c.taintsOf(pod.Spec.NodeName)) > 0 {
		c.podLoop.Add(t, informer.KeyOf(pod))
	}
}

func (c *Controller) taintsOf(node string) []corev1.Taint {
	if obj, ok := c.nodes.Get(node); ok {
		return noExecute(obj.(*corev1.Node))
	}
	return nil
}

func noExecute(node *corev1.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			out = append(out, taint)
		}
	}
	return out
}

// syncNode judges all pods of a node whose NoExecute taints changed
// (handleNodeUpdate).
func (c *Controller) syncNode(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Name)
	if !ok {
		return nil // its pods are the pod garbage collector's
	}
	taints := noExecute(obj.(*corev1.Node))
	for _, o := range c.pods.ByIndex(byNode, run.Name) {
		c.judge(run, o.(*corev1.Pod), taints)
	}
	return nil
}

// syncPod judges one pod (handlePodUpdate).
func (c *Controller) syncPod(run *reconcile.Run) error {
	obj, ok := c.pods.Get(run.Key)
	if !ok {
		delete(c.planned, run.Key)
		c.evict.Cancel(run.Key)
		return nil
	}
	pod := obj.(*corev1.Pod)
	c.judge(run, pod, c.taintsOf(pod.Spec.NodeName))
	return nil
}

// judge plans, keeps or cancels a pod's deletion (processPodOnNode).
func (c *Controller) judge(run *reconcile.Run, pod *corev1.Pod, taints []corev1.Taint) {
	key, now := informer.KeyOf(pod), run.T.Now()
	if len(taints) == 0 {
		c.cancel(run, pod, "the NoExecute taints of node "+pod.Spec.NodeName+" are gone")
		return
	}
	after, bad := tolerated(pod, taints)
	if after < 0 {
		c.cancel(run, pod, "its tolerations have no time limit")
		return
	}
	if pod.DeletionTimestamp != nil && after == 0 {
		return // on its way already
	}
	start := now
	if p, ok := c.planned[key]; ok && p.uid == pod.UID && after > 0 {
		start = p.created
		if start.Add(after).Before(now.Add(after)) {
			return // planned already, and earlier
		}
		c.cancel(run, pod, "its tolerations changed")
	}
	why := fmt.Sprintf("pod %s does not tolerate %s of node %s", pod.Name, bad, pod.Spec.NodeName)
	plan := fmt.Sprintf("pod %s tolerates %s of node %s for %s", pod.Name, bad, pod.Spec.NodeName, after)
	if after > 0 {
		why = plan + ", and that time is over"
	}
	c.planned[key] = eviction{created: start, due: now.Add(after), uid: pod.UID, why: why}
	c.evict.Cancel(key)
	if after > 0 {
		run.Act("update", client.RefOf(pod), after, nil, "%s: plan to delete it then", plan)
	}
	c.evict.AddAfter(run.T, key, after)
}

// cancel forgets a planned deletion.
func (c *Controller) cancel(run *reconcile.Run, pod *corev1.Pod, why string) {
	key := informer.KeyOf(pod)
	if _, ok := c.planned[key]; !ok {
		return
	}
	delete(c.planned, key)
	c.evict.Cancel(key)
	run.Act("update", client.RefOf(pod), nil, nil, "%s: do not delete pod %s after all", why, pod.Name)
	c.Events.Event(run.T, pod, corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", key)
}

// delete carries out a planned deletion (addConditionAndDeletePod).
func (c *Controller) delete(run *reconcile.Run) error {
	p, ok := c.planned[run.Key]
	if !ok {
		return nil
	}
	if wait := p.due.Sub(run.T.Now()); wait > 0 {
		run.Again(wait)
		return nil
	}
	pod, err := client.Get[*corev1.Pod](run.T, c.Client, client.Pods, run.Namespace, run.Name)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != p.uid {
		delete(c.planned, run.Key)
		return nil
	}
	if err != nil {
		return err
	}
	run.Act("delete", client.RefOf(pod), nil, pod.Status.Phase, "%s: delete it", p.why)
	c.Events.Event(run.T, pod, corev1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod %s", run.Key)
	status := *pod.Status.DeepCopy()
	if pods.SetCondition(run.T, pod, &status, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		Message: "Taint manager: deleting due to NoExecute taint",
	}) {
		if err := pods.PatchStatus(run.T, c.Client, pod, status); err != nil {
			return err
		}
	}
	err = c.Client.Delete(run.T, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(c.planned, run.Key)
	return nil
}
