package persistentvolume

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// bind has a claim and a volume belong together: the four writes, less those that have been done
// before. why is how they came together; the last write to each of the two tells it as well, since
// that is the one whose cause people ask for.
func (c *Controller) bind(run *reconcile.Run, v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, why string) error {
	v, err := c.bindVolume(run, v, claim, why)
	if err != nil {
		return err
	}
	if v.Status.Phase != corev1.VolumeBound {
		run.Act("update", client.RefOf(v), corev1.VolumeBound, v.Status.Phase, "%s: write the volume's phase Bound (write 2 of 4)", why)
	}
	if v, err = c.setVolumePhase(run, v, corev1.VolumeBound, ""); err != nil {
		return err
	}
	if claim, err = c.bindClaim(run, claim, v); err != nil {
		return err
	}
	_, err = c.setClaimBound(run, claim, v, why)
	return err
}

// bindVolume writes the claim into the volume (bindVolumeToClaim).
func (c *Controller) bindVolume(run *reconcile.Run, v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, why string) (*corev1.PersistentVolume, error) {
	bound, dirty, err := volume.GetBindVolumeToClaim(v, claim)
	if err != nil || !dirty {
		return v, err
	}
	run.Act("update", client.RefOf(v), keyOf(claim), claimOf(v), "%s: write the claim into the volume's spec.claimRef (write 1 of 4)", why)
	return c.writeVolume(run, bound, "")
}

// claimOf is which claim a volume has, for a sentence.
func claimOf(v *corev1.PersistentVolume) any {
	if v.Spec.ClaimRef == nil {
		return nil
	}
	return claimKey(v)
}

// bindClaim writes the volume into the claim, and that the binding is complete
// (bindClaimToVolume).
func (c *Controller) bindClaim(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	bound, dirty := claim.DeepCopy(), false
	if claim.Spec.VolumeName != v.Name {
		bound.Spec.VolumeName, dirty = v.Name, true
		if !metav1.HasAnnotation(bound.ObjectMeta, volume.AnnBoundByController) {
			metav1.SetMetaDataAnnotation(&bound.ObjectMeta, volume.AnnBoundByController, "yes")
		}
	}
	if !metav1.HasAnnotation(bound.ObjectMeta, volume.AnnBindCompleted) {
		metav1.SetMetaDataAnnotation(&bound.ObjectMeta, volume.AnnBindCompleted, "yes")
		dirty = true
	}
	if !dirty {
		return claim, nil
	}
	run.Act("update", client.RefOf(claim), v.Name, nilIfEmpty(claim.Spec.VolumeName), "volume %s is the claim's: write it into the claim's spec.volumeName, with the annotation that the binding is complete (write 3 of 4)", v.Name)
	return c.writeClaim(run, bound, "")
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// unbind takes a volume back from its claim, which has another (unbindVolume).
func (c *Controller) unbind(run *reconcile.Run, v *corev1.PersistentVolume, why string) error {
	free := v.DeepCopy()
	if metav1.HasAnnotation(v.ObjectMeta, volume.AnnBoundByController) {
		free.Spec.ClaimRef = nil
		if delete(free.Annotations, volume.AnnBoundByController); len(free.Annotations) == 0 {
			free.Annotations = nil
		}
	} else {
		free.Spec.ClaimRef.UID = "" // a person has reserved it for the claim, and so it stays
	}
	run.Act("update", client.RefOf(v), nil, claimOf(v), "%s: take the volume back", why)
	free, err := c.writeVolume(run, free, "")
	if err != nil {
		return err
	}
	_, err = c.setVolumePhase(run, free, corev1.VolumeAvailable, "")
	return err
}

func (c *Controller) writeVolume(run *reconcile.Run, v *corev1.PersistentVolume, subresource string) (*corev1.PersistentVolume, error) {
	obj, err := c.Client.Update(run.T, client.PersistentVolumes, "", v, subresource)
	if err != nil {
		return nil, err
	}
	now := obj.(*corev1.PersistentVolume)
	c.cache.storeVolume(now)
	c.noteVolume(now.Name)
	return now, nil
}

func (c *Controller) writeClaim(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, subresource string) (*corev1.PersistentVolumeClaim, error) {
	obj, err := c.Client.Update(run.T, client.PersistentVolumeClaims, claim.Namespace, claim, subresource)
	if err != nil {
		return nil, err
	}
	now := obj.(*corev1.PersistentVolumeClaim)
	c.cache.storeClaim(now)
	c.noteClaim(keyOf(now))
	return now, nil
}
