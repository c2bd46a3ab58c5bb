package serviceaccount_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/serviceaccount"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	serviceaccount.New(reconcile.NewEnv(p, serviceaccount.Name, serviceaccount.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// Every active namespace has the account default, also after somebody deletes it
// or the server has been away.
func TestEveryNamespaceHasItsAccount(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody deletes it")
		_ = c.Delete(t, client.ServiceAccounts, "default", serviceaccount.Default, metav1.DeleteOptions{})
		t.Sleep(time.Second)
		clienttest.Note(t, "a namespace comes while the controller's watches are gone, and history is compacted")
		b.EndWatches()
		clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
		b.Compact()
		t.Sleep(time.Minute)
		clienttest.Note(t, "another account is nobody's business; neither is one of a namespace that is going")
		_ = c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{})
		_ = c.Delete(t, client.ServiceAccounts, "demo", serviceaccount.Default, metav1.DeleteOptions{})
		clienttest.Must(client.Create(t, c, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}))
		_ = c.Delete(t, client.ServiceAccounts, "default", "robot", metav1.DeleteOptions{})
		t.Sleep(time.Minute)
	})
	if got := b.Objects(client.ServiceAccounts); len(got) != 1 || informer.KeyOf(got[0]) != "default/default" {
		t.Errorf("accounts: %v", got)
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
