package view_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kviz/cluster/view"
)

type claimEdit func(*corev1.PersistentVolumeClaim)

// sized is a claim of 5Gi that is Pending.
func sized(edits ...claimEdit) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "demo", UID: "claim"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	for _, e := range edits {
		e(c)
	}
	return c
}

func inClass(name string) claimEdit {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func boundTo(volume string) claimEdit {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName, c.Status.Phase = volume, corev1.ClaimBound
	}
}

// piece is a volume; of is the claim that it is for, "" for none.
func piece(name, size string, phase corev1.PersistentVolumePhase, of string, edits ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PersistentVolumeStatus{Phase: phase}}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	if of != "" {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: of}
		if of == "data" {
			v.Spec.ClaimRef.UID = "claim"
		}
	}
	for _, e := range edits {
		e(v)
	}
	return v
}

func classOf(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

func attachedTo(node string, attached bool, fails string) *storagev1.VolumeAttachment {
	v := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + node}}
	v.Spec = storagev1.VolumeAttachmentSpec{Attacher: "disk.csi.kviz.dev", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")}}
	v.Status.Attached = attached
	if fails != "" {
		v.Status.AttachError = &storagev1.VolumeError{Message: fails}
	}
	return v
}

func withDisk(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

func starting(node string) podEdit {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = node, corev1.PodPending, nil
	}
}

// What kviz why says of claims, volumes and attachments, and of a pod that waits for one.
func TestClaimsSayWhatTheyWaitFor(t *testing.T) {
	const wait, now = storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	web := func(edits ...podEdit) *corev1.Pod {
		return podOf("ReplicaSet", "web", "web", append([]podEdit{withDisk}, edits...)...)
	}
	for _, c := range []struct {
		name    string
		of      string
		objects []runtime.Object
		want    string
		from    string // one a line
	}{
		{
			name: "no class, and nothing fits",
			objects: []runtime.Object{
				sized(), piece("a-small", "1Gi", corev1.VolumeAvailable, ""), piece("b-other", "9Gi", corev1.VolumeBound, "else"), piece("c-left", "9Gi", corev1.VolumeReleased, "gone"),
				piece("d-many", "9Gi", corev1.VolumeAvailable, "", func(v *corev1.PersistentVolume) {
					v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
				}),
				piece("e-class", "9Gi", corev1.VolumeAvailable, "", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "fast" }),
			},
			want: "PersistentVolumeClaim demo/data is Pending: it names no class, and there is no default StorageClass (storageclass.kubernetes.io/is-default-class) to be given to it",
			from: "volume a-small: it is too small: 1Gi, and the claim asks for 5Gi\nvolume b-other: it is for claim demo/else\nvolume c-left: it is Released: its data are those of claim demo/gone, which is gone\n" +
				"volume d-many: it has the access modes ROX, and the claim asks for RWO\nvolume e-class: its class is fast, and the claim has none",
		},
		{
			name: "a class that is not there", objects: []runtime.Object{sized(inClass("fast"))},
			want: "PersistentVolumeClaim demo/data is Pending: it asks for class fast, and there is no StorageClass of that name",
		},
		{
			name: "the first consumer", objects: []runtime.Object{sized(inClass("standard")), classOf("standard", "disk.csi.kviz.dev", wait), web(starting(""))},
			want: "PersistentVolumeClaim demo/data is Pending: class standard binds a claim only when its first pod is scheduled (WaitForFirstConsumer), and pod web has no node yet",
			from: "pod web: has no node yet",
		},
		{
			name: "no consumer", objects: []runtime.Object{sized(inClass("standard")), classOf("standard", "disk.csi.kviz.dev", wait)},
			want: "PersistentVolumeClaim demo/data is Pending: class standard binds a claim only when its first pod is scheduled (WaitForFirstConsumer), and no pod uses it",
		},
		{
			name: "to be made", objects: []runtime.Object{sized(inClass("immediate")), classOf("immediate", "disk.csi.kviz.dev", now)},
			want: "PersistentVolumeClaim demo/data is Pending: no volume fits it, and disk.csi.kviz.dev, the provisioner of class immediate, has to make one",
		},
		{
			name: "nobody makes any", objects: []runtime.Object{sized(inClass("local")), classOf("local", "kubernetes.io/no-provisioner", now), piece("pv", "5Gi", corev1.VolumeAvailable, "", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "local" })},
			want: "PersistentVolumeClaim demo/data is Pending: no volume fits it, and class local has no provisioner that could make one",
			from: "volume pv: fits it (5Gi)",
		},
		{
			name: "by name", objects: []runtime.Object{sized(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }), piece("pv", "1Gi", corev1.VolumeAvailable, "")},
			want: "PersistentVolumeClaim demo/data is Pending: it asks for volume pv by name, which will not do: it is too small: 1Gi, and the claim asks for 5Gi",
		},
		{
			name: "bound", objects: []runtime.Object{sized(boundTo("pv")), piece("pv", "5Gi", corev1.VolumeBound, "data"), attachedTo("node-1", true, ""), web()},
			want: "PersistentVolumeClaim demo/data is Bound to volume pv",
			from: "volume pv: Bound: 5Gi RWO, Retain\nattachment node-1: attached\npod web: has it mounted on node-1",
		},
		{
			name: "lost", objects: []runtime.Object{sized(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName, c.Status.Phase = "pv", corev1.ClaimLost })},
			want: "PersistentVolumeClaim demo/data is Lost: its volume pv is gone, and with it what was written to it",
		},
		{
			name: "a volume that is left", of: "PersistentVolume/pv", objects: []runtime.Object{piece("pv", "5Gi", corev1.VolumeReleased, "data")},
			want: `PersistentVolume pv is Released: its claim demo/data is gone, and its data are kept (reclaim policy Retain): no claim gets it before its claimRef is taken off: kubectl patch pv pv --type=merge -p '{"spec":{"claimRef":null}}'`,
		},
		{
			name: "a volume in use", of: "PersistentVolume/pv", objects: []runtime.Object{sized(boundTo("pv")), piece("pv", "5Gi", corev1.VolumeBound, "data"), attachedTo("node-1", true, ""), web()},
			want: "PersistentVolume pv is Bound to claim demo/data",
			from: "claim data: Bound: 5Gi RWO, class none\nattachment node-1: attached\npod web: has it mounted on node-1",
		},
		{
			name: "a pod without its claim", of: "Pod/web", objects: []runtime.Object{web(starting("node-1"))},
			want: "Pod demo/web waits for claim demo/data: it does not exist",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range c.objects {
				if v, ok := o.(*corev1.PersistentVolumeClaim); ok && v.UID == "" {
					v.UID = "claim"
				}
			}
			s := standing(t, c.objects...)
			kind, name := "PersistentVolumeClaim", "data"
			if k, n, ok := strings.Cut(c.of, "/"); ok {
				kind, name = k, n
			}
			var o *view.Object
			for _, resource := range []string{"pods", "persistentvolumeclaims", "persistentvolumes", "volumeattachments"} {
				for _, x := range append(s.Objects(resource, "demo"), s.Objects(resource, "")...) {
					if x.Ref.Kind == kind && x.Name() == name {
						o = x
					}
				}
			}
			for _, a := range s.Reasons(o) {
				if a.Says != c.want {
					continue
				}
				var from []string
				for _, k := range a.From {
					from = append(from, k.What+": "+k.Why)
				}
				if c.from != "" && strings.Join(from, "\n") != c.from {
					t.Errorf("from\n%s\nwant\n%s", strings.Join(from, "\n"), c.from)
				}
				return
			}
			t.Errorf("got  %+v\nwant %s", s.Reasons(o), c.want)
		})
	}
}
