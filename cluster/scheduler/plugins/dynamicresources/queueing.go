package dynamicresources

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

// SignPod refuses a pod with claims: what is allocated to them is its alone.
func (*DynamicResources) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	if len(pod.Spec.ResourceClaims) > 0 {
		return nil, framework.NewStatus(Name, framework.Unschedulable, "pods with dra resource claims are not signable")
	}
	return nil, nil
}

// EventsToRegister: nodes, claims, the names of claims that were made for the pod, classes, and what drivers publish.
//
// Upstream first finds the pods that name a claim by an index (PreQueueingHintFn); here every waiting pod is
// asked, with the same answer.
func (pl *DynamicResources) EventsToRegister() []framework.ClusterEventWithHint {
	of := func(r framework.EventResource, a framework.ActionType) framework.ClusterEvent {
		return framework.ClusterEvent{Resource: r, Action: a}
	}
	return []framework.ClusterEventWithHint{
		{Event: of(framework.Node, framework.Add|framework.UpdateNodeLabel|framework.UpdateNodeAllocatable)},
		{Event: of(framework.ResourceClaim, framework.Add|framework.Update|framework.Delete), Hint: pl.afterClaim},
		{Event: of(framework.TargetPod, framework.UpdatePodGeneratedResourceClaim), Hint: pl.afterPod},
		{Event: of(framework.DeviceClass, framework.Add|framework.Update)},
		{Event: of(framework.ResourceSlice, framework.Add|framework.Update)},
	}
}

// afterClaim: did the claim give devices back, or is it one of the pod's that came or has another status?
//
// Mirrors isSchedulableAfterClaimChange.
func (pl *DynamicResources) afterClaim(pod *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*resourcev1.ResourceClaim)
	is, _ := new.(*resourcev1.ResourceClaim)
	if is == nil {
		return was == nil || was.Status.Allocation != nil
	}
	claims, err := pl.claimsOf(pod)
	if err != nil {
		return false // another claim is still missing
	}
	if was != nil && was.Status.Allocation != nil && is.Status.Allocation == nil {
		return true
	}
	for _, c := range claims {
		if c.UID == is.UID {
			return was == nil || !equality.Semantic.DeepEqual(&was.Status, &is.Status)
		}
	}
	return false
}

// afterPod: do all of the pod's claims exist now?
//
// Mirrors isSchedulableAfterTargetPodUpdate.
func (pl *DynamicResources) afterPod(_ *corev1.Pod, _, new runtime.Object) bool {
	is, ok := new.(*corev1.Pod)
	if !ok {
		return true
	}
	_, err := pl.claimsOf(is)
	return err == nil
}
