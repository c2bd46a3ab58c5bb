package controller_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
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
		clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
		t.Sleep(5 * time.Second)
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "held", Finalizers: []string{"example.com/hold"}}}
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", held))
		grace := int64(30)
		clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &grace}}))
		t.Sleep(5 * time.Second)
		clienttest.Must(0, c.Delete(t, client.Namespaces, "", "demo", metav1.DeleteOptions{}))
		t.Sleep(40 * time.Second)
		cm := clienttest.Must(client.Get[*corev1.ConfigMap](t, c, client.ConfigMaps, "demo", "held"))
		cm.Finalizers = nil
		clienttest.Must(client.Update(t, c, client.ConfigMaps, "demo", cm))
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

// node makes a node with a Lease that is renewed every 10 s while alive says so.
func node(b *clienttest.Bench, t *sim.Task, name string, alive func() bool) {
	c := b.Client()
	clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(t.Now())}},
	}}))
	t.Process().Go("kubelet-"+name, func(t *sim.Task) {
		now := metav1.NewMicroTime(t.Now())
		lease := clienttest.Must(client.Create(t, c, client.Leases, corev1.NamespaceNodeLease, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &now},
		}))
		for {
			t.Sleep(10 * time.Second)
			if !alive() {
				continue
			}
			n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name))
			if ready := &n.Status.Conditions[0]; ready.Status != corev1.ConditionTrue {
				ready.Status, ready.LastHeartbeatTime = corev1.ConditionTrue, metav1.NewTime(t.Now())
				clienttest.Must(client.UpdateStatus(t, c, client.Nodes, "", n))
			}
			now := metav1.NewMicroTime(t.Now())
			lease.Spec.RenewTime = &now
			lease = clienttest.Must(client.Update(t, c, client.Leases, corev1.NamespaceNodeLease, lease))
		}
	})
}

// decisions is what the controllers decided about nodes and pods.
func decisions(b *clienttest.Bench, lanes ...string) string {
	var out strings.Builder
	for _, line := range strings.SplitAfter(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.NodeStatus, trace.CommandStart), "\n") {
		for _, lane := range append(lanes, "test ") {
			if strings.Contains(line, lane) {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}

// A node falls silent: 50 s until Unknown, 300 s of toleration, then its pods
// are deleted in the API; one comes back in time; the last is removed for good.
func TestDeathOfANode(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b, "a")
		dead := map[string]bool{}
		for _, name := range []string{"node-1", "node-2", "node-3"} {
			node(b, t, name, func() bool { return !dead[name] })
		}
		limit := int64(300)
		pod := func(name, on string, tolerations ...corev1.Toleration) {
			clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{NodeName: on, Tolerations: tolerations},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}))
		}
		unreachable := corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		limited := unreachable
		limited.TolerationSeconds = &limit
		pod("plain", "node-2")
		pod("usual", "node-2", limited)
		pod("daemon", "node-2", unreachable)
		pod("other", "node-3", limited)
		t.Sleep(60 * time.Second)
		clienttest.Note(t, "node-2 and node-3 fall silent")
		dead["node-2"], dead["node-3"] = true, true
		t.Sleep(2 * time.Minute)
		clienttest.Note(t, "node-3 is back")
		dead["node-3"] = false
		t.Sleep(5 * time.Minute)
		clienttest.Note(t, "kubectl delete node node-2")
		clienttest.Must(0, c.Delete(t, client.Nodes, "", "node-2", metav1.DeleteOptions{}))
		t.Sleep(2 * time.Minute)
	})
	clienttest.Golden(t, "node-death.txt", decisions(b, "node-lifecycle", "taint-eviction", "pod-garbage"))
}

// When every node falls silent at once, the controller trusts itself least:
// nothing is evicted.
func TestAllNodesSilentEvictsNothing(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		start(b, "a")
		silent := false
		for _, name := range []string{"node-1", "node-2"} {
			node(b, t, name, func() bool { return !silent })
		}
		t.Sleep(time.Minute)
		clienttest.Note(t, "all nodes fall silent")
		silent = true
		t.Sleep(5 * time.Minute)
		clienttest.Note(t, "all nodes are back")
		silent = false
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "all-silent.txt", decisions(b, "node-lifecycle"))
}
