package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/ephemeral"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/csi"
	"kviz/cluster/folder"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// claimed is a volume of a pod that is a claim, and what the claim is bound to.
type claimed struct {
	name     string // of the volume in the pod
	pvc      *corev1.PersistentVolumeClaim
	pv       *corev1.PersistentVolume
	readOnly bool

	files *folder.Folder // once it is mounted; nil where the volume is a folder of the node's
}

// Limits of the volume manager (pkg/kubelet/volumemanager volume_manager.go; pkg/volume/csi
// csi_plugin.go csiTimeout).
const (
	mountPatience = 2*time.Minute + 3*time.Second // podAttachAndMountTimeout
	csiTimeout    = 2 * time.Minute
)

// claimVolumes are the pod's volumes that are claims and that a container mounts, with the
// claims' names.
func claimVolumes(pod *corev1.Pod) (volumes []*corev1.Volume, claims []string) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		claim := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			claim = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			claim = ephemeral.VolumeClaimName(pod, v)
		}
		if claim != "" && isMounted(pod, v.Name) {
			volumes, claims = append(volumes, v), append(claims, claim)
		}
	}
	return volumes, claims
}

// isMounted reports whether a container uses a volume.
func isMounted(pod *corev1.Pod, volume string) bool {
	uses := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume })
	}
	return slices.ContainsFunc(pod.Spec.Containers, uses) || slices.ContainsFunc(pod.Spec.InitContainers, uses)
}

// wantClaims finds what the pod's claims are bound to, and wants these volumes on the node
// (desired_state_of_world_populator.go processPodVolumes). A claim that is not there or not
// bound keeps the pod waiting.
func (w *worker) wantClaims(t *sim.Task) error {
	if w.claims != nil {
		return nil
	}
	volumes, names := claimVolumes(w.pod)
	if len(volumes) == 0 {
		return nil
	}
	var all []*claimed
	var errs, unmounted, unknown []string
	for i, v := range volumes {
		unmounted = append(unmounted, v.Name)
		c, err := w.findClaim(t, v, names[i])
		if err != nil {
			errs, unknown = append(errs, err.Error()), append(unknown, v.Name)
			continue
		}
		all = append(all, c)
	}
	if len(errs) > 0 {
		return w.notMounted(t, unmounted, nil, unknown, errors.New(strings.Join(errs, "; ")))
	}
	w.claims = all
	for _, c := range all {
		if c.pv.Spec.CSI != nil {
			w.kl.volumes.want(w, c)
		}
	}
	return nil
}

// notMounted tells that the pod cannot start for its volumes (volume_manager.go
// WaitForAttachAndMount; kubelet.go SyncPod).
func (w *worker) notMounted(t *sim.Task, unmounted, unattached, unknown []string, err error) error {
	for _, names := range [][]string{unmounted, unattached, unknown} {
		slices.Sort(names)
	}
	err = fmt.Errorf("unmounted volumes=%v, unattached volumes=%v, failed to process volumes=%v: %w", unmounted, unattached, unknown, err)
	w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "Unable to attach or mount volumes: %v", err)
	return err
}

// findClaim gets a claim and its volume (createVolumeSpec, getPVCExtractPV, getPVSpec).
func (w *worker) findClaim(t *sim.Task, v *corev1.Volume, name string) (*claimed, error) {
	kl, ns := w.kl, w.pod.Namespace
	failed := func(err error) error { return fmt.Errorf("error processing PVC %s/%s: %w", ns, name, err) }
	pvc, err := client.Get[*corev1.PersistentVolumeClaim](t, kl.c, client.PersistentVolumeClaims, ns, name)
	switch {
	case err != nil:
		return nil, failed(fmt.Errorf("failed to fetch PVC from API server: %w", err))
	case pvc.DeletionTimestamp != nil && !slices.Contains(pvc.Finalizers, "kubernetes.io/pvc-protection"):
		return nil, failed(errors.New("PVC is being deleted")) //nolint:staticcheck // upstream's words
	case pvc.Status.Phase != corev1.ClaimBound:
		return nil, failed(errors.New("PVC is not bound")) //nolint:staticcheck // likewise
	case pvc.Spec.VolumeName == "":
		return nil, failed(errors.New("PVC has empty pvc.Spec.VolumeName")) //nolint:staticcheck // likewise
	}
	if v.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(w.pod, pvc); err != nil {
			return nil, err
		}
	}
	pv, err := client.Get[*corev1.PersistentVolume](t, kl.c, client.PersistentVolumes, "", pvc.Spec.VolumeName)
	switch {
	case err != nil:
		return nil, failed(fmt.Errorf("failed to fetch PV %s from API server: %w", pvc.Spec.VolumeName, err))
	case pv.Spec.ClaimRef == nil:
		return nil, failed(fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", pv.Name))
	case pv.Spec.ClaimRef.UID != pvc.UID:
		return nil, failed(fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", pv.Name, pv.Spec.ClaimRef.UID, pvc.UID))
	}
	if mode := pv.Spec.VolumeMode; mode != nil && *mode != corev1.PersistentVolumeFilesystem {
		return nil, fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeMounts", v.Name, *mode)
	}
	return &claimed{name: v.Name, pvc: pvc, pv: pv, readOnly: v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly}, nil
}

// mountClaims waits until the volumes of the pod's claims are attached, and mounts them
// (reconciler_common.go mountOrAttachVolumes). What fails is told and tried again; after a
// while the pod's worker begins again.
func (w *worker) mountClaims(t *sim.Task) error {
	until := t.Elapsed() + mountPatience
	for _, c := range w.claims {
		if c.files != nil || c.pv.Spec.CSI == nil {
			if err := storagehelpers.CheckNodeAffinity(c.pv, w.kl.node.labels); err != nil {
				w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "MountVolume.NodeAffinity check failed for volume %q : %v", c.pv.Name, err)
				return err
			}
			if v := c.pv.Spec.HostPath; v != nil {
				if err := w.hostPath(v); err != nil {
					w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "MountVolume.SetUp failed for volume %q : %v", c.pv.Name, err)
					return err
				}
			}
			continue
		}
		if err := w.mountClaim(t, c, until); err != nil {
			return err
		}
	}
	return nil
}

// mountClaim mounts one volume, within the time.
func (w *worker) mountClaim(t *sim.Task, c *claimed, until time.Duration) error {
	v := w.kl.volumes.known[unique(c.pv)]
	for {
		wait := time.Duration(0)
		attached := w.kl.volumes.attached(t, v)
		switch {
		case w.phase != syncing:
			return errors.New("context canceled")
		case !attached: // the node's status says when it is
		case v.busy: // another pod's mount of it
		case v.next > t.Elapsed():
			wait = v.next - t.Elapsed()
		default:
			v.busy = true
			what, err := w.kl.volumes.mount(t, w, v, c)
			v.busy = false
			w.kl.volumes.changed.Broadcast()
			if err == nil {
				v.fails, v.next = 0, 0
				return nil
			}
			w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "%s for volume %q : %v", what, c.pv.Name, err)
			v.next = t.Elapsed() + min(mountRetryBase<<min(v.fails, 10), mountRetryMax)
			v.fails++
			continue
		}
		left := until - t.Elapsed()
		if left <= 0 {
			var unattached []string
			if !attached {
				unattached = append(unattached, c.name)
			}
			return w.notMounted(t, w.unmounted(), unattached, nil, context.DeadlineExceeded)
		}
		if wait == 0 || wait > left {
			wait = left
		}
		w.kl.volumes.changed.WaitTimeout(t, wait)
	}
}

// unmounted are the names of the claims' volumes that are not mounted.
func (w *worker) unmounted() (names []string) {
	for _, c := range w.claims {
		if c.files == nil && c.pv.Spec.CSI != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// placed is where a container's mount of a claim leads.
func (w *worker) placed(m *runtime.Mount) {
	i := slices.IndexFunc(w.claims, func(c *claimed) bool { return c.name == m.Volume })
	if i < 0 {
		return
	}
	c := w.claims[i]
	m.Folder, m.ReadOnly = c.files, m.ReadOnly || c.readOnly
	switch {
	case c.pv.Spec.HostPath != nil:
		m.HostPath = c.pv.Spec.HostPath.Path
	case c.pv.Spec.Local != nil:
		m.HostPath = c.pv.Spec.Local.Path
	}
}

// waitForAttach reports whether a volume's attachment says that it is attached
// (csi_attacher.go WaitForAttach, verifyAttachmentStatus).
func (kl *Kubelet) waitForAttach(t *sim.Task, pv *corev1.PersistentVolume) error {
	handle := pv.Spec.CSI.VolumeHandle
	id := csi.AttachmentName(pv.Spec.CSI.Driver, handle, kl.cfg.Node)
	va, err := client.Get[*storagev1.VolumeAttachment](t, kl.c, client.VolumeAttachments, "", id)
	switch {
	case err != nil:
		return fmt.Errorf("volume %v has GET error for volume attachment %v: %w", handle, id, err)
	case va.DeletionTimestamp != nil:
		return errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		return nil
	case va.Status.AttachError != nil:
		return errors.New(va.Status.AttachError.Message)
	}
	return fmt.Errorf("volume %v is not attached for volume attachment %v", handle, id)
}

// attachRequired reports whether a driver's volumes are attached before they are mounted; those
// of one that says nothing are (csi_plugin.go skipAttach).
func (kl *Kubelet) attachRequired(t *sim.Task, driver string) (bool, error) {
	d, err := client.Get[*storagev1.CSIDriver](t, kl.c, client.CSIDrivers, "", driver)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return d.Spec.AttachRequired == nil || *d.Spec.AttachRequired, nil
}
