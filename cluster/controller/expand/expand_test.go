package expand_test

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
	"kviz/cluster/controller/expand"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func size(s string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(s)}
}

// A claim that asks for more waits for its volume's driver; where the volume is of a plugin that
// has become a driver, the claim gets the driver's name.
func TestWhoExpands(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		expand.New(reconcile.NewEnv(p, expand.Name, expand.Source, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "claims that have what they ask for: of a CSI volume, and of one of the plugin of AWS")
		sources := map[string]corev1.PersistentVolumeSource{
			"csi": {CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: "1"}},
			"ebs": {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "1"}},
		}
		for _, name := range []string{"csi", "ebs"} {
			claim := &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: name, Resources: corev1.VolumeResourceRequirements{Requests: size("5Gi")}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size("5Gi")},
			}
			claim = clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", claim))
			v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: sources[name]}}
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: name, UID: claim.UID}
			clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", v))
		}
		t.Sleep(time.Minute)
		clienttest.Note(t, "both ask for 8Gi")
		for _, name := range []string{"csi", "ebs"} {
			claim := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](t, c, client.PersistentVolumeClaims, "demo", name))
			claim.Spec.Resources.Requests = size("8Gi")
			clienttest.Must(client.Update(t, c, client.PersistentVolumeClaims, "demo", claim))
		}
		t.Sleep(time.Minute)
	})
	var out strings.Builder
	out.WriteString(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart))
	for _, e := range b.Events {
		if r, ok := e.Payload.(*trace.Reconcile); ok && r.Waits != "" {
			fmt.Fprintf(&out, "left undone: %s: %s\n", e.Object, r.Waits)
		}
	}
	for _, o := range b.Objects(client.PersistentVolumeClaims) {
		claim := o.(*corev1.PersistentVolumeClaim)
		fmt.Fprintf(&out, "PersistentVolumeClaim %s: annotations %v\n", claim.Name, claim.Annotations)
	}
	clienttest.Golden(t, "life.txt", out.String())
}
