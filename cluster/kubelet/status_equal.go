package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Statuses are compared at every sync of every pod. What follows is
// equality.Semantic.DeepEqual for what a kubelet writes into them, which looks
// at types again and again; what it rarely writes still goes that way.

func sameStatus(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message &&
		a.HostIP == b.HostIP && a.PodIP == b.PodIP && a.QOSClass == b.QOSClass && a.ObservedGeneration == b.ObservedGeneration &&
		a.NominatedNodeName == b.NominatedNodeName && a.StartTime.Equal(b.StartTime) &&
		sameList(a.HostIPs, b.HostIPs) && sameList(a.PodIPs, b.PodIPs) && samePodConditions(a.Conditions, b.Conditions) &&
		sameContainers(a.ContainerStatuses, b.ContainerStatuses) && sameContainers(a.InitContainerStatuses, b.InitContainerStatuses) &&
		sameRest(a, b)
}

// sameRest compares what this kubelet passes on at most.
func sameRest(a, b *corev1.PodStatus) bool {
	if len(a.EphemeralContainerStatuses)+len(b.EphemeralContainerStatuses)+len(a.ResourceClaimStatuses)+len(b.ResourceClaimStatuses) == 0 &&
		a.Resize == b.Resize && a.ExtendedResourceClaimStatus == nil && b.ExtendedResourceClaimStatus == nil &&
		len(a.AllocatedResources)+len(b.AllocatedResources) == 0 && a.Resources == nil && b.Resources == nil {
		return true
	}
	return equality.Semantic.DeepEqual(a, b)
}

// sameList is slices.Equal; nil and empty are the same.
func sameList[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func samePodConditions(a, b []corev1.PodCondition) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Type != y.Type || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message || x.ObservedGeneration != y.ObservedGeneration ||
			!x.LastProbeTime.Equal(&y.LastProbeTime) || !x.LastTransitionTime.Equal(&y.LastTransitionTime) {
			return false
		}
	}
	return true
}

func sameContainers(a, b []corev1.ContainerStatus) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameContainer(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameContainer(a, b *corev1.ContainerStatus) bool {
	if a.Name != b.Name || a.Ready != b.Ready || a.RestartCount != b.RestartCount || a.Image != b.Image || a.ImageID != b.ImageID ||
		a.ContainerID != b.ContainerID || !samePointer(a.Started, b.Started) ||
		!sameState(&a.State, &b.State) || !sameState(&a.LastTerminationState, &b.LastTerminationState) {
		return false
	}
	if len(a.AllocatedResources)+len(b.AllocatedResources)+len(a.VolumeMounts)+len(b.VolumeMounts)+len(a.AllocatedResourcesStatus)+len(b.AllocatedResourcesStatus) == 0 &&
		a.Resources == nil && b.Resources == nil && a.User == nil && b.User == nil && a.StopSignal == nil && b.StopSignal == nil {
		return true
	}
	return equality.Semantic.DeepEqual(a, b)
}

func sameState(a, b *corev1.ContainerState) bool {
	if !samePointer(a.Waiting, b.Waiting) {
		return false
	}
	if x, y := a.Running, b.Running; (x == nil) != (y == nil) || x != nil && !x.StartedAt.Equal(&y.StartedAt) {
		return false
	}
	x, y := a.Terminated, b.Terminated
	if x == nil || y == nil {
		return x == y
	}
	return x.ExitCode == y.ExitCode && x.Signal == y.Signal && x.Reason == y.Reason && x.Message == y.Message &&
		x.StartedAt.Equal(&y.StartedAt) && x.FinishedAt.Equal(&y.FinishedAt) && x.ContainerID == y.ContainerID
}

func samePointer[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
