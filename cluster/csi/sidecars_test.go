package csi_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/csi"
	"kviz/cluster/csi/attacher"
	"kviz/cluster/csi/provisioner"
	"kviz/cluster/csi/resizer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// bench is a server with the driver's sidecars; the test stands in for the controllers of
// kube-controller-manager and for the scheduler.
type bench struct {
	*clienttest.Bench
	t      *sim.Task
	c      client.Interface
	driver *csi.Service
}

func newBench(b *clienttest.Bench, t *sim.Task) *bench {
	s := &bench{b, t, b.Client(), csi.New(b.Kernel, false)}
	for _, name := range []string{provisioner.Name, attacher.Name, resizer.Name} {
		p := b.Kernel.NewProcess(trace.Lane{Component: name})
		switch name {
		case provisioner.Name:
			provisioner.Start(p, s.c, s.driver, nil)
		case attacher.Name:
			attacher.Start(p, s.c, s.driver, nil)
		case resizer.Name:
			resizer.Start(p, s.c, s.driver, nil)
		}
	}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	clienttest.Must(client.Create(t, s.c, client.StorageClasses, "", &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Provisioner: csi.Name, VolumeBindingMode: &mode}))
	clienttest.Must(client.Create(t, s.c, client.StorageClasses, "", &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, Provisioner: csi.Name}))
	for _, name := range []string{"node-1", "node-2"} {
		clienttest.Must(client.Create(t, s.c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		clienttest.Must(client.Create(t, s.c, client.CSINodes, "", &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: csi.Name, NodeID: name}}}}))
	}
	return s
}

func (b *bench) claim(name, class, size string, modes ...corev1.PersistentVolumeAccessMode) {
	clienttest.Must(client.Create(b.t, b.c, client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "u-" + "1", Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": csi.Name}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: modes,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}))
}

func (b *bench) changeClaim(name string, f func(*corev1.PersistentVolumeClaim)) {
	pvc := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](b.t, b.c, client.PersistentVolumeClaims, "demo", name)).DeepCopy()
	status := pvc.Status.DeepCopy()
	f(pvc)
	changed := pvc.Status
	pvc.Status = *status
	pvc = clienttest.Must(client.Update(b.t, b.c, client.PersistentVolumeClaims, "demo", pvc)).DeepCopy()
	pvc.Status = changed
	clienttest.Must(client.UpdateStatus(b.t, b.c, client.PersistentVolumeClaims, "demo", pvc))
}

// volume is the only volume.
func (b *bench) volume() *corev1.PersistentVolume {
	all := b.Objects(client.PersistentVolumes)
	if len(all) != 1 {
		return &corev1.PersistentVolume{}
	}
	return all[0].(*corev1.PersistentVolume).DeepCopy()
}

// bind is the persistent volume binder.
func (b *bench) bind(name string) {
	pv := b.volume()
	pv.Status.Phase = corev1.VolumeBound
	clienttest.Must(client.UpdateStatus(b.t, b.c, client.PersistentVolumes, "", pv))
	b.changeClaim(name, func(pvc *corev1.PersistentVolumeClaim) {
		pvc.Spec.VolumeName = pv.Name
		pvc.Status.Phase, pvc.Status.Capacity = corev1.ClaimBound, pv.Spec.Capacity
	})
}

func (b *bench) attach(node string) string {
	name := b.volume().Name
	id := csi.AttachmentName(csi.Name, b.volume().Spec.CSI.VolumeHandle, node)
	clienttest.Must(client.Create(b.t, b.c, client.VolumeAttachments, "", &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: csi.Name, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
	}))
	return id
}

func (b *bench) release() {
	pv := b.volume()
	pv.Status.Phase = corev1.VolumeReleased
	clienttest.Must(client.UpdateStatus(b.t, b.c, client.PersistentVolumes, "", pv))
}

var told = []trace.Kind{trace.CommandStart, trace.ReconcileAction, trace.CSICall, trace.EventRecorded}

// A volume from its claim to its end: made, attached, made larger, detached, deleted.
func TestLifeOfAVolume(t *testing.T) {
	var attached, grown, left string
	b := clienttest.Run(t, 1, func(cb *clienttest.Bench, t *sim.Task) {
		b := newBench(cb, t)
		clienttest.Note(t, "a claim that waits for its first pod")
		b.claim("data", "standard", "5Gi", corev1.ReadWriteOnce)
		t.Sleep(time.Minute)
		clienttest.Note(t, "the scheduler chooses node-1")
		b.changeClaim("data", func(pvc *corev1.PersistentVolumeClaim) {
			pvc.Annotations["volume.kubernetes.io/selected-node"] = "node-1"
		})
		t.Sleep(time.Minute)
		clienttest.Note(t, "the binder binds, the attach-detach controller wants it at node-1")
		b.bind("data")
		id := b.attach("node-1")
		t.Sleep(time.Minute)
		va := b.Object(client.VolumeAttachments, "", id).(*storagev1.VolumeAttachment)
		attached = va.Status.AttachmentMetadata["devicePath"] + " " + strings.Join(va.Finalizers, ",") + " " + strings.Join(b.volume().Finalizers, ",")
		clienttest.Note(t, "the claim asks for more")
		b.changeClaim("data", func(pvc *corev1.PersistentVolumeClaim) {
			pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("8Gi")
		})
		t.Sleep(time.Minute)
		pvc := b.Object(client.PersistentVolumeClaims, "demo", "data").(*corev1.PersistentVolumeClaim)
		size := b.volume().Spec.Capacity[corev1.ResourceStorage]
		grown = size.String() + " " + string(pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage]) + " " + string(pvc.Status.Conditions[0].Type)
		clienttest.Note(t, "the claim is gone, and the volume still attached")
		b.release()
		t.Sleep(4 * time.Second)
		clienttest.Note(t, "it is to be detached")
		clienttest.Must(0, b.c.Delete(t, client.VolumeAttachments, "", id, metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		for _, d := range b.driver.Disks() {
			left += d.ID
		}
	})
	clienttest.Golden(t, "life.txt", b.Transcript(told...))
	if want := "/dev/disk/by-id/kviz-disk-1 external-attacher/disk-csi-kviz-dev external-provisioner.volume.kubernetes.io/finalizer,external-attacher/disk-csi-kviz-dev"; attached != want {
		t.Errorf("attached: %s, want %s", attached, want)
	}
	if want := "8Gi NodeResizePending FileSystemResizePending"; grown != want {
		t.Errorf("grown: %s, want %s", grown, want)
	}
	if n := len(b.Objects(client.PersistentVolumes)) + len(b.Objects(client.VolumeAttachments)); n > 0 || left != "" {
		t.Errorf("%d objects and disks %q are left", n, left)
	}
}

// What goes wrong in the driver is told, tried again later each time, and made good.
func TestFailingDriver(t *testing.T) {
	b := clienttest.Run(t, 1, func(cb *clienttest.Bench, t *sim.Task) {
		b := newBench(cb, t)
		clienttest.Note(t, "a claim while CreateVolume fails, then while there is no room")
		b.driver.Fail("create")
		b.claim("data", "immediate", "5Gi", corev1.ReadWriteOnce)
		t.Sleep(4 * time.Second)
		b.driver.Heal()
		b.driver.SetFull(true)
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "then CreateVolume is slower than the sidecar waits: the disk is made once all the same")
		b.driver.SetFull(false)
		b.driver.Slow(15 * time.Second)
		t.Sleep(2 * time.Minute)
		if n := len(b.driver.Disks()); n != 1 {
			panic("there are several disks")
		}
		b.driver.Slow(0)
		b.bind("data")
		clienttest.Note(t, "the driver is down when it is to attach")
		b.driver.SetDown(true)
		id := b.attach("node-1")
		t.Sleep(2 * time.Second)
		va := b.Object(client.VolumeAttachments, "", id).(*storagev1.VolumeAttachment)
		clienttest.Note(t, "attachError: "+va.Status.AttachError.Message)
		b.driver.SetDown(false)
		t.Sleep(time.Minute)
		clienttest.Note(t, "a second node cannot have it")
		b.attach("node-2")
		t.Sleep(5 * time.Second)
	})
	clienttest.Golden(t, "failing.txt", b.Transcript(told...))
}

// What the driver cannot make is refused in CSI's words.
func TestRefusals(t *testing.T) {
	b := clienttest.Run(t, 1, func(cb *clienttest.Bench, t *sim.Task) {
		b := newBench(cb, t)
		clienttest.Note(t, "a claim for many nodes")
		b.claim("shared", "immediate", "1Gi", corev1.ReadWriteMany)
		t.Sleep(2 * time.Second)
		clienttest.Must(0, b.c.Delete(t, client.PersistentVolumeClaims, "demo", "shared", metav1.DeleteOptions{}))
		clienttest.Note(t, "a volume that is to be kept")
		b.claim("kept", "immediate", "1Gi", corev1.ReadWriteOncePod)
		t.Sleep(10 * time.Second)
		b.bind("kept")
		pv := b.volume()
		pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		clienttest.Must(client.Update(t, b.c, client.PersistentVolumes, "", pv))
		t.Sleep(10 * time.Second)
		b.release()
		t.Sleep(time.Minute)
		if len(b.driver.Disks()) != 1 || len(b.volume().Finalizers) > 0 {
			panic("the disk of a volume with reclaim policy Retain is deleted, or its finalizer left")
		}
	})
	clienttest.Golden(t, "refusals.txt", b.Transcript(told...))
}

// What the driver has no capability for csi-provisioner refuses itself, and of what a populator fills it
// makes nothing.
func TestUnsupported(t *testing.T) {
	b := clienttest.Run(t, 1, func(cb *clienttest.Bench, t *sim.Task) {
		b := newBench(cb, t)
		of := func(kind, group string) *corev1.TypedLocalObjectReference {
			return &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: kind, Name: "source"}
		}
		gold := "gold"
		for _, c := range []struct {
			name string
			asks func(*corev1.PersistentVolumeClaimSpec)
		}{
			{"clone", func(s *corev1.PersistentVolumeClaimSpec) { s.DataSource = of("PersistentVolumeClaim", "") }},
			{"restored", func(s *corev1.PersistentVolumeClaimSpec) {
				s.DataSource = of("VolumeSnapshot", "snapshot.storage.k8s.io")
			}},
			{"misplaced", func(s *corev1.PersistentVolumeClaimSpec) { s.DataSource = of("VolumeSnapshot", "example.com") }},
			{"populated", func(s *corev1.PersistentVolumeClaimSpec) { s.DataSource = of("Hello", "example.com") }},
			{"faster", func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = &gold }},
			{"chosen", func(s *corev1.PersistentVolumeClaimSpec) { s.Selector = &metav1.LabelSelector{} }},
		} {
			class := "immediate"
			pvc := &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: c.name, Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": csi.Name}},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}
			c.asks(&pvc.Spec)
			clienttest.Must(client.Create(t, b.c, client.PersistentVolumeClaims, "demo", pvc))
			t.Sleep(500 * time.Millisecond)
			clienttest.Must(0, b.c.Delete(t, client.PersistentVolumeClaims, "demo", c.name, metav1.DeleteOptions{}))
		}
		t.Sleep(10 * time.Second)
		if len(b.driver.Disks()) > 0 || len(b.Objects(client.PersistentVolumes)) > 0 {
			panic("a disk was made for a claim that asks for more than an empty disk")
		}
	})
	clienttest.Golden(t, "unsupported.txt", b.Transcript(told...))
}
