package csi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// resizeConditions are the conditions of a claim that tell of its expansion
// (pkg/volume/util resize_util.go knownResizeConditions).
var resizeConditions = []corev1.PersistentVolumeClaimConditionType{
	corev1.PersistentVolumeClaimFileSystemResizePending, corev1.PersistentVolumeClaimResizing,
	corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
}

// MergeResizeConditions gives a claim these conditions of its expansion, in the place of those
// that it has, or beside them (pkg/volume/util MergeResizeConditionOnPVC). Others stay.
func MergeResizeConditions(pvc *corev1.PersistentVolumeClaim, keep bool, is ...corev1.PersistentVolumeClaimCondition) {
	var merged []corev1.PersistentVolumeClaimCondition
	for _, c := range pvc.Status.Conditions {
		if !slices.Contains(resizeConditions, c.Type) {
			merged = append(merged, c)
			continue
		}
		i := slices.IndexFunc(is, func(n corev1.PersistentVolumeClaimCondition) bool { return n.Type == c.Type })
		switch {
		case i >= 0 && is[i].Status == c.Status:
			merged = append(merged, c)
			is = slices.Delete(slices.Clone(is), i, i+1)
		case i >= 0:
			merged = append(merged, is[i])
			is = slices.Delete(slices.Clone(is), i, i+1)
		case keep:
			merged = append(merged, c)
		}
	}
	pvc.Status.Conditions = append(merged, is...)
}
