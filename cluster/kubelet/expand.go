package kubelet

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kviz/cluster/client"
	"kviz/cluster/csi"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// grown has the pods look at their claims that have a disk which has become larger. Upstream
// looks at the claims of every pod about once a minute; here only where there is something to
// see, and at a time when upstream would.
func (m *volumeManager) grown(id string) {
	kl := m.kl
	if !kl.p.Alive() {
		return
	}
	for _, w := range kl.sortedWorkers() {
		for _, c := range w.claims {
			if c.pv.Spec.CSI != nil && c.pv.Spec.CSI.Driver == csi.Name && c.pv.Spec.CSI.VolumeHandle == id {
				w.expandSoon()
			}
		}
	}
}

func (w *worker) expandSoon() {
	w.larger = true
	w.kl.k.After(time.Second+time.Duration(w.kl.rand.Float64()*float64(resyncMax)), func() {
		if w.phase == syncing {
			w.wake("resync", trace.ID{})
		}
	})
}

// expandClaims has the filesystems of the pod's claims take all of their disks that have become
// larger (populator checkVolumeFSResize, then GenerateExpandInUseVolumeFunc).
func (w *worker) expandClaims(t *sim.Task) {
	if !w.larger || !w.mounted {
		return
	}
	w.larger = false
	for _, c := range w.claims {
		if c.files == nil || c.readOnly {
			continue
		}
		if err := w.expandClaim(t, c); err != nil {
			w.kl.event(t, w.pod, corev1.EventTypeWarning, "VolumeResizeFailed", "NodeExpandVolume failed for volume %q : %v", c.pv.Name, err)
			w.expandSoon()
		}
	}
}

// expandClaim calls NodeExpandVolume if a claim has less than its volume, and writes what it
// has then (node_expander.go expandOnPlugin).
func (w *worker) expandClaim(t *sim.Task, c *claimed) error {
	kl := w.kl
	pvc, err := client.Get[*corev1.PersistentVolumeClaim](t, kl.c, client.PersistentVolumeClaims, c.pvc.Namespace, c.pvc.Name)
	if err != nil {
		return fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	switch pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
	case corev1.PersistentVolumeClaimControllerResizeInProgress:
		w.expandSoon() // the resizer has not written yet that it is the kubelet's turn
		return nil
	default:
		return nil
	}
	if c.readOnly {
		message := fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", c.pv.Name)
		kl.event(t, w.pod, corev1.EventTypeWarning, "FileSystemResizeFailed", "%s", message)
		return nil
	}
	size := pvc.Status.AllocatedResources[corev1.ResourceStorage]
	pvc, err = w.patchClaim(t, pvc, func(pvc *corev1.PersistentVolumeClaim) {
		pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = corev1.PersistentVolumeClaimNodeResizeInProgress
	})
	if err != nil {
		return err
	}
	capacity, err := kl.cfg.Storage.NodeExpandVolume(t, c.pv.Spec.CSI.VolumeHandle, w.key(), csiTimeout)
	if err != nil {
		if _, e := w.patchClaim(t, pvc, func(pvc *corev1.PersistentVolumeClaim) {
			csi.MergeResizeConditions(pvc, true, corev1.PersistentVolumeClaimCondition{
				Type: corev1.PersistentVolumeClaimNodeResizeError, Status: corev1.ConditionTrue, LastTransitionTime: client.Now(t), Message: fmt.Sprintf("failed to expand pvc with %v", err),
			})
		}); e != nil {
			return e
		}
		return err
	}
	message := fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", c.pv.Name, kl.cfg.Node)
	kl.event(t, w.pod, corev1.EventTypeNormal, "FileSystemResizeSuccessful", "%s", message)
	if !kl.cfg.Quiet {
		kl.rec.Event(t, pvc, corev1.EventTypeNormal, "FileSystemResizeSuccessful", "%s", message)
	}
	if now := *resource.NewQuantity(capacity, resource.BinarySI); size.IsZero() {
		size = now
	}
	_, err = w.patchClaim(t, pvc, func(pvc *corev1.PersistentVolumeClaim) {
		pvc.Status.Capacity[corev1.ResourceStorage] = size
		delete(pvc.Status.AllocatedResourceStatuses, corev1.ResourceStorage)
		if len(pvc.Status.AllocatedResourceStatuses) == 0 {
			pvc.Status.AllocatedResourceStatuses = nil
		}
		csi.MergeResizeConditions(pvc, false)
	})
	if err != nil {
		return fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return nil
}

// patchClaim changes a claim's status (resize_util.go PatchPVCStatus).
func (w *worker) patchClaim(t *sim.Task, pvc *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaim)) (*corev1.PersistentVolumeClaim, error) {
	is := pvc.DeepCopy()
	change(is)
	was, err := json.Marshal(pvc)
	if err != nil {
		return nil, err
	}
	now, err := json.Marshal(is)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(was, now, corev1.PersistentVolumeClaim{})
	if err != nil {
		return nil, err
	}
	obj, err := w.kl.c.Patch(t, client.PersistentVolumeClaims, pvc.Namespace, pvc.Name, types.StrategicMergePatchType, patch, "status")
	if err != nil {
		return nil, fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", pvc.Name, err)
	}
	return obj.(*corev1.PersistentVolumeClaim), nil
}
