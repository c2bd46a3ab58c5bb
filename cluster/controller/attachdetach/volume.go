package attachdetach

import (
	"crypto/sha256"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/ephemeral"

	"kviz/cluster/informer"
)

// plugin is the name of the CSI plugin, with which the names of its volumes begin.
const plugin = "kubernetes.io/csi"

// name is a volume as nodes call it in their status, "kubernetes.io/csi/DRIVER^HANDLE"
// (volumeutil.GetUniqueVolumeNameFromSpec).
type name corev1.UniqueVolumeName

func nameOf(csi *corev1.CSIPersistentVolumeSource) name {
	return name(plugin + "/" + csi.Driver + "^" + csi.VolumeHandle)
}

// split gives the driver and its handle of a volume (volumeutil.SplitUniqueName and
// csiAttacher.Detach); ok is false where it is no CSI driver's.
func (n name) split() (driver, handle string, ok bool) {
	rest, ours := strings.CutPrefix(string(n), plugin+"/")
	driver, handle, ok = strings.Cut(rest, "^")
	return driver, handle, ours && ok && !strings.Contains(handle, "^")
}

// AttachmentName is the name of the VolumeAttachment of a volume to a node
// (csi_attacher.go getAttachmentName).
func AttachmentName(driver, handle, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}

// attachmentName is [AttachmentName], and remembers whose it is.
func (c *Controller) attachmentName(volume name, node string) string {
	driver, handle, _ := volume.split()
	va := AttachmentName(driver, handle, node)
	c.known[va] = volume
	return va
}

// exclusive reports whether a volume can be attached to one node at a time only. Of one without
// access modes nothing is known, and its driver has to refuse (!volumeutil.IsMultiAttachAllowed).
func exclusive(pv *corev1.PersistentVolume) bool {
	if pv == nil || len(pv.Spec.AccessModes) == 0 {
		return false
	}
	for _, mode := range pv.Spec.AccessModes {
		if mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany {
			return false
		}
	}
	return true
}

// byClaim is the index of pods by the claims that they refer to (common.PodPVCIndex). The binder
// keeps the same under this name, and the pods' informer keeps it once.
const byClaim = "claim"

func claimsOf(obj runtime.Object) (keys []string) {
	pod := obj.(*corev1.Pod)
	for i := range pod.Spec.Volumes {
		if claim := claimOf(pod, &pod.Spec.Volumes[i]); claim != "" {
			keys = append(keys, informer.Key(pod.Namespace, claim))
		}
	}
	return keys
}

// claimOf is the claim that a volume of a pod refers to, or that is made for it; "" for none.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, v)
	}
	return ""
}

// attachable gives the PersistentVolume behind a volume of a pod, if it is bound and one that
// is attached (CreateVolumeSpec and FindAttachablePluginBySpec); else nil.
func (c *Controller) attachable(pod *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolume {
	claim := claimOf(pod, v)
	if claim == "" {
		return nil
	}
	obj, ok := c.claims.Get(informer.Key(pod.Namespace, claim))
	if !ok {
		return nil
	}
	pvc := obj.(*corev1.PersistentVolumeClaim)
	if pvc.Status.Phase != corev1.ClaimBound || pvc.Spec.VolumeName == "" {
		return nil
	}
	if v.Ephemeral != nil && ephemeral.VolumeIsForPod(pod, pvc) != nil {
		return nil
	}
	obj, ok = c.volumes.Get(pvc.Spec.VolumeName)
	if !ok {
		return nil
	}
	pv := obj.(*corev1.PersistentVolume)
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != pvc.UID || !c.attaches(pv) {
		return nil
	}
	return pv
}

// attaches reports whether a volume has to be attached before it can be mounted
// (csiPlugin.CanAttach).
func (c *Controller) attaches(pv *corev1.PersistentVolume) bool {
	if pv.Spec.CSI == nil {
		return false
	}
	obj, ok := c.drivers.Get(pv.Spec.CSI.Driver)
	return !ok || !skips(obj.(*storagev1.CSIDriver))
}

// skips reports whether a driver says that its volumes need no attaching (csiPlugin.skipAttach).
func skips(driver *storagev1.CSIDriver) bool {
	return driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired
}
