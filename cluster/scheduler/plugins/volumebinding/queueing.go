package volumebinding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

// EventsToRegister: classes, claims, volumes, nodes' labels, and what drivers say.
func (*VolumeBinding) EventsToRegister() []framework.ClusterEventWithHint {
	of := func(r framework.EventResource, a framework.ActionType) framework.ClusterEvent {
		return framework.ClusterEvent{Resource: r, Action: a}
	}
	return []framework.ClusterEventWithHint{
		{Event: of(framework.StorageClass, framework.Add|framework.Update), Hint: afterClass},
		{Event: of(framework.PersistentVolumeClaim, framework.Add|framework.Update), Hint: afterClaim},
		{Event: of(framework.PersistentVolume, framework.Add|framework.Update)},
		{Event: of(framework.Node, framework.Add|framework.UpdateNodeLabel)},
		{Event: of(framework.CSINode, framework.Add|framework.Update), Hint: afterCSINode},
		{Event: of(framework.CSIDriver, framework.Update), Hint: afterCSIDriver},
		{Event: of(framework.CSIStorageCapacity, framework.Add|framework.Update), Hint: afterCapacity},
	}
}

func afterClass(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*storagev1.StorageClass)
	is, ok := new.(*storagev1.StorageClass)
	return !ok || !before || !equality.Semantic.DeepEqual(was.AllowedTopologies, is.AllowedTopologies)
}

func afterClaim(pod *corev1.Pod, _, new runtime.Object) bool {
	claim, ok := new.(*corev1.PersistentVolumeClaim)
	if !ok {
		return true
	}
	return claim.Namespace == pod.Namespace && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return claimOf(pod, &v) == claim.Name })
}

func afterCSINode(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*storagev1.CSINode)
	is, ok := new.(*storagev1.CSINode)
	return !ok || !before || was.Annotations[corev1.MigratedPluginsAnnotationKey] != is.Annotations[corev1.MigratedPluginsAnnotationKey]
}

// afterCSIDriver looks at the drivers that the pod names itself only, as upstream does.
func afterCSIDriver(pod *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*storagev1.CSIDriver)
	is, ok := new.(*storagev1.CSIDriver)
	if !ok || !before {
		return true
	}
	tells := func(d *storagev1.CSIDriver) bool { return d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity }
	return tells(was) && !tells(is) && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.CSI != nil && v.CSI.Driver == is.Name })
}

func afterCapacity(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*storagev1.CSIStorageCapacity)
	is, ok := new.(*storagev1.CSIStorageCapacity)
	if !ok || !before {
		return true
	}
	less, more := limitOf(was), limitOf(is)
	return more != nil && (less == nil || more.Value() > less.Value())
}

// limitOf is the biggest volume that there is room for.
func limitOf(c *storagev1.CSIStorageCapacity) *resource.Quantity {
	if c.MaximumVolumeSize != nil {
		return c.MaximumVolumeSize
	}
	return c.Capacity
}
