package ephemeral_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/ephemeral"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	template := &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
	template.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	template.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}}},
	}
	return p
}

// A pod's ephemeral volume gets a claim that the pod owns, another if somebody deletes it, and
// none where there is one of the name that is somebody else's.
func TestClaimsOfPods(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		ephemeral.New(reconcile.NewEnv(p, ephemeral.Name, ephemeral.Source, c, f, 1)).Start()
		f.Start()
		t.Sleep(time.Minute)
		clienttest.Note(t, "a pod with an ephemeral volume")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("web")))
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody deletes its claim")
		clienttest.Must(0, c.Delete(t, client.PersistentVolumeClaims, "demo", "web-scratch", metav1.DeleteOptions{}))
		t.Sleep(time.Second)
		clienttest.Note(t, "a claim is there already that is nobody's")
		clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db-scratch"}}))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("db")))
		t.Sleep(20 * time.Millisecond)
		clienttest.Note(t, "it goes, and so does the pod web")
		clienttest.Must(0, c.Delete(t, client.PersistentVolumeClaims, "demo", "db-scratch", metav1.DeleteOptions{}))
		zero := int64(0)
		clienttest.Must(0, c.Delete(t, client.Pods, "demo", "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		t.Sleep(time.Second)
	})
	var out strings.Builder
	out.WriteString(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart))
	for _, o := range b.Objects(client.PersistentVolumeClaims) {
		claim := o.(*corev1.PersistentVolumeClaim)
		owner := metav1.GetControllerOf(claim)
		fmt.Fprintf(&out, "PersistentVolumeClaim %s: %v, of %s %s, which blocks its owner's deletion: %v\n", claim.Name, claim.Labels, owner.Kind, owner.Name, *owner.BlockOwnerDeletion)
	}
	clienttest.Golden(t, "life.txt", out.String())
}
