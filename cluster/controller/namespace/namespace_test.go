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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func note(t *sim.Task, line string) {
	t.Emit(trace.Event{Kind: trace.CommandStart, Object: trace.Ref{Kind: "#", Name: line}})
}

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
		must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
		must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "slow"}, Spec: corev1.PodSpec{NodeName: "node-1", TerminationGracePeriodSeconds: &grace},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}))
		must(client.Create(t, c, client.ConfigMaps, "demo", configMap("plain")))
		must(client.Create(t, c, client.ConfigMaps, "demo", configMap("held", "example.com/hold")))
		note(t, "kubectl delete namespace demo")
		_ = c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{})
		t.Sleep(15 * time.Second)
		_, err := c.Create(t, client.ConfigMaps, "demo", configMap("late"))
		note(t, "nothing new can be made: "+err.Error())
		note(t, "the kubelet has ended the pod")
		zero := int64(0)
		_ = c.Delete(t, client.Pods, "demo", "slow", metav1.DeleteOptions{GracePeriodSeconds: &zero})
		t.Sleep(40 * time.Second)
		for _, cond := range must(client.Get[*corev1.Namespace](t, c, client.Namespaces, "", "demo")).Status.Conditions {
			if cond.Status == corev1.ConditionTrue {
				note(t, string(cond.Type)+": "+cond.Message)
			}
		}
		note(t, "the finalizer is taken away")
		held := must(client.Get[*corev1.ConfigMap](t, c, client.ConfigMaps, "demo", "held"))
		held.Finalizers = nil
		must(client.Update(t, c, client.ConfigMaps, "demo", held))
		t.Sleep(time.Minute)
	})
	if left := b.Objects(client.Namespaces); len(left) > 0 {
		t.Errorf("the namespace is still there: %v", left)
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
