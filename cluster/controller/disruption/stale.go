package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// staleIn reports whether a pod that is not being deleted says that it is to be
// disrupted, and how long it may go on saying so. What the kubelet says of a pod may take
// any time (nonTerminatingPodHasStaleDisruptionCondition).
func staleIn(pod *corev1.Pod, now time.Time) (left time.Duration, has bool) {
	c := pods.Condition(pod, corev1.DisruptionTarget)
	if pod.DeletionTimestamp != nil || c == nil || c.Status != corev1.ConditionTrue || c.Reason == corev1.PodReasonTerminationByKubelet || pods.Terminal(pod) {
		return 0, false
	}
	return max(StaleTimeout-now.Sub(c.LastTransitionTime.Time), 0), true
}

func (c *Controller) seeStale(t *sim.Task, pod *corev1.Pod) {
	if left, has := staleIn(pod, t.Now()); has {
		c.stale.AddAfter(t, informer.KeyOf(pod), left)
	}
}

// syncStale takes the condition DisruptionTarget back from a pod that is not being
// deleted in spite of it (syncStalePodDisruption).
func (c *Controller) syncStale(run *reconcile.Run) error {
	obj, ok := c.pods.Get(run.Key)
	if !ok {
		return nil
	}
	pod := obj.(*corev1.Pod)
	left, has := staleIn(pod, run.T.Now())
	if !has {
		return nil
	}
	if left > 0 {
		run.Again(left)
		return nil
	}
	since := pods.Condition(pod, corev1.DisruptionTarget).LastTransitionTime
	pod = pod.DeepCopy()
	*pods.Condition(pod, corev1.DisruptionTarget) = corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, ObservedGeneration: pod.Generation, LastTransitionTime: client.Now(run.T),
	}
	run.Act("update", client.RefOf(pod), corev1.ConditionFalse, corev1.ConditionTrue,
		"the eviction of pod %s was allowed %s ago and the pod is not being deleted: take the condition DisruptionTarget back", pod.Name, run.T.Now().Sub(since.Time).Truncate(time.Second))
	_, err := client.UpdateStatus(run.T, c.Client, client.Pods, pod.Namespace, pod)
	return err
}
