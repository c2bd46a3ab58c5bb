package persistentvolume

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// preResize is the annotation of a volume that is larger than the file system on it.
const preResize = "volume.alpha.kubernetes.io/pre-resize-capacity"

// setClaimBound writes a claim's status, with the capacity and the modes of its volume
// (updateClaimStatus).
func (c *Controller) setClaimBound(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, why string) (*corev1.PersistentVolumeClaim, error) {
	now := claim.DeepCopy()
	now.Status.Phase = corev1.ClaimBound
	if err := takeFrom(v, claim, now); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(now.Status, claim.Status) {
		return claim, nil
	}
	size := now.Status.Capacity[corev1.ResourceStorage]
	run.Act("update", client.RefOf(claim), corev1.ClaimBound, claim.Status.Phase, "%s: write the claim's phase Bound and its capacity %s (write 4 of 4)", why, size.String())
	return c.writeClaim(run, now, "status")
}

// setClaimPhase writes the status of a claim that has no volume (updateClaimStatus).
func (c *Controller) setClaimPhase(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase) (*corev1.PersistentVolumeClaim, error) {
	now := claim.DeepCopy()
	now.Status.Phase = phase
	now.Status.AccessModes, now.Status.Capacity, now.Status.CurrentVolumeAttributesClassName = nil, nil, nil
	if reflect.DeepEqual(now.Status, claim.Status) {
		return claim, nil
	}
	if phase == corev1.ClaimPending {
		run.Act("update", client.RefOf(claim), phase, claim.Status.Phase, "the claim has no volume: write its phase Pending")
	}
	return c.writeClaim(run, now, "status")
}

// takeFrom has the status tell of the volume. The capacity is taken when the claim becomes Bound,
// and not later: then the file system may be smaller than the volume, and that is meant so.
func takeFrom(v *corev1.PersistentVolume, claim, now *corev1.PersistentVolumeClaim) error {
	now.Status.AccessModes = v.Spec.AccessModes
	if claim.Status.Phase != now.Status.Phase {
		size, sized := v.Spec.Capacity[corev1.ResourceStorage]
		if !sized {
			return fmt.Errorf("PersistentVolume %q is without a storage capacity", v.Name)
		}
		was, had := claim.Status.Capacity[corev1.ResourceStorage]
		if before, resized := v.Annotations[preResize]; resized {
			if q, err := resource.ParseQuantity(before); err == nil {
				size = q
			}
			if now.Status.Capacity == nil {
				now.Status.Capacity = corev1.ResourceList{}
			}
			now.Status.Capacity[corev1.ResourceStorage] = size
		} else if !had || size.Cmp(was) != 0 {
			now.Status.Capacity = v.Spec.Capacity
		}
	}
	if claim.Status.Phase == corev1.ClaimPending && now.Status.Phase == corev1.ClaimBound {
		now.Status.CurrentVolumeAttributesClassName = v.Spec.VolumeAttributesClassName
	}
	return nil
}

// setVolumePhase writes a volume's phase if it is another (updateVolumePhase).
func (c *Controller) setVolumePhase(run *reconcile.Run, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == phase {
		return v, nil
	}
	now := v.DeepCopy()
	now.Status.Phase, now.Status.Message = phase, message
	return c.writeVolume(run, now, "status")
}

// fail has a volume be Failed, and tells of it once (updateVolumePhaseWithEvent).
func (c *Controller) fail(run *reconcile.Run, v *corev1.PersistentVolume, reason, message string) error {
	if v.Status.Phase == corev1.VolumeFailed {
		return nil
	}
	run.Act("update", client.RefOf(v), corev1.VolumeFailed, v.Status.Phase, "%s: write the volume's phase Failed", message)
	now, err := c.setVolumePhase(run, v, corev1.VolumeFailed, message)
	if err == nil {
		c.Events.Event(run.T, now, corev1.EventTypeWarning, reason, "%s", message)
	}
	return err
}
