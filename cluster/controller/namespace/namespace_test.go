package namespace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/namespace"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	namespace.New(reconcile.NewEnv(p, namespace.Name, namespace.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func configMap(name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Finalizers: finalizers}}
}

// A namespace goes when it is empty: its pods first, in their own time, then the
// rest; and what has a finalizer holds it until somebody takes that away.
func TestANamespaceIsEmptiedAndLetGo(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		grace := int64(20)
		clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "slow"}, Spec: corev1.PodSpec{NodeName: "node-1", TerminationGracePeriodSeconds: &grace},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}))
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", configMap("plain")))
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", configMap("held", "example.com/hold")))
		clienttest.Note(t, "kubectl delete namespace demo")
		_ = c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{})
		t.Sleep(15 * time.Second)
		_, err := c.Create(t, client.ConfigMaps, "demo", configMap("late"))
		clienttest.Note(t, "nothing new can be made: "+err.Error())
		clienttest.Note(t, "the kubelet has ended the pod")
		zero := int64(0)
		_ = c.Delete(t, client.Pods, "demo", "slow", metav1.DeleteOptions{GracePeriodSeconds: &zero})
		t.Sleep(40 * time.Second)
		for _, cond := range clienttest.Must(client.Get[*corev1.Namespace](t, c, client.Namespaces, "", "demo")).Status.Conditions {
			if cond.Status == corev1.ConditionTrue {
				clienttest.Note(t, string(cond.Type)+": "+cond.Message)
			}
		}
		clienttest.Note(t, "the finalizer is taken away")
		held := clienttest.Must(client.Get[*corev1.ConfigMap](t, c, client.ConfigMaps, "demo", "held"))
		held.Finalizers = nil
		clienttest.Must(client.Update(t, c, client.ConfigMaps, "demo", held))
		t.Sleep(time.Minute)
	})
	if left := b.Objects(client.Namespaces); len(left) > 0 {
		t.Errorf("the namespace is still there: %v", left)
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
