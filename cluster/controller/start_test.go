package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench, instance string) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM, Instance: instance})
	controller.Start(p, b.Client(), controller.Config{Identity: "copy-" + instance, RootCA: "PEM"})
	return p
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Of two copies one works; when it dies the other takes over once the Lease has
// run out; one that is cut off from the API server ends itself before that.
func TestOneCopyWorks(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		a := start(b, "a")
		start(b, "b")
		t.Sleep(10 * time.Second)
		a.Kill()
		t.Sleep(30 * time.Second)
		b.SetDown(true)
		t.Sleep(time.Minute)
		b.SetDown(false)
		start(b, "c")
		t.Sleep(30 * time.Second)
	})
	clienttest.Golden(t, "election.txt", b.Transcript(trace.LeaderElected))
}

// A namespace is born with its ServiceAccount and certificate, and dies with all
// that is in it, pods first.
func TestLifeOfANamespace(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1"}, Start: time.Second, Stop: 3 * time.Second}).Run(t.Process(), c)
		start(b, "a")
		must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
		t.Sleep(5 * time.Second)
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "held", Finalizers: []string{"example.com/hold"}}}
		must(client.Create(t, c, client.ConfigMaps, "demo", held))
		grace := int64(30)
		must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &grace}}))
		t.Sleep(5 * time.Second)
		must(0, c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{}))
		t.Sleep(40 * time.Second)
		cm := must(client.Get[*corev1.ConfigMap](t, c, client.ConfigMaps, "demo", "held"))
		cm.Finalizers = nil
		must(client.Update(t, c, client.ConfigMaps, "demo", cm))
		t.Sleep(40 * time.Second)
	})
	var out strings.Builder
	for _, line := range strings.SplitAfter(b.Transcript(trace.ReconcileAction), "\n") {
		if strings.Contains(line, "Namespace demo:") {
			out.WriteString(line)
		}
	}
	clienttest.Golden(t, "namespace.txt", out.String())
	if b.Object(client.Namespaces, "", "demo") != nil {
		t.Error("the namespace is still there")
	}
}
