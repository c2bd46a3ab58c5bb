package devicetainteviction

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The Event's reason.
const eventReason = "DeviceTaintManagerEviction"

// pod plans, keeps or cancels the deletion of a pod (handlePod).
func (c *Controller) pod(t *sim.Task, pod *corev1.Pod) {
	key := podKey(pod)
	was, planned := c.planned[key]
	goes := c.judge.pod(pod)
	if goes == nil {
		if planned {
			delete(c.planned, key)
			c.decide(t, key, pod, nil, "no taint of the devices of pod "+pod.Name+" drives it away any more: do not delete it after all")
			c.Events.EventRef(t, refOf(key), corev1.EventTypeNormal, eventReason, "Cancelling deletion")
		}
		return
	}
	c.planned[key] = *goes
	after := goes.when.Sub(t.Now())
	if after > 0 && (!planned || was.says != goes.says || !was.when.Equal(&goes.when)) {
		c.decide(t, key, pod, after.Round(time.Millisecond), goes.says+": plan to delete pod "+pod.Name+" at "+clock(goes.when))
	}
	c.loop.AddAfter(t, key, after) // at once where that is not in the future
	for _, by := range goes.because {
		if by.rule != nil { // later, for more pods may change
			c.loop.AddAfter(t, ruleKey(by.rule), statusPeriod)
		}
	}
}

// decide tells what was decided about a pod, outside of a run. What the handler does next is not caused by it.
func (c *Controller) decide(t *sim.Task, key string, pod *corev1.Pod, desired any, why string) {
	was := t.Causes()
	c.Act(t, key, client.RefOf(pod), "update", client.RefOf(pod), desired, nil, why)
	t.SetCauses(was...)
}

// clock is a time as it is said to people.
func clock(at metav1.Time) string { return at.UTC().Format(time.TimeOnly) }

// syncPod deletes a pod if its time has come (maybeDeletePod).
func (c *Controller) syncPod(run *reconcile.Run, of trace.Ref) error {
	goes, ok := c.planned[run.Key]
	if !ok || slices.Contains(c.evicted, types.UID(of.UID)) {
		return nil
	}
	if wait := goes.when.Sub(run.T.Now()); wait > 0 {
		run.Waits("pod %s: %s: it is not deleted before %s, in %s", of.Name, goes.says, clock(goes.when), wait.Round(time.Millisecond))
		run.Again(wait)
		return nil
	}
	err := c.delete(run, of, goes)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(c.planned, run.Key)
	c.evicted = append(c.evicted, types.UID(of.UID))
	c.evicted = c.evicted[max(0, len(c.evicted)-mostEvicted):]
	if err != nil {
		return nil // somebody else has deleted it
	}
	for _, by := range goes.because {
		if by.rule != nil {
			c.count[by.rule.UID]++
			c.loop.AddAfter(run.T, ruleKey(by.rule), statusPeriod) // the cache knows nothing of it yet
		}
	}
	return nil
}

// delete gives a pod its condition and deletes it (addConditionAndDeletePod).
func (c *Controller) delete(run *reconcile.Run, of trace.Ref, goes eviction) error {
	pod, err := client.Get[*corev1.Pod](run.T, c.Client, client.Pods, of.Namespace, of.Name)
	if err != nil {
		return err
	}
	if string(pod.UID) != of.UID {
		return apierrors.NewNotFound(client.Pods.GroupResource(), pod.Name) // another has its name now
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	why := goes.says
	if goes.limited {
		why += ", and they are over"
	}
	if others := len(goes.because) - 1; others > 0 {
		why += " (and so would " + counted(others, "another taint", "%d other taints") + " drive it away)"
	}
	run.Act("delete", client.RefOf(pod), nil, pod.Status.Phase, "%s: delete pod %s", why, pod.Name)
	c.Events.EventRef(run.T, of, corev1.EventTypeNormal, eventReason, "Marking for deletion")
	status := *pod.Status.DeepCopy()
	as := *pod
	as.Generation = 0 // upstream's condition does not say of which generation of the pod it is
	if pods.SetCondition(run.T, &as, &status, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByDeviceTaintManager",
		Message: "Device Taint manager: deleting due to NoExecute taint",
	}) {
		if err := pods.PatchStatus(run.T, c.Client, pod, status); err != nil {
			return err
		}
	}
	uid := pod.UID
	return c.Client.Delete(run.T, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}
