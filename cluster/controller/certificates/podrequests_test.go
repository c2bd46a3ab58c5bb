package certificates

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A pod's request is deleted at the first look after it has become 15 minutes old.
func TestPodRequestsGoWhenTheyAreOld(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		NewPodCleaner(reconcile.NewEnv(p, PodCleaner, PodCleaner, c, f, 1)).Start()
		f.Start()
		for _, name := range []string{"first", "second"} {
			clienttest.Note(t, "a pod asks for a certificate")
			clienttest.Must(client.Create(t, c, client.PodCertificateRequests, "demo", &certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}))
			t.Sleep(7 * time.Minute)
		}
		t.Sleep(time.Hour)
	})
	clienttest.Golden(t, "podrequests.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	if n := len(b.Objects(client.PodCertificateRequests)); n > 0 {
		t.Errorf("%d requests are left", n)
	}
}
