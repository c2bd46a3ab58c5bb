package storageprotection

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A claim and its volume from the first finalizer to the last: they go when nothing
// uses them any more, and not before.
func TestWhatIsInUseStays(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		NewClaims(reconcile.NewEnv(p, ClaimsName, ClaimsName, c, f, 1)).Start()
		NewVolumes(reconcile.NewEnv(p, VolumesName, VolumesName, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "a claim and a volume from before there was a plugin, both bound")
		clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}))
		clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
		}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "a pod on a node mounts it, and both are deleted")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod))
		t.Sleep(time.Minute)
		clienttest.Must(0, c.Delete(t, client.PersistentVolumeClaims, "demo", "data", metav1.DeleteOptions{}))
		clienttest.Must(0, c.Delete(t, client.PersistentVolumes, "", "disk", metav1.DeleteOptions{}))
		t.Sleep(time.Hour)
		clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](t, c, client.PersistentVolumeClaims, "demo", "data"))
		clienttest.Note(t, "the pod goes, then the volume is released")
		zero := int64(0)
		clienttest.Must(0, c.Delete(t, client.Pods, "demo", "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		t.Sleep(time.Minute)
		pv := clienttest.Must(client.Get[*corev1.PersistentVolume](t, c, client.PersistentVolumes, "", "disk"))
		pv.Status.Phase = corev1.VolumeReleased
		clienttest.Must(client.UpdateStatus(t, c, client.PersistentVolumes, "", pv))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	if n := len(b.Objects(client.PersistentVolumeClaims)) + len(b.Objects(client.PersistentVolumes)); n > 0 {
		t.Errorf("%d objects are left", n)
	}
}

// A VolumeAttributesClass goes when the claims and volumes that name it do so no more.
func TestANamedClassStays(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		NewClasses(reconcile.NewEnv(p, ClassesName, ClassesName, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "a class from before there was a plugin, a claim that is to have it and a volume that has it")
		clienttest.Must(client.Create(t, c, client.VolumeAttributesClasses, "", &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disks.example.com"}))
		gold := "gold"
		clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &gold},
		}))
		clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: corev1.PersistentVolumeSpec{VolumeAttributesClassName: &gold}}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "the class is deleted, then the volume gets another")
		clienttest.Must(0, c.Delete(t, client.VolumeAttributesClasses, "", "gold", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		silver := "silver"
		pv := clienttest.Must(client.Get[*corev1.PersistentVolume](t, c, client.PersistentVolumes, "", "disk"))
		pv.Spec.VolumeAttributesClassName = &silver
		clienttest.Must(client.Update(t, c, client.PersistentVolumes, "", pv))
		t.Sleep(time.Minute)
		clienttest.Must(client.Get[*storagev1.VolumeAttributesClass](t, c, client.VolumeAttributesClasses, "", "gold"))
		clienttest.Note(t, "the claim goes")
		clienttest.Must(0, c.Delete(t, client.PersistentVolumeClaims, "demo", "data", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "class.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	if n := len(b.Objects(client.VolumeAttributesClasses)); n > 0 {
		t.Errorf("%d classes are left", n)
	}
}
