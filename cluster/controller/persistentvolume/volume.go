package persistentvolume

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// syncVolume decides what to do with a volume.
func (c *Controller) syncVolume(run *reconcile.Run, v *corev1.PersistentVolume) error {
	v, err := c.migrateVolume(run, v)
	if err != nil {
		return err
	}
	if v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID == "" {
		if v.Status.Phase != corev1.VolumeAvailable {
			why := "no claim has it"
			if v.Spec.ClaimRef != nil {
				why = "it is reserved for claim " + claimKey(v)
			}
			run.Act("update", client.RefOf(v), corev1.VolumeAvailable, v.Status.Phase, "volume %s can be bound, %s: write its phase Available", v.Name, why)
		}
		_, err := c.setVolumePhase(run, v, corev1.VolumeAvailable, "")
		return err
	}
	claim, err := c.claimFor(run, v)
	switch {
	case err != nil:
		return err
	case claim == nil:
		return c.release(run, v, fmt.Sprintf("claim %s of volume %s is gone", claimKey(v), v.Name))
	case claim.Spec.VolumeName == "":
		if volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec) {
			c.Events.Event(run.T, v, corev1.EventTypeWarning, volumeMismatch, "Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)
			c.Events.Event(run.T, claim, corev1.EventTypeWarning, volumeMismatch, "Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", v.Name)
			run.Waits("the volume is for claim %s, whose volume mode is another", claimKey(v))
			return nil
		}
		c.claimLoop.Add(run.T, keyOf(claim)) // its own worker completes the binding
		return nil
	case claim.Spec.VolumeName == v.Name:
		if v.Status.Phase != corev1.VolumeBound {
			run.Act("update", client.RefOf(v), corev1.VolumeBound, v.Status.Phase, "volume %s and claim %s belong together: write the volume's phase Bound", v.Name, claimKey(v))
		}
		_, err := c.setVolumePhase(run, v, corev1.VolumeBound, "")
		return err
	case metav1.HasAnnotation(v.ObjectMeta, volume.AnnDynamicallyProvisioned) && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		return c.release(run, v, fmt.Sprintf("volume %s was made for claim %s, which has volume %s", v.Name, claimKey(v), claim.Spec.VolumeName))
	}
	return c.unbind(run, v, fmt.Sprintf("volume %s is for claim %s, which has volume %s", v.Name, claimKey(v), claim.Spec.VolumeName))
}

// claimFor is the claim that a volume is bound to, nil if that one is gone. A claim that is not
// in the cache may be newer than the cache: a volume is not released by mistake.
func (c *Controller) claimFor(run *reconcile.Run, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	claim := c.cache.claims[claimKey(v)]
	if claim == nil && v.Status.Phase != corev1.VolumeReleased && v.Status.Phase != corev1.VolumeFailed {
		if obj, there := c.claims.Get(claimKey(v)); there {
			claim = obj.(*corev1.PersistentVolumeClaim)
		} else {
			var err error
			if claim, err = c.live(run, v); err != nil {
				return nil, err
			}
		}
	}
	if claim != nil && claim.UID != v.Spec.ClaimRef.UID {
		var err error
		if claim, err = c.live(run, v); err != nil {
			return nil, err
		}
		if claim != nil && claim.UID != v.Spec.ClaimRef.UID {
			claim = nil // another of the same name
		}
	}
	return claim, nil
}

// live is the volume's claim as the API server has it, nil if it has none.
func (c *Controller) live(run *reconcile.Run, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	claim, err := client.Get[*corev1.PersistentVolumeClaim](run.T, c.Client, client.PersistentVolumeClaims, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return claim, err
}

// release has a volume be Released that no claim has any more, and then does as its reclaim
// policy says. A volume that is Failed stays so while it is tried again.
func (c *Controller) release(run *reconcile.Run, v *corev1.PersistentVolume, why string) error {
	if v.Status.Phase != corev1.VolumeReleased && v.Status.Phase != corev1.VolumeFailed {
		run.Act("update", client.RefOf(v), corev1.VolumeReleased, v.Status.Phase, "%s: write its phase Released; its reclaim policy is %s", why, v.Spec.PersistentVolumeReclaimPolicy)
		var err error
		if v, err = c.setVolumePhase(run, v, corev1.VolumeReleased, ""); err != nil {
			return err
		}
	}
	return c.reclaim(run, v)
}
