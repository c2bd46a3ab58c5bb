package persistentvolume

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// reclaim does as the reclaim policy of a released volume says (reclaimVolume).
func (c *Controller) reclaim(run *reconcile.Run, v *corev1.PersistentVolume) error {
	if v.Annotations[volume.AnnMigratedTo] != "" {
		return nil // the external provisioner's
	}
	switch v.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimRetain:
		run.Waits("volume %s keeps its data for a person to see to (reclaim policy Retain): no claim gets it while its spec.claimRef names one that is gone", v.Name)
	case corev1.PersistentVolumeReclaimRecycle:
		c.operations.try(run, fmt.Sprintf("recycle-%s[%s]", v.Name, v.UID), func() error { return c.recycle(run, v) })
	case corev1.PersistentVolumeReclaimDelete:
		c.operations.try(run, fmt.Sprintf("delete-%s[%s]", v.Name, v.UID), func() error { return c.delete(run, v) })
	default:
		return c.fail(run, v, "VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy")
	}
	return nil
}

// recycle has a volume be Available again (recycleVolumeOperation). What goes wrong is tried again
// at the next look, without a back-off.
func (c *Controller) recycle(run *reconcile.Run, v *corev1.PersistentVolume) error {
	now, err := client.Get[*corev1.PersistentVolume](run.T, c.Client, client.PersistentVolumes, "", v.Name)
	if err != nil || !c.released(now) {
		return nil
	}
	used := c.podsOf(claimKey(now), func(*corev1.Pod) bool { return true }, func(p *corev1.Pod) string { return p.Namespace + "/" + p.Name })
	if _, again := c.cache.claims[claimKey(v)]; len(used) > 0 && !again {
		slices.Sort(used)
		c.Events.Event(run.T, v, corev1.EventTypeNormal, volumeFailedRecycle, "Volume is used by pods: %s", strings.Join(used, ","))
		run.Waits("volume %s is emptied when no pod uses it any more: %s", v.Name, strings.Join(used, ", "))
		return nil
	}
	if now.Spec.HostPath == nil && now.Spec.NFS == nil {
		_ = c.fail(run, now, volumeFailedRecycle, "No recycler plugin found for the volume!")
		return nil
	}
	c.Events.Event(run.T, now, corev1.EventTypeNormal, volumeRecycled, "Volume recycled")
	_ = c.unbind(run, now, fmt.Sprintf("volume %s is empty (reclaim policy Recycle)", v.Name))
	return nil
}

var below = regexp.MustCompile("/tmp/.+")

// delete deletes a released volume of a kind that the controller itself knows how to delete, and
// its object; others are their provisioner's (deleteVolumeOperation).
func (c *Controller) delete(run *reconcile.Run, v *corev1.PersistentVolume) error {
	own, err := deletes(v)
	if err != nil {
		return c.fail(run, v, volumeFailedDelete, err.Error())
	}
	if !own {
		run.Waits("volume %s is for its provisioner to delete, and then its object (reclaim policy Delete)", v.Name)
		return nil
	}
	now, err := client.Get[*corev1.PersistentVolume](run.T, c.Client, client.PersistentVolumes, "", v.Name)
	if err != nil || !c.released(now) {
		return nil
	}
	switch {
	case v.Spec.HostPath == nil:
		err = fmt.Errorf("failed to create deleter for volume %q: spec.PersistentVolumeSource.HostPath is nil", v.Name)
	case !below.MatchString(v.Spec.HostPath.Path):
		err = fmt.Errorf("host_path deleter only supports /tmp/.+ but received provided %s", v.Spec.HostPath.Path)
	default:
		err = c.dropFinalizer(run, v)
	}
	if err != nil {
		if failed := c.fail(run, v, volumeFailedDelete, err.Error()); failed != nil {
			return failed
		}
		return err
	}
	run.Act("delete", client.RefOf(v), nil, nil, "volume %s is deleted (reclaim policy Delete): delete its object", v.Name)
	_ = c.Client.Delete(run.T, client.PersistentVolumes, "", v.Name, metav1.DeleteOptions{})
	return nil
}

// deletes reports whether the controller deletes such a volume itself (findDeletablePlugin). Of
// the volume plugins that kube-controller-manager has, hostPath alone can.
func deletes(v *corev1.PersistentVolume) (bool, error) {
	if by := v.Annotations[volume.AnnDynamicallyProvisioned]; by != "" {
		switch {
		case by == hostPathPlugin:
			return true, nil
		case !strings.HasPrefix(by, inTree):
			return false, nil
		case by == nfsPlugin:
			return false, fmt.Errorf("no deletable volume plugin matched")
		}
		return false, fmt.Errorf("no volume plugin matched name: %s", by)
	}
	switch {
	case metav1.HasAnnotation(v.ObjectMeta, volume.AnnMigratedTo) || v.Spec.CSI != nil:
		return false, nil
	case v.Spec.HostPath != nil:
		return true, nil
	case v.Spec.NFS != nil:
		return false, fmt.Errorf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", v.Name)
	}
	return false, fmt.Errorf("error getting deleter volume plugin for volume %q: no volume plugin matched", v.Name)
}

// released reports whether a volume's claim is gone or has another (isVolumeReleased).
func (c *Controller) released(v *corev1.PersistentVolume) bool {
	if v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID == "" {
		return false
	}
	claim := c.cache.claims[claimKey(v)]
	if claim != nil && claim.UID == v.Spec.ClaimRef.UID {
		return claim.Spec.VolumeName != "" && claim.Spec.VolumeName != v.Name
	}
	return true
}

// dropFinalizer lets the object of a volume go (removeDeletionProtectionFinalizer).
func (c *Controller) dropFinalizer(run *reconcile.Run, v *corev1.PersistentVolume) error {
	now, err := client.Get[*corev1.PersistentVolume](run.T, c.Client, client.PersistentVolumes, "", v.Name)
	if err != nil || !slices.Contains(now.Finalizers, volume.PVDeletionInTreeProtectionFinalizer) {
		return err
	}
	now.Finalizers = without(now.Finalizers, volume.PVDeletionInTreeProtectionFinalizer)
	run.Act("update", client.RefOf(now), nil, nil, "volume %s is deleted: take the finalizer %s away", v.Name, volume.PVDeletionInTreeProtectionFinalizer)
	if _, err := c.writeVolume(run, now, ""); err != nil {
		return fmt.Errorf("persistent volume controller can't update finalizer: %w", err)
	}
	return nil
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == s })
}
