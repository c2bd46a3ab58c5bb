package rootca_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/rootca"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	rootca.New(reconcile.NewEnv(p, rootca.Name, rootca.Name, b.Client(), f, 1), "CERTIFICATE").Start()
	f.Start()
	return p
}

// Every namespace has the certificate, and gets it again when somebody changes or deletes it. One
// that is being deleted does not.
func TestEveryNamespaceHasTheCertificate(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		for _, ns := range []string{"default", "demo"} {
			clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
		}
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody writes something else into it")
		cm := clienttest.Must(client.Get[*corev1.ConfigMap](t, c, client.ConfigMaps, "demo", rootca.ConfigMap))
		cm.Data["ca.crt"] = "FORGED"
		clienttest.Must(client.Update(t, c, client.ConfigMaps, "demo", cm))
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody deletes it")
		_ = c.Delete(t, client.ConfigMaps, "default", rootca.ConfigMap, metav1.DeleteOptions{})
		t.Sleep(time.Second)
		clienttest.Note(t, "a namespace is going, and its ConfigMap is deleted")
		_ = c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{})
		_ = c.Delete(t, client.ConfigMaps, "demo", rootca.ConfigMap, metav1.DeleteOptions{})
		t.Sleep(time.Minute)
	})
	for _, o := range b.Objects(client.ConfigMaps) {
		if cm := o.(*corev1.ConfigMap); cm.Namespace != "default" || cm.Data["ca.crt"] != "CERTIFICATE" {
			t.Errorf("%s holds %v", informer.KeyOf(cm), cm.Data)
		}
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
