package nodelifecycle

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// markPods sets Ready of all pods on a node to False: whoever does not answer
// should get no traffic (MarkPodsNotReady). The pods themselves are not touched;
// they may run on.
func (c *Controller) markPods(t *sim.Task, node string) error {
	var errs []error
	for _, obj := range c.pods.ByIndex(byNode, node) {
		if err := c.markPod(t, obj.(*corev1.Pod), node); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) markPod(t *sim.Task, pod *corev1.Pod, node string) error {
	if !pods.Ready(pod) {
		return nil
	}
	pod = pod.DeepCopy()
	ready := pods.Condition(pod, corev1.PodReady)
	ready.Status, ready.LastTransitionTime = corev1.ConditionFalse, client.Now(t)
	causes := t.Causes()
	c.Act(t, informer.KeyOf(pod), client.RefOf(pod), "update", client.RefOf(pod), corev1.ConditionFalse, corev1.ConditionTrue,
		fmt.Sprintf("node %s is not ready: mark its pod %s not ready, so that it gets no traffic", node, pod.Name))
	defer t.SetCauses(causes...)
	_, err := c.Client.Update(t, client.Pods, pod.Namespace, pod, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.Events.Event(t, pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	return err
}

// syncPod marks a pod that came to a node when that was not ready (processPod).
func (c *Controller) syncPod(run *reconcile.Run) error {
	obj, ok := c.pods.Get(run.Key)
	if !ok {
		return nil
	}
	pod := obj.(*corev1.Pod)
	h := c.health[pod.Spec.NodeName]
	if h == nil || h.ready == nil || h.ready.Status == corev1.ConditionTrue {
		return nil
	}
	return c.markPod(run.T, pod, pod.Spec.NodeName)
}
