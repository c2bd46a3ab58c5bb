package daemonset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/daemonset"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

func agent(image string) *appsv1.DaemonSet {
	set := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: set}, RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(0))},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}},
		},
	}
}

func surging(image string) *appsv1.DaemonSet {
	ds := agent(image)
	ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(2))}
	return ds
}

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	daemonset.New(reconcile.NewEnv(p, daemonset.Name, daemonset.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// world is a server with three nodes, of which the last has a taint.
func world(b *clienttest.Bench, t *sim.Task) *sim.Process {
	for i := range 3 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i+1)}}
		if i == 2 {
			node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		}
		clienttest.Must(client.Create(t, b.Client(), client.Nodes, "", node))
	}
	t.Process().Go("nodes", func(t *sim.Task) { nodes(t, b) })
	return start(b)
}

// nodes puts each pod where its affinity says, makes it ready and ends it.
func nodes(t *sim.Task, b *clienttest.Bench) {
	c := b.Client()
	for ; ; t.Sleep(time.Second) {
		for _, o := range b.Objects(client.Pods) {
			pod := o.(*corev1.Pod).DeepCopy()
			switch {
			case pod.DeletionTimestamp != nil:
				_ = c.Delete(t, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
			case pod.Spec.NodeName == "":
				node := clienttest.Must(util.GetTargetNodeName(pod))
				_, _ = c.CreateSub(t, client.Pods, pod.Namespace, pod.Name, "binding", &corev1.Binding{Target: corev1.ObjectReference{Name: node}})
			case pod.Status.Phase == corev1.PodPending && !strings.Contains(pod.Spec.Containers[0].Image, "broken"):
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t.Now())}}
				_, _ = client.UpdateStatus(t, c, client.Pods, pod.Namespace, pod)
			}
		}
	}
}

func change[T interface {
	*appsv1.DaemonSet | *corev1.Node
}](t *sim.Task, c client.Interface, r client.Resource, namespace, name string, fn func(T)) {
	for {
		obj := clienttest.Must(c.Get(t, r, namespace, name))
		fn(obj.(T))
		if _, err := c.Update(t, r, namespace, obj, ""); err == nil {
			return
		}
	}
}

func image(t *sim.Task, c client.Interface, image string) {
	clienttest.Note(t, "kubectl set image ds/agent c="+image)
	change(t, c, client.DaemonSets, "demo", "agent", func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = image })
	t.Sleep(30 * time.Second)
}

func story(b *clienttest.Bench) string {
	var out strings.Builder
	out.WriteString(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart))
	for _, o := range b.Objects(client.ControllerRevisions) {
		rev := o.(*appsv1.ControllerRevision)
		fmt.Fprintf(&out, "ControllerRevision %s: revision %d\n", rev.Name, rev.Revision)
	}
	for _, o := range b.Objects(client.Pods) {
		pod := o.(*corev1.Pod)
		fmt.Fprintf(&out, "Pod on %s: %s, revision %s, %d tolerations\n", pod.Spec.NodeName, pod.Spec.Containers[0].Image, pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], len(pod.Spec.Tolerations))
	}
	return out.String()
}

func TestOneOnEachNode(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		world(b, t)
		clienttest.Note(t, "create agent; node-3 has a taint")
		clienttest.Must(client.Create(t, c, client.DaemonSets, "demo", agent("agent:1")))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "kubectl taint node node-3 gpu-, then node-1 gets one that drives pods away")
		change(t, c, client.Nodes, "", "node-3", func(n *corev1.Node) { n.Spec.Taints = nil })
		t.Sleep(10 * time.Second)
		change(t, c, client.Nodes, "", "node-1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}
		})
		t.Sleep(10 * time.Second)
		image(t, c, "agent:2")
		image(t, c, "agent:1")
	})
	clienttest.Golden(t, "one-on-each-node.txt", story(b))
}

func TestSurge(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		world(b, t)
		clienttest.Must(client.Create(t, c, client.DaemonSets, "demo", surging("agent:1")))
		t.Sleep(10 * time.Second)
		image(t, c, "broken:2")
		image(t, c, "agent:3")
	})
	clienttest.Golden(t, "surge.txt", story(b))
}

// A failed pod is deleted, and another made; each time later, since a kubelet that refuses it
// fails the next one too.
func TestFailedPodsAreReplacedSlowly(t *testing.T) {
	created := 0
	clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
		start(b)
		clienttest.Must(client.Create(t, c, client.DaemonSets, "demo", agent("agent:1")))
		seen := map[string]bool{}
		for range 1000 {
			t.Sleep(100 * time.Millisecond)
			for _, o := range b.Objects(client.Pods) {
				pod := o.(*corev1.Pod).DeepCopy()
				if seen[pod.Name] = true; pod.Status.Phase == corev1.PodPending {
					pod.Status.Phase = corev1.PodFailed
					_, _ = client.UpdateStatus(t, c, client.Pods, "demo", pod)
				}
			}
		}
		created = len(seen)
	})
	if created < 5 || created > 9 { // at 0, 1, 3, 7, 15, 31 and 63 s
		t.Errorf("%d pods in 100 s", created)
	}
}

// Through any sequence of updates, taints, deletions of pods and restarts of the controller: in
// the end there is one pod of the last template on each node that is to have one.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 12).Draw(r, "ops")
		ds, tainted, want := agent("agent:0"), true, "agent:0"
		if rapid.Bool().Draw(r, "surge") {
			ds = surging("agent:0")
		}
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			p := world(b, t)
			clienttest.Must(client.Create(t, c, client.DaemonSets, "demo", ds))
			for n, op := range ops {
				switch op {
				case 0, 1:
					want = fmt.Sprintf("agent:%d", (n+op)%3)
					change(t, c, client.DaemonSets, "demo", "agent", func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = want })
				case 2, 3:
					tainted = !tainted
					change(t, c, client.Nodes, "", "node-3", func(node *corev1.Node) {
						if node.Spec.Taints = nil; tainted {
							node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}
						}
					})
				case 4:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", pods[n%len(pods)].(*corev1.Pod).Name, metav1.DeleteOptions{})
					}
				case 5:
					p.Kill()
					p = start(b)
				case 6:
					b.EndWatchesOf(client.DaemonSets)
				default:
					t.Sleep(time.Duration(op-6) * 700 * time.Millisecond)
				}
			}
			t.Sleep(10 * time.Minute)
		})
		on := map[string]int{}
		for _, o := range b.Objects(client.Pods) {
			pod := o.(*corev1.Pod)
			if on[pod.Spec.NodeName]++; pod.Spec.Containers[0].Image != want {
				r.Fatalf("%s runs %s, want %s", pod.Name, pod.Spec.Containers[0].Image, want)
			}
		}
		nodes := 2
		if !tainted {
			nodes = 3
		}
		st := b.Object(client.DaemonSets, "demo", "agent").(*appsv1.DaemonSet).Status
		if len(on) != nodes || len(b.Objects(client.Pods)) != nodes || int(st.NumberAvailable) != nodes || int(st.UpdatedNumberScheduled) != nodes {
			r.Fatalf("want %d nodes, pods on %v, status %+v", nodes, on, st)
		}
	})
}
