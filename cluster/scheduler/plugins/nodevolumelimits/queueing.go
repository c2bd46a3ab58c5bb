package nodevolumelimits

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/ephemeral"

	"kviz/cluster/scheduler/framework"
)

// EventsToRegister: a driver can attach more, a pod with volumes goes, the claim comes, a
// volume is detached.
func (*CSILimits) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.CSINode, Action: framework.Add}},
		{Event: framework.ClusterEvent{Resource: framework.CSINode, Action: framework.Update}, Hint: afterCSINode},
		{Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete}, Hint: afterPod},
		{Event: framework.ClusterEvent{Resource: framework.PersistentVolumeClaim, Action: framework.Add}, Hint: afterClaim},
		{Event: framework.ClusterEvent{Resource: framework.VolumeAttachment, Action: framework.Delete}, Hint: afterDetaching},
	}
}

func afterCSINode(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*storagev1.CSINode)
	is, ok := new.(*storagev1.CSINode)
	if !ok || !before {
		return true
	}
	less := limits(was)
	for driver, n := range limits(is) {
		if n > less[driver] {
			return true
		}
	}
	return false
}

func afterPod(_ *corev1.Pod, old, _ runtime.Object) bool {
	gone, ok := old.(*corev1.Pod)
	if !ok {
		return true
	}
	if gone.Spec.NodeName == "" && gone.Status.NominatedNodeName == "" {
		return false
	}
	return slices.ContainsFunc(gone.Spec.Volumes, func(v corev1.Volume) bool { return attachable(&v) })
}

func afterClaim(pod *corev1.Pod, _, new runtime.Object) bool {
	claim, ok := new.(*corev1.PersistentVolumeClaim)
	if !ok {
		return true
	}
	return claim.Namespace == pod.Namespace && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		switch {
		case v.PersistentVolumeClaim != nil:
			return v.PersistentVolumeClaim.ClaimName == claim.Name
		case v.Ephemeral != nil:
			return ephemeral.VolumeClaimName(pod, &v) == claim.Name
		}
		return false
	})
}

func afterDetaching(pod *corev1.Pod, old, _ runtime.Object) bool {
	gone, ok := old.(*storagev1.VolumeAttachment)
	if !ok {
		return true
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			return true
		}
		if !translator.IsInlineMigratable(v) {
			continue
		}
		pv, err := translator.TranslateInTreeInlineVolumeToCSI(logr.Discard(), v, pod.Namespace)
		if err != nil || pv == nil || pv.Spec.CSI != nil && pv.Spec.CSI.Driver == gone.Spec.Attacher {
			return true
		}
	}
	return false
}
