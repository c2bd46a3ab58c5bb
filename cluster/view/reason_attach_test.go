package view_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kviz/cluster/csi"
)

const diskName = "kubernetes.io/csi/disk.csi.kviz.dev^handle"

// wants is a pod that waits on a node for the claim data.
func wants(name, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	return p
}

// disk is the claim data and its volume pvc-1.
func disk() []runtime.Object {
	mode := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	return []runtime.Object{
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-1", AccessModes: mode},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: mode, ClaimRef: &corev1.ObjectReference{Namespace: "demo", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.kviz.dev", VolumeHandle: "handle"}},
		}},
	}
}

func diskNode(name string, ready corev1.ConditionStatus, attached, inUse bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	if attached {
		n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: diskName}}
	}
	if inUse {
		n.Status.VolumesInUse = []corev1.UniqueVolumeName{diskName}
	}
	return n
}

func attachmentName(node string) string {
	return csi.AttachmentName("disk.csi.kviz.dev", "handle", node)
}

func attachment(node string, status storagev1.VolumeAttachmentStatus) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: attachmentName(node)}, Status: status,
		Spec: storagev1.VolumeAttachmentSpec{Attacher: "disk.csi.kviz.dev", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pvc-1")}},
	}
}

// Why a pod waits for its volume, and what has become of a VolumeAttachment.
func TestReasonsOfAttachments(t *testing.T) {
	yes, unknown := corev1.ConditionTrue, corev1.ConditionUnknown
	done := storagev1.VolumeAttachmentStatus{Attached: true}
	broken := storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "rpc error: the cable is loose"}}
	leaving := attachment("node-1", storagev1.VolumeAttachmentStatus{Attached: true, DetachError: &storagev1.VolumeError{Message: "the cable is stuck"}})
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: asked}, []string{"external-attacher/disk-csi-kviz-dev"}
	for name, c := range map[string]struct {
		of      string // the kind and name that is asked about
		objects []runtime.Object
		want    string
	}{
		"nobody asks": {
			"pods db",
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, false, false)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-1 yet: no VolumeAttachment asks its driver for it, and the persistentvolume-attach-detach-controller, which would create it, does not run: the controller manager has not started yet",
		},
		"the driver is asked": {
			"pods db",
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, false, false), attachment("node-1", storagev1.VolumeAttachmentStatus{})},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-1 yet: its driver disk.csi.kviz.dev has not attached it yet",
		},
		"the driver fails": {
			"pods db",
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, false, false), attachment("node-1", broken)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-1 yet: its driver cannot attach it: rpc error: the cable is loose",
		},
		"the status is late": {
			"pods db",
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, false, false), attachment("node-1", done)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-1 yet: its driver has attached it, and the node's status.volumesAttached does not say so yet",
		},
		"it is attached": {
			"pods db",
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, true, true), attachment("node-1", done)},
			"Pod demo/db is Pending: the kubelet of node-1 has not started its containers yet",
		},
		"another pod has it": {
			"pods db",
			[]runtime.Object{
				wants("db", "node-2"), wants("first", "node-1"), diskNode("node-1", yes, true, true), diskNode("node-2", yes, false, false), attachment("node-1", done),
			},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-2 yet: it is attached to node-1, and to one node at a time only (ReadWriteOnce), where pod first uses it",
		},
		"it is mounted elsewhere": {
			"pods db",
			[]runtime.Object{wants("db", "node-2"), diskNode("node-1", yes, true, true), diskNode("node-2", yes, false, false), attachment("node-1", done)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-2 yet: it is attached to node-1, and to one node at a time only (ReadWriteOnce), where it is still mounted (status.volumesInUse): its kubelet unmounts it first",
		},
		"a dead node has it": {
			"pods db",
			[]runtime.Object{wants("db", "node-2"), diskNode("node-1", unknown, true, true), diskNode("node-2", yes, false, false), attachment("node-1", done)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-2 yet: it is attached to node-1, and to one node at a time only (ReadWriteOnce), which is not ready and has not said that it has unmounted it: it is detached by force after 6 minutes",
		},
		"a node that is gone has it": {
			"pods db",
			[]runtime.Object{wants("db", "node-2"), diskNode("node-2", yes, false, false), attachment("node-1", done)},
			"Pod demo/db is Pending: its volume pvc-1 (claim data) is not attached to node-2 yet: it is attached to node-1, and to one node at a time only (ReadWriteOnce), which is not ready and has not said that it has unmounted it: it is detached by force after 6 minutes",
		},
		"an attachment that is wanted": {
			"volumeattachments " + attachmentName("node-1"),
			[]runtime.Object{wants("db", "node-1"), diskNode("node-1", yes, true, true), attachment("node-1", done)},
			"Volume pvc-1 is attached to node-1",
		},
		"an attachment that nobody wants": {
			"volumeattachments " + attachmentName("node-1"),
			[]runtime.Object{diskNode("node-1", unknown, true, true), attachment("node-1", done)},
			"Volume pvc-1 is attached to node-1, where no pod wants it any more: it is detached when node-1 does not have it in status.volumesInUse any more, and, since the node is not ready, after 6 minutes in any case",
		},
		"an attachment that fails": {
			"volumeattachments " + attachmentName("node-1"),
			[]runtime.Object{diskNode("node-1", yes, false, false), attachment("node-1", broken)},
			"disk.csi.kviz.dev cannot attach volume pvc-1 to node-1: rpc error: the cable is loose",
		},
		"an attachment that leaves": {
			"volumeattachments " + attachmentName("node-1"),
			[]runtime.Object{diskNode("node-1", yes, false, false), leaving},
			"disk.csi.kviz.dev cannot detach volume pvc-1 from node-1: the cable is stuck",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing(t, append(disk(), c.objects...)...)
			kind, of, _ := strings.Cut(c.of, " ")
			namespace := "demo"
			if kind != "pods" {
				namespace = ""
			}
			var got []string
			for _, r := range s.Reasons(s.Object(kind, namespace, of)) {
				if r.Says == c.want {
					return
				}
				got = append(got, r.Says)
			}
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
		})
	}
}
