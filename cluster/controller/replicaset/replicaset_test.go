package replicaset_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var story = []trace.Kind{trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart}

func web(replicas int32) *appsv1.ReplicaSet {
	set := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}},
		},
	}
}

func start(b *clienttest.Bench, workers int) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	replicaset.New(reconcile.NewEnv(p, replicaset.Name, replicaset.Name, b.Client(), f, workers)).Start()
	f.Start()
	return p
}

func scale(t *sim.Task, c client.Interface, n int32) {
	rs := clienttest.Must(client.Get[*appsv1.ReplicaSet](t, c, client.ReplicaSets, "demo", "web"))
	rs.Spec.Replicas = &n
	clienttest.Must(client.Update(t, c, client.ReplicaSets, "demo", rs))
}

func TestReplicaSetKeepsItsNumber(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1", "node-2"}, Start: 2 * time.Second, Stop: 5 * time.Second}).Run(t.Process(), c)
		start(b, 1)
		clienttest.Note(t, "create web with 5 replicas")
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(5)))
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "delete one pod")
		pod := b.Objects(client.Pods)[0].(*corev1.Pod)
		_ = c.Delete(t, client.Pods, "demo", pod.Name, metav1.DeleteOptions{})
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "scale to 2")
		scale(t, c, 2)
		t.Sleep(20 * time.Second)
	})
	clienttest.Golden(t, "keeps-its-number.txt", b.Transcript(story...))
}

func TestOrphanIsAdoptedAndStrangerReleased(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1"}, Start: time.Second, Stop: time.Second}).Run(t.Process(), c)
		clienttest.Note(t, "a pod with the right label exists before the ReplicaSet")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "lonely", Labels: map[string]string{"app": "web"}}}))
		start(b, 1)
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(2)))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "kubectl label pod lonely app=other --overwrite")
		pod := clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", "lonely"))
		pod.Labels["app"] = "other"
		clienttest.Must(client.Update(t, c, client.Pods, "demo", pod))
		t.Sleep(10 * time.Second)
	})
	clienttest.Golden(t, "adopt-and-release.txt", b.Transcript(story...))
	if pod := b.Object(client.Pods, "demo", "lonely").(*corev1.Pod); len(pod.OwnerReferences) != 0 {
		t.Errorf("lonely still has owners %v", pod.OwnerReferences)
	}
}

func TestRefusedPodsAreTriedSlowly(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		b.Refuse = func(verb string, r client.Resource, _, _ string) error {
			if verb == "create" && r == client.Pods && t.Elapsed() < 200*time.Millisecond {
				return errors.New("pods \"web-\" is forbidden: exceeded quota: tiny")
			}
			return nil
		}
		start(b, 1)
		clienttest.Must(client.Create(t, b.Client(), client.ReplicaSets, "demo", web(8)))
		t.Sleep(10 * time.Second)
	})
	clienttest.Golden(t, "quota.txt", b.Transcript(append(story, trace.ReconcileEnd)...))
	if n := len(b.Objects(client.Pods)); n != 8 {
		t.Errorf("%d pods at the end, want 8", n)
	}
}

func TestMinReadySecondsDelaysAvailability(t *testing.T) {
	var avail []string
	clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1"}, Start: time.Second}).Run(t.Process(), c)
		start(b, 1)
		rs := web(1)
		rs.Spec.MinReadySeconds = 30
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", rs))
		for _, at := range []time.Duration{5, 30, 33} {
			t.SleepUntil(b.Kernel.Epoch().Add(at * time.Second))
			st := b.Object(client.ReplicaSets, "demo", "web").(*appsv1.ReplicaSet).Status
			avail = append(avail, fmt.Sprintf("%ds ready %d available %d", at, st.ReadyReplicas, st.AvailableReplicas))
		}
	})
	want := []string{"5s ready 1 available 0", "30s ready 1 available 0", "33s ready 1 available 1"}
	if !slices.Equal(avail, want) {
		t.Errorf("got %q, want %q", avail, want)
	}
}

// Level-triggered: whatever happens, in whatever order, with lost watches and
// lost history, and the controller killed and started again, the pods end up as
// many as asked for; and never more than the most that was ever asked for exist
// as active replicas.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 25).Draw(r, "ops")
		want := int32(0)
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			(&clienttest.Nodes{Names: []string{"node-1", "node-2"}, Start: 300 * time.Millisecond, Stop: 500 * time.Millisecond}).Run(t.Process(), c)
			p := start(b, 2)
			want = 3
			clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(want)))
			for n, op := range ops {
				switch op {
				case 0, 1, 2:
					want = int32((n*7 + op) % 6)
					for tries := 0; ; tries++ { // conflicts with status updates
						rs := clienttest.Must(client.Get[*appsv1.ReplicaSet](t, c, client.ReplicaSets, "demo", "web"))
						rs.Spec.Replicas = &want
						if _, err := client.Update(t, c, client.ReplicaSets, "demo", rs); err == nil {
							break
						}
					}
				case 3, 4:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", informerName(pods[n%len(pods)]), metav1.DeleteOptions{})
					}
				case 5:
					endInformerWatches(b)
				case 6:
					p.Kill()
					p = start(b, 2)
				case 7:
					b.Compact()
				default:
					t.Sleep(time.Duration(op) * 50 * time.Millisecond)
				}
			}
			t.Sleep(10 * time.Minute)
		})
		active := 0
		for _, o := range b.Objects(client.Pods) {
			if o.(*corev1.Pod).DeletionTimestamp == nil {
				active++
			}
		}
		st := b.Object(client.ReplicaSets, "demo", "web").(*appsv1.ReplicaSet).Status
		if active != int(want) || st.Replicas != want || st.ReadyReplicas != want {
			r.Fatalf("want %d, active %d, status %+v", want, active, st)
		}
	})
}

func informerName(o any) string { return o.(*corev1.Pod).Name }

// endInformerWatches ends the watches on ReplicaSets, as a server does now and
// then (the pods' watch also feeds the nodes of the test).
func endInformerWatches(b *clienttest.Bench) { b.EndWatchesOf(client.ReplicaSets) }
