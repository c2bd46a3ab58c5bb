package tuitest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/trace"
)

// Disks is a cluster with a claim whose volume is attached and mounted and cannot be made larger, and one that no volume
// fits.
func Disks() *Tape {
	tape := Story()
	gi := func(size string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	class, pv := "standard", "pvc-0b6e1f2a-5c3d-4e57-9c3a-1d2e3f405162"
	ref := func(api, kind, ns, name string) trace.Ref {
		return trace.Ref{APIVersion: api, Kind: kind, Namespace: ns, Name: name}
	}
	claim := func(name, volume string, phase corev1.PersistentVolumeClaimPhase) {
		tape.Commit(ref("v1", "PersistentVolumeClaim", "demo", name), "persistentvolumeclaims", &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name)},
			Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: once, StorageClassName: &class, VolumeName: volume, Resources: corev1.VolumeResourceRequirements{Requests: gi("5Gi")}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: phase},
		})
	}
	const id = "disk-1"
	volume := func(name, size, class string, phase corev1.PersistentVolumePhase, of *corev1.ObjectReference) {
		handle := "disk-" + name
		if name == pv {
			handle = id
		}
		tape.Commit(ref("v1", "PersistentVolume", "", name), "persistentvolumes", &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: once, Capacity: gi(size), StorageClassName: class, ClaimRef: of, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.kviz.dev", VolumeHandle: handle}},
			},
			Status: corev1.PersistentVolumeStatus{Phase: phase},
		})
	}
	now := storagev1.VolumeBindingImmediate
	tape.Commit(ref("storage.k8s.io/v1", "StorageClass", "", class), "storageclasses", &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disk.csi.kviz.dev", VolumeBindingMode: &now})
	claim("data", pv, corev1.ClaimBound)
	volume(pv, "5Gi", class, corev1.VolumeBound, &corev1.ObjectReference{Namespace: "demo", Name: "data", UID: "data"})
	volume("small", "1Gi", class, corev1.VolumeAvailable, nil)
	volume("old", "9Gi", class, corev1.VolumeReleased, &corev1.ObjectReference{Namespace: "demo", Name: "gone", UID: "gone"})
	tape.Commit(ref("storage.k8s.io/v1", "VolumeAttachment", "", "csi-1"), "volumeattachments", &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "disk.csi.kviz.dev", NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: true},
	})
	pod := Pod("demo", "db-0", "", "node-1", "Ready", "10.244.1.9")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	tape.Commit(Ref("Pod", "demo", "db-0"), "pods", pod)
	claim("more", "", corev1.ClaimPending)
	about := ref("v1", "PersistentVolumeClaim", "demo", "more")
	asked := func(c trace.StorageCall) {
		tape.After(c.Took)
		c.Driver = "disk.csi.kviz.dev"
		tape.Emit("csi-driver", "", trace.CSICall, about, &c)
	}
	for range 3 {
		asked(trace.StorageCall{Call: "CreateVolume", Name: "pvc-more", Arg: "5Gi", Error: "rpc error: code = ResourceExhausted desc = the disk service has no room for 5Gi", Took: 5 * time.Millisecond})
	}
	about = ref("v1", "PersistentVolume", "", pv)
	asked(trace.StorageCall{Call: "CreateVolume", Name: pv, Arg: "5Gi", Result: id, Took: 1200 * time.Millisecond})
	asked(trace.StorageCall{Call: "ControllerPublishVolume", Volume: id, Node: "node-1", Error: "rpc error: code = Internal desc = the disk service failed: ControllerPublishVolume does not work", Took: 5 * time.Millisecond})
	asked(trace.StorageCall{Call: "ControllerPublishVolume", Volume: id, Node: "node-1", Result: "/dev/vdb", Took: 2100 * time.Millisecond})
	asked(trace.StorageCall{Call: "NodeStageVolume", Volume: id, Node: "node-1", Took: 310 * time.Millisecond})
	asked(trace.StorageCall{Call: "NodePublishVolume", Volume: id, Node: "node-1", Pod: "demo/db-0", Took: 40 * time.Millisecond})
	for range 8 { // it does not grow
		asked(trace.StorageCall{Call: "ControllerExpandVolume", Volume: id, Arg: "9Gi", Error: "rpc error: code = Unavailable desc = the disk service is not there", Took: 5 * time.Millisecond})
	}
	return tape
}

// DisksDeleted is [Disks] after the volume that no claim has any more is deleted, with its disk.
func DisksDeleted() *Tape {
	tape := Disks()
	const id = "disk-old"
	old := trace.Ref{APIVersion: "v1", Kind: "PersistentVolume", Name: "old"}
	for _, c := range []trace.StorageCall{
		{Call: "CreateVolume", Name: "old", Arg: "9Gi", Result: id, Took: 1100 * time.Millisecond},
		{Call: "DeleteVolume", Volume: id, Took: 5 * time.Millisecond, Error: "rpc error: code = FailedPrecondition desc = disk-old is attached to node-2"},
		{Call: "DeleteVolume", Volume: id, Took: 800 * time.Millisecond},
	} {
		tape.After(c.Took)
		c.Driver = "disk.csi.kviz.dev"
		tape.Emit("csi-driver", "", trace.CSICall, old, &c)
	}
	tape.Commit(old, "persistentvolumes", nil)
	return tape
}

// VolumesInUse is a cluster with so many claims, each of the pod db-N, one after the other attached, being attached, being
// detached, attached in vain, without a volume, lost, not in use and mounted without any driver; and a volume that is left.
func VolumesInUse(claims int) *Tape {
	tape := Calm(3, 3)
	ref := func(api, kind, ns, name string) trace.Ref {
		return trace.Ref{APIVersion: api, Kind: kind, Namespace: ns, Name: name}
	}
	gi := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	for i := range claims + 1 {
		state := []string{"attached", "attaching", "detaching", "failed", "pending", "lost", "bound", "mounted"}[i%8]
		name, pv, node := fmt.Sprintf("data-db-%d", i), fmt.Sprintf("pvc-0b6e1f2a-%d", i), fmt.Sprintf("node-%d", i%3+1)
		phase, left := corev1.ClaimBound, i == claims
		switch state {
		case "pending":
			phase, pv = corev1.ClaimPending, ""
		case "lost":
			phase = corev1.ClaimLost
		}
		of := &corev1.ObjectReference{Namespace: "demo", Name: name, UID: types.UID(name)}
		if !left {
			tape.Commit(ref("v1", "PersistentVolumeClaim", "demo", name), "persistentvolumeclaims", &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name)},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: ptr("standard"), VolumeName: pv, Resources: corev1.VolumeResourceRequirements{Requests: gi}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: phase, Capacity: gi},
			})
		}
		if left || phase == corev1.ClaimBound {
			v := &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: pv, UID: types.UID(pv)},
				Spec:       corev1.PersistentVolumeSpec{Capacity: gi, StorageClassName: "standard", ClaimRef: of},
				Status:     corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
			}
			if left {
				v.Name, v.Status.Phase = "old", corev1.VolumeReleased
			}
			tape.Commit(ref("v1", "PersistentVolume", "", v.Name), "persistentvolumes", v)
		}
		if left {
			break
		}
		if state != "bound" {
			pod := Pod("demo", fmt.Sprintf("db-%d", i), "", node, "Ready", fmt.Sprintf("10.244.1.%d", i+9))
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
			switch state {
			case "pending", "lost":
				pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
			case "attaching", "failed":
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
			}
			tape.Commit(Ref("Pod", "demo", pod.Name), "pods", pod)
		}
		if state == "attached" || state == "attaching" || state == "detaching" || state == "failed" {
			a := &storagev1.VolumeAttachment{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("csi-%d", i)},
				Spec:       storagev1.VolumeAttachmentSpec{Attacher: "disk.csi.kviz.dev", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
				Status:     storagev1.VolumeAttachmentStatus{Attached: state == "attached" || state == "detaching"},
			}
			switch state {
			case "detaching":
				now := metav1.Unix(0, 0)
				a.DeletionTimestamp = &now
			case "failed":
				a.Status.AttachError = &storagev1.VolumeError{Message: "rpc error: code = Internal desc = the disk service failed: ControllerPublishVolume does not work"}
			}
			tape.Commit(ref("storage.k8s.io/v1", "VolumeAttachment", "", a.Name), "volumeattachments", a)
		}
	}
	return tape
}
