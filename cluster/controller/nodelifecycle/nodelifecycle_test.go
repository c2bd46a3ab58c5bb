package nodelifecycle_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/nodelifecycle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	nodelifecycle.New(reconcile.NewEnv(p, nodelifecycle.Name, nodelifecycle.Source, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// kubelet renews a node's Lease every 10 s while alive says so.
func kubelet(b *clienttest.Bench, node string, alive *bool) {
	b.Kernel.NewProcess(trace.Lane{Component: "kubelet", Instance: node}).Go("lease", func(t *sim.Task) {
		c := b.Client()
		lease := clienttest.Must(client.Create(t, c, client.Leases, "kube-node-lease", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}}))
		for {
			if *alive {
				now := metav1.NewMicroTime(t.Now())
				lease.Spec.RenewTime = &now
				lease = clienttest.Must(client.Update(t, c, client.Leases, "kube-node-lease", lease))
			}
			t.Sleep(10 * time.Second)
		}
	})
}

// A node falls silent: its conditions become Unknown, its pods not ready, and
// the taints come; it speaks again, and its kubelet puts right what it said.
func TestANodeFallsSilentAndSpeaksAgain(t *testing.T) {
	alive := map[string]*bool{}
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		for _, n := range []string{"node-1", "node-2", "node-3"} {
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n},
				Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(t.Now())}}},
			}))
			clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "on-" + n}, Spec: corev1.PodSpec{NodeName: n},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}))
			yes := true
			alive[n] = &yes
			kubelet(b, n, &yes)
		}
		start(b)
		t.Sleep(2 * time.Minute)
		clienttest.Note(t, "node-2 falls silent")
		*alive["node-2"] = false
		t.Sleep(2 * time.Minute)
		clienttest.Note(t, "it speaks again")
		*alive["node-2"] = true
		n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", "node-2"))
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].Status = corev1.ConditionTrue
		}
		n.Status.Conditions = n.Status.Conditions[:1]
		clienttest.Must(client.UpdateStatus(t, c, client.Nodes, "", n))
		t.Sleep(2 * time.Minute)
	})
	for _, o := range b.Objects(client.Nodes) {
		if n := o.(*corev1.Node); len(n.Spec.Taints) > 0 {
			t.Errorf("%s is tainted still: %v", n.Name, n.Spec.Taints)
		}
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.NodeStatus, trace.CommandStart))
}

// Every node is silent at once: it is more likely that the controller cannot
// see, so nobody is tainted so that its pods go.
func TestABlindControllerEvictsNobody(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		alive := true
		for _, n := range []string{"node-1", "node-2", "node-3"} {
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n},
				Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(t.Now())}}},
			}))
			kubelet(b, n, &alive)
		}
		start(b)
		t.Sleep(2 * time.Minute)
		alive = false
		t.Sleep(10 * time.Minute)
	})
	for _, o := range b.Objects(client.Nodes) {
		for _, taint := range o.(*corev1.Node).Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute {
				t.Errorf("%s is tainted %s", o.(*corev1.Node).Name, taint.ToString())
			}
		}
	}
}
