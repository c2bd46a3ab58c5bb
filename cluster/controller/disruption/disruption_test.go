package disruption_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/disruption"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var story = []trace.Kind{trace.ReconcileAction, trace.EventRecorded, trace.CommandStart}

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	disruption.New(reconcile.NewEnv(p, disruption.Name, disruption.Source, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// startSets runs the ReplicaSet controller.
func startSets(b *clienttest.Bench) {
	p := b.Kernel.NewProcess(trace.Lane{Component: "sets"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	replicaset.New(reconcile.NewEnv(p, replicaset.Name, replicaset.Name, b.Client(), f, 1)).Start()
	f.Start()
}

var labels = map[string]string{"app": "web"}

func web(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}},
		},
	}
}

func budget(least intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
}

// A budget from its first pods on: an eviction is noted and seen, one is noted and does
// not happen, pods come along that belong to nobody, and to nobody knows what.
func TestCountsWhatEvictionsMayTake(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1"}, Start: 2 * time.Second, Stop: time.Second}).Run(t.Process(), c)
		startSets(b)
		start(b)
		clienttest.Note(t, "half of web is to be available; there is no web yet")
		clienttest.Must(client.Create(t, c, client.PodDisruptionBudgets, "demo", budget(intstr.FromString("50%"))))
		t.Sleep(time.Second)
		clienttest.Note(t, "web with three replicas")
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(3)))
		t.Sleep(10 * time.Second)
		note := func(evict bool) {
			pod := b.Objects(client.Pods)[0].(*corev1.Pod)
			pdb := clienttest.Must(client.Get[*policyv1.PodDisruptionBudget](t, c, client.PodDisruptionBudgets, "demo", "web"))
			pdb.Status.DisruptionsAllowed--
			pdb.Status.DisruptedPods = map[string]metav1.Time{pod.Name: client.Now(t)}
			clienttest.Must(client.UpdateStatus(t, c, client.PodDisruptionBudgets, "demo", pdb))
			pod = pod.DeepCopy()
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: client.Now(t)})
			clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", pod))
			if evict {
				clienttest.Must(0, c.Delete(t, client.Pods, "demo", pod.Name, metav1.DeleteOptions{}))
			}
		}
		clienttest.Note(t, "a pod is evicted")
		note(true)
		t.Sleep(30 * time.Second)
		clienttest.Note(t, "an eviction is granted, and the pod is not deleted")
		note(false)
		t.Sleep(3 * time.Minute)
		clienttest.Note(t, "a pod without an owner, which the selector matches")
		bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "bare", Labels: labels}}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", bare))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "another, whose owner is of a kind that nobody knows")
		bare = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "strange", Labels: labels}}
		bare.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "w", UID: "w"}, client.Jobs.GroupVersion().WithKind("Widget"))}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", bare))
		t.Sleep(10 * time.Second)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(story...))
}

// Whatever happens, and whenever the controller is killed, the status is in the end what
// there is.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 15).Draw(r, "ops")
		want := int32(3)
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			(&clienttest.Nodes{Names: []string{"node-1"}, Start: 300 * time.Millisecond, Stop: 500 * time.Millisecond}).Run(t.Process(), c)
			startSets(b)
			p := start(b)
			clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(want)))
			clienttest.Must(client.Create(t, c, client.PodDisruptionBudgets, "demo", budget(intstr.FromString("40%"))))
			for n, op := range ops {
				switch op {
				case 0, 1:
					want = int32((n*5 + op) % 6)
					rs := clienttest.Must(client.Get[*appsv1.ReplicaSet](t, c, client.ReplicaSets, "demo", "web"))
					rs.ResourceVersion, rs.Spec.Replicas = "", &want
					clienttest.Must(client.Update(t, c, client.ReplicaSets, "demo", rs))
				case 2:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", pods[n%len(pods)].(*corev1.Pod).Name, metav1.DeleteOptions{})
					}
				case 3:
					p.Kill()
					p = start(b)
				case 4:
					b.EndWatchesOf(client.PodDisruptionBudgets)
				case 5:
					b.Compact()
				default:
					t.Sleep(time.Duration(n) * 50 * time.Millisecond)
				}
			}
			t.Sleep(10 * time.Minute)
		})
		st := b.Object(client.PodDisruptionBudgets, "demo", "web").(*policyv1.PodDisruptionBudget).Status
		got := fmt.Sprint(st.ExpectedPods, st.CurrentHealthy, st.DesiredHealthy, st.DisruptionsAllowed, len(st.DisruptedPods))
		least := (want*4 + 9) / 10
		if w := fmt.Sprint(want, want, least, want-least, 0); got != w {
			r.Fatalf("expected, healthy, desired, allowed, noted: got %s, want %s", got, w)
		}
	})
}
