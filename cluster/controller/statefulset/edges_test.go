package statefulset_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A pod whose claims are being deleted is not made, and one Event tells of all of them, in
// upstream's words.
func TestTellsOfAllClaimsThatGo(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		set := db(1, "db:1")
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "log"}})
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
		for _, name := range []string{"data-db-0", "log-db-0"} {
			clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Name: name, Finalizers: []string{"kubernetes.io/pvc-protection"}, DeletionTimestamp: &metav1.Time{Time: t.Now()},
			}}))
		}
		start(b)
		t.Sleep(time.Second)
	})
	const want = "Create Pod db-0 in StatefulSet db failed error: [pvc data-db-0 is being deleted, pvc log-db-0 is being deleted]"
	if !slices.ContainsFunc(b.Events, func(e *trace.Event) bool {
		p, ok := e.Payload.(*trace.KubeEvent)
		return ok && e.Kind == trace.EventRecorded && p.Reason == "FailedCreate" && p.Message == want
	}) {
		t.Errorf("no Event FailedCreate: %s\n%s", want, b.Transcript(trace.EventRecorded))
	}
}

// A set that is being deleted cannot adopt revisions of nobody, and comes no further, as with upstream: neither
// its status nor another revision is written.
func TestCannotAdoptWhileItGoes(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		set := db(1, "db:1")
		set.Finalizers, set.DeletionTimestamp = []string{"orphan"}, &metav1.Time{Time: t.Now()}
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
		clienttest.Must(client.Create(t, c, client.ControllerRevisions, "demo", &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: "db-old", Labels: set.Spec.Template.Labels}, Revision: 1,
		}))
		start(b)
		t.Sleep(time.Second)
	})
	if n := b.Requests["create controllerrevisions"] + b.Requests["update statefulsets"]; n != 1 { // that of the test
		t.Errorf("%d writes more than the test's", n-1)
	}
	if !strings.Contains(b.Transcript(trace.ReconcileEnd), "has just been deleted") {
		t.Errorf("it does not say why:\n%s", b.Transcript(trace.ReconcileEnd))
	}
}

// In a namespace that is being deleted it tries again and again, as upstream's does.
func TestTriesAgainWhereNothingCanBeMade(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", db(1, "db:1")))
		clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "demo", Finalizers: []string{"example.com/hold"}, DeletionTimestamp: &metav1.Time{Time: t.Now()},
		}}))
		start(b)
		t.Sleep(5 * time.Second)
	})
	if n := b.Requests["create controllerrevisions"]; n < 5 {
		t.Errorf("tried %d times", n)
	}
}
