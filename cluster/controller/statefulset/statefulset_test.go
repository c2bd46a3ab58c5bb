package statefulset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/statefulset"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// db has a claim for each pod.
func db(replicas int32, image string) *appsv1.StatefulSet {
	set := map[string]string{"app": "db"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: set}, ServiceName: "db", RevisionHistoryLimit: ptr.To[int32](10),
			PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type:          appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)},
			},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
}

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	statefulset.New(reconcile.NewEnv(p, statefulset.Name, statefulset.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func world(b *clienttest.Bench, t *sim.Task) *sim.Process {
	(&clienttest.Nodes{Names: []string{"node-1", "node-2"}, Start: 2 * time.Second, Stop: time.Second}).Run(t.Process(), b.Client())
	return start(b)
}

// change updates the StatefulSet, again and again on conflicts.
func change(t *sim.Task, c client.Interface, fn func(*appsv1.StatefulSet)) {
	for {
		set := clienttest.Must(client.Get[*appsv1.StatefulSet](t, c, client.StatefulSets, "demo", "db"))
		fn(set)
		if _, err := client.Update(t, c, client.StatefulSets, "demo", set); err == nil {
			return
		}
	}
}

// story is what the controller decided and recorded, and what there is at the end.
func story(b *clienttest.Bench) string {
	var out strings.Builder
	out.WriteString(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart))
	for _, o := range b.Objects(client.ControllerRevisions) {
		rev := o.(*appsv1.ControllerRevision)
		fmt.Fprintf(&out, "ControllerRevision %s: revision %d\n", rev.Name, rev.Revision)
	}
	for _, o := range b.Objects(client.PersistentVolumeClaims) {
		claim := o.(*corev1.PersistentVolumeClaim)
		fmt.Fprintf(&out, "PersistentVolumeClaim %s, owners:", claim.Name)
		for _, ref := range claim.OwnerReferences {
			fmt.Fprintf(&out, " %s %s", ref.Kind, ref.Name)
		}
		out.WriteString("\n")
	}
	for _, o := range b.Objects(client.Pods) {
		pod := o.(*corev1.Pod)
		fmt.Fprintf(&out, "Pod %s: %s, revision %s\n", pod.Name, pod.Spec.Containers[0].Image, pod.Labels[appsv1.StatefulSetRevisionLabel])
	}
	return out.String()
}

func TestOneAfterTheOther(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		world(b, t)
		clienttest.Note(t, "create db, 3 replicas of db:1, whenScaled Delete")
		set := db(3, "db:1")
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "kubectl set image statefulset/db c=db:2, with partition 1")
		change(t, c, func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Image = "db:2"
			s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](1)
		})
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "delete db-0: below the partition it comes back as it was")
		_ = c.Delete(t, client.Pods, "demo", "db-0", metav1.DeleteOptions{})
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "partition 0")
		change(t, c, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](0) })
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "scale to 1")
		change(t, c, func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](1) })
		t.Sleep(20 * time.Second)
	})
	clienttest.Golden(t, "one-after-the-other.txt", story(b))
}

func TestParallelAndUndo(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		world(b, t)
		clienttest.Note(t, "create db, 3 replicas of db:1, Parallel, no claims, one revision to remember")
		set := db(3, "db:1")
		set.Spec.PodManagementPolicy, set.Spec.VolumeClaimTemplates, set.Spec.RevisionHistoryLimit = appsv1.ParallelPodManagement, nil, ptr.To[int32](1)
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
		t.Sleep(20 * time.Second)
		for _, image := range []string{"broken:2", "db:1", "db:3"} {
			clienttest.Note(t, "kubectl set image statefulset/db c="+image)
			change(t, c, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = image })
			t.Sleep(20 * time.Second)
		}
	})
	clienttest.Golden(t, "parallel-and-undo.txt", story(b))
}

// A broken image stops everything, also what would mend it: Kubernetes' users know it as
// forced rollback.
func TestBrokenPodHasToBeDeleted(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		world(b, t)
		set := db(2, "broken:1")
		set.Spec.VolumeClaimTemplates = nil
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "kubectl set image statefulset/db c=db:2: db-0 is not available, so nothing happens")
		change(t, c, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "db:2" })
		t.Sleep(time.Minute)
		clienttest.Note(t, "kubectl delete pod db-0")
		_ = c.Delete(t, client.Pods, "demo", "db-0", metav1.DeleteOptions{})
		t.Sleep(30 * time.Second)
	})
	clienttest.Golden(t, "broken.txt", story(b))
}

// It takes pods of nobody that have a name it would give, and lets go of those whose labels
// no longer match.
func TestAdoptsByName(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		orphan := func(name string) *corev1.Pod {
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{"app": "db"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "db:1"}}},
			}
		}
		world(b, t)
		clienttest.Note(t, "db-0 and a pod called other, both with the label, exist before db")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", orphan("db-0")))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", orphan("other")))
		clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", db(2, "db:1")))
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "kubectl label pod db-1 app=other --overwrite")
		pod := clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", "db-1"))
		pod.Labels["app"] = "other"
		clienttest.Must(client.Update(t, c, client.Pods, "demo", pod))
		t.Sleep(5 * time.Second)
	})
	clienttest.Golden(t, "adopt.txt", story(b))
}

// Through any sequence of updates, scalings, deletions of pods and restarts of the
// controller: in the end there are the pods of the set's ordinals, all of the last template.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 15).Draw(r, "ops")
		policy := rapid.SampledFrom([]appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}).Draw(r, "policy")
		want, image := int32(3), "db:0"
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			p := world(b, t)
			set := db(want, image)
			set.Spec.PodManagementPolicy = policy
			clienttest.Must(client.Create(t, c, client.StatefulSets, "demo", set))
			for n, op := range ops {
				switch op {
				case 0, 1:
					image = fmt.Sprintf("db:%d", (n+op)%3)
					change(t, c, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = image })
				case 2, 3:
					want = int32((n*5 + op) % 6)
					change(t, c, func(s *appsv1.StatefulSet) { s.Spec.Replicas = &want })
				case 4:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", pods[n%len(pods)].(*corev1.Pod).Name, metav1.DeleteOptions{})
					}
				case 5:
					p.Kill()
					p = start(b)
				case 6:
					b.EndWatchesOf(client.StatefulSets)
				default:
					t.Sleep(time.Duration(op-6) * 700 * time.Millisecond)
				}
			}
			t.Sleep(30 * time.Minute)
		})
		pods := b.Objects(client.Pods)
		for i, o := range pods {
			if pod := o.(*corev1.Pod); pod.Name != fmt.Sprintf("db-%d", i) || pod.Spec.Containers[0].Image != image {
				r.Fatalf("pod %d is %s with %s, want %s", i, pod.Name, pod.Spec.Containers[0].Image, image)
			}
		}
		st := b.Object(client.StatefulSets, "demo", "db").(*appsv1.StatefulSet).Status
		if len(pods) != int(want) || st.AvailableReplicas != want || st.UpdatedReplicas != want || st.CurrentRevision != st.UpdateRevision {
			r.Fatalf("want %d, %d pods, status %+v", want, len(pods), st)
		}
	})
}
