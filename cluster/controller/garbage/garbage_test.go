package garbage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/garbage"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	garbage.New(reconcile.NewEnv(p, garbage.Name, garbage.Name, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func ownedBy(r client.Resource, name string, uid types.UID, block bool) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: r.GroupVersion().String(), Kind: r.Kind, Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &block}}
}

// family makes a Deployment, its ReplicaSet and two pods on a node.
func family(t *sim.Task, c client.Interface) {
	d := clienttest.Must(client.Create(t, c, client.Deployments, "demo", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}))
	rs := clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web-abc", OwnerReferences: ownedBy(client.Deployments, "web", d.UID, true)},
	}))
	for n := range 2 {
		clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("web-abc-%d", n), OwnerReferences: ownedBy(client.ReplicaSets, "web-abc", rs.UID, true)},
		}))
	}
}

func left(b *clienttest.Bench) string {
	var out strings.Builder
	for _, r := range []client.Resource{client.Deployments, client.ReplicaSets, client.Pods, client.ConfigMaps} {
		for _, o := range b.Objects(r) {
			m := o.(metav1.Object)
			fmt.Fprintf(&out, "left: %s %s owners %d finalizers %v deleting %v\n", r.Kind, m.GetName(), len(m.GetOwnerReferences()), m.GetFinalizers(), m.GetDeletionTimestamp() != nil)
		}
	}
	if out.Len() == 0 {
		return "nothing left\n"
	}
	return out.String()
}

// The three ways to delete a Deployment.
func TestThreePolicies(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			(&clienttest.Nodes{Names: []string{"node-1"}, Start: time.Second, Stop: 2 * time.Second}).Run(t.Process(), c)
			start(b)
			family(t, c)
			t.Sleep(5 * time.Second)
			clienttest.Must(0, c.Delete(t, client.Deployments, "demo", "web", metav1.DeleteOptions{PropagationPolicy: &policy}))
			t.Sleep(10 * time.Second)
		})
		clienttest.Golden(t, strings.ToLower(string(policy))+".txt", b.Transcript(trace.ReconcileAction)+left(b))
	}
}

func TestOwnerThatNeverWasAndOwnerElsewhere(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		owner := clienttest.Must(client.Create(t, c, client.ConfigMaps, "other", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "owner"}}))
		start(b)
		t.Sleep(time.Second)
		make := func(name string, refs ...metav1.OwnerReference) {
			clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, OwnerReferences: refs}}))
		}
		make("of-nobody", ownedBy(client.ConfigMaps, "ghost", "no-such-uid", false)...)
		make("of-another-namespace", ownedBy(client.ConfigMaps, "owner", owner.UID, false)...)
		alive := clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "alive"}}))
		two := append(ownedBy(client.ConfigMaps, "ghost", "no-such-uid", false), ownedBy(client.ConfigMaps, "alive", alive.UID, false)...)
		two[0].Controller = nil
		make("of-two", two...)
		t.Sleep(10 * time.Second)
	})
	clienttest.Golden(t, "absent-owners.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded)+left(b))
}

// Root is deleted in the foreground, and so is its grandchild. Child, which
// blocks nobody, is in between: it must not lose its owner, or nobody would
// delete it.
func TestForegroundAboveAndBelow(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		make := func(name string, refs ...metav1.OwnerReference) types.UID {
			return clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, OwnerReferences: refs}})).UID
		}
		root := make("root")
		child := make("child", ownedBy(client.ConfigMaps, "root", root, false)...)
		make("grandchild", ownedBy(client.ConfigMaps, "child", child, true)...)
		t.Sleep(time.Second)
		foreground := metav1.DeletePropagationForeground
		for _, name := range []string{"root", "grandchild"} {
			clienttest.Must(0, c.Delete(t, client.ConfigMaps, "demo", name, metav1.DeleteOptions{PropagationPolicy: &foreground}))
		}
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "above-and-below.txt", b.Transcript(trace.ReconcileAction)+left(b))
}

// Any forest of owners, any order of creation and deletion, with the collector
// restarted and its watches cut: in the end exactly those objects are left that
// were not deleted and have, or never named, a living owner.
func TestCollectsExactlyTheOwnerless(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(r, "objects")
		parent := make([]int, n) // index of the owner, or -1
		for i := range parent {
			parent[i] = rapid.IntRange(-1, i-1).Draw(r, "owner")
		}
		ops := rapid.SliceOfN(rapid.IntRange(0, n+3), 1, 12).Draw(r, "ops")
		deleted := map[int]bool{}
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			p := start(b)
			uids := make([]types.UID, n)
			for i := range n {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("o", i)}}
				if parent[i] >= 0 {
					cm.OwnerReferences = ownedBy(client.ConfigMaps, fmt.Sprint("o", parent[i]), uids[parent[i]], i%2 == 0)
				}
				uids[i] = clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", cm)).UID
			}
			for k, op := range ops {
				switch {
				case op < n:
					policy := metav1.DeletePropagationBackground
					if k%2 == 1 {
						policy = metav1.DeletePropagationForeground
					}
					if c.Delete(t, client.ConfigMaps, "demo", fmt.Sprint("o", op), metav1.DeleteOptions{PropagationPolicy: &policy}) == nil {
						deleted[op] = true
					}
				case op == n:
					p.Kill()
					p = start(b)
				case op == n+1:
					b.EndWatches()
					b.Compact()
				default:
					t.Sleep(time.Duration(op) * 3 * time.Millisecond)
				}
			}
			t.Sleep(time.Hour)
		})
		var want []string
		for i := range n {
			dead := false
			for j := i; j >= 0; j = parent[j] {
				dead = dead || deleted[j]
			}
			if !dead {
				want = append(want, fmt.Sprint("o", i))
			}
		}
		var have []string
		for _, o := range b.Objects(client.ConfigMaps) {
			have = append(have, o.(metav1.Object).GetName())
		}
		if fmt.Sprint(want) != fmt.Sprint(have) {
			r.Fatalf("parents %v, deleted %v: left %v, want %v", parent, deleted, have, want)
		}
	})
}
