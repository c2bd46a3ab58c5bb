package tainteviction_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/tainteviction"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	tainteviction.New(reconcile.NewEnv(p, tainteviction.Name, tainteviction.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func seconds(n int64) *int64 { return &n }

func pod(name, node string, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{NodeName: node, Tolerations: tolerations},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func tolerate(limit *int64) corev1.Toleration {
	return corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: limit}
}

func taint(t *sim.Task, c client.Interface, name string, taints ...corev1.Taint) {
	n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name))
	n.Spec.Taints = taints
	clienttest.Must(client.Update(t, c, client.Nodes, "", n))
}

// Pods on a tainted node go at once, after the time they tolerate the taint, or
// never; a taint that goes in time takes the plan along.
func TestPodsGoWhenTheirTolerationIsOver(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		silent := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
		for _, n := range []string{"node-1", "node-2"} {
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}}))
		}
		for _, p := range []*corev1.Pod{
			pod("none", "node-1"), pod("five-minutes", "node-1", tolerate(seconds(300))), pod("for-ever", "node-1", tolerate(nil)),
			pod("two", "node-1", tolerate(seconds(300)), tolerate(seconds(60))), pod("elsewhere", "node-2"),
		} {
			clienttest.Must(client.Create(t, c, client.Pods, "demo", p))
		}
		t.Sleep(time.Second)
		clienttest.Note(t, "node-1 is tainted")
		taint(t, c, "node-1", silent)
		t.Sleep(30 * time.Second)
		clienttest.Note(t, "the taint is gone before the minute is over")
		taint(t, c, "node-1")
		t.Sleep(10 * time.Minute)
		clienttest.Note(t, "it is tainted again, for good; a pod comes to it later")
		taint(t, c, "node-1", silent, corev1.Taint{Key: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule})
		t.Sleep(2 * time.Minute)
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("late", "node-1")))
		t.Sleep(10 * time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart))
}
