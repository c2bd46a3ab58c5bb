package podgc_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/podgc"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	podgc.New(reconcile.NewEnv(p, podgc.Name, podgc.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func pod(name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
}

// The pods that no kubelet will ever remove: of a node that is gone for 40 s, of
// one that is out of service. A node that comes back in time keeps its pods.
func TestPodsThatNobodyElseRemoves(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		for _, n := range []string{"node-1", "node-2", "node-3"} {
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}}))
			clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("on-"+n, n, corev1.PodRunning)))
		}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("ended", "node-1", corev1.PodSucceeded)))
		t.Sleep(time.Minute)
		clienttest.Note(t, "node-1 and node-2 are deleted; node-2 comes back after half a minute")
		_ = c.Delete(t, client.Nodes, "", "node-1", metav1.DeleteOptions{})
		_ = c.Delete(t, client.Nodes, "", "node-2", metav1.DeleteOptions{})
		t.Sleep(30 * time.Second)
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}))
		t.Sleep(2 * time.Minute)
		clienttest.Note(t, "the pod of node-3 is deleted, but its kubelet is dead; an administrator says so")
		_ = c.Delete(t, client.Pods, "demo", "on-node-3", metav1.DeleteOptions{})
		t.Sleep(2 * time.Minute)
		n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", "node-3"))
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
		clienttest.Must(client.Update(t, c, client.Nodes, "", n))
		t.Sleep(time.Minute)
	})
	var left []string
	for _, o := range b.Objects(client.Pods) {
		left = append(left, o.(*corev1.Pod).Name)
	}
	if len(left) != 1 || left[0] != "on-node-2" {
		t.Errorf("left: %v", left)
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
}
