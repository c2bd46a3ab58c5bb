package attachdetach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/attachdetach/attachtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// kubelet is a node's, as far as volumes go: it says that it uses the volumes of its pods, mounts
// them once its node's status says that they are attached, and unmounts them when the pods are gone.
// It writes the status every five minutes, if not before.
type kubelet struct {
	node    string
	dead    bool
	mounted map[string]bool
}

func (k *kubelet) run(b *clienttest.Bench) {
	c := b.Client()
	b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: k.node}).Go("volumes", func(t *sim.Task) {
		for ; ; t.Sleep(300 * time.Millisecond) {
			n, _ := b.Object(client.Nodes, "", k.node).(*corev1.Node)
			if k.dead || n == nil {
				continue
			}
			wants := map[string]bool{}
			for _, o := range b.Objects(client.Pods) {
				p := o.(*corev1.Pod)
				if p.Spec.NodeName != k.node {
					continue
				}
				if p.DeletionTimestamp != nil {
					t.Sleep(200 * time.Millisecond) // its containers end
					attachtest.End(t, c, p.Name)
					continue
				}
				for _, v := range p.Spec.Volumes {
					wants[v.Name] = true
				}
			}
			for v := range k.mounted {
				if !wants[v] {
					delete(k.mounted, v)
				}
			}
			inUse := []corev1.UniqueVolumeName{}
			for v := range wants {
				inUse = append(inUse, attachtest.Unique(v))
			}
			slices.Sort(inUse)
			if now := client.Now(t); !slices.Equal(inUse, n.Status.VolumesInUse) || now.Sub(n.Status.Conditions[0].LastHeartbeatTime.Time) > 5*time.Minute {
				changeNode(t, c, k.node, func(n *corev1.Node) { n.Status.VolumesInUse, n.Status.Conditions[0].LastHeartbeatTime = inUse, now })
			}
			n = b.Object(client.Nodes, "", k.node).(*corev1.Node)
			for v := range wants {
				if slices.ContainsFunc(n.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == attachtest.Unique(v) }) {
					k.mounted[v] = true
				}
			}
		}
	})
}

// Whatever happens to pods, nodes, the driver and the controller: no node's status says that it
// has a volume which another's says it has too, unless nodes can share it, and no disk is attached to
// two nodes. In the end what the pods want is attached, and nothing else.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 25).Draw(r, "ops")
		// Careless disks go to every node that asks, so it is the controller that must not ask: as
		// long as the driver's answers are not late or wrong, it does not. Of what was being attached
		// when it started it knows as little as upstream's, and asks for the next node.
		careless := rapid.Bool().Draw(r, "careless")
		var broken string
		d := &disks{}
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			*d = *newDisks(b)
			d.careless = careless
			d.run(b)
			nodes := []string{"node-1", "node-2", "node-3"}
			kubelets := map[string]*kubelet{}
			for _, n := range nodes {
				clienttest.Must(client.Create(t, c, client.Nodes, "", attachtest.Node(n)))
				kubelets[n] = &kubelet{node: n, mounted: map[string]bool{}}
				kubelets[n].run(b)
			}
			volumes := []string{"a", "b", "shared"}
			for _, v := range volumes {
				attachtest.Create(t, c, v)
			}
			p := attachtest.Start(b)
			watch(b, &broken)
			made := 0
			place := func(n int) {
				volume, on := volumes[n%3], nodes[n/3%3]
				if b.Object(client.Nodes, "", on) == nil {
					return
				}
				if volume != "shared" { // its pod moves
					for _, o := range b.Objects(client.Pods) {
						if q := o.(*corev1.Pod); q.Spec.Volumes[0].Name == volume && q.DeletionTimestamp == nil {
							_ = c.Delete(t, client.Pods, "demo", q.Name, metav1.DeleteOptions{})
						}
					}
				}
				made++
				clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod(fmt.Sprintf("%s-%d", volume, made), on, volume)))
			}
			revive := func(name string) {
				k := kubelets[name]
				k.dead = false
				if b.Object(client.Nodes, "", name) == nil {
					clienttest.Must(client.Create(t, c, client.Nodes, "", attachtest.Node(name)))
					return
				}
				taint(t, c, name)
				changeNode(t, c, name, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue })
			}
			for n, op := range ops {
				name := nodes[(n+op)%3]
				k := kubelets[name]
				switch op {
				case 0, 1, 2:
					place(n*7 + op)
				case 3:
					if pods := b.Objects(client.Pods); len(pods) > 0 {
						_ = c.Delete(t, client.Pods, "demo", pods[n%len(pods)].(*corev1.Pod).Name, metav1.DeleteOptions{})
					}
				case 4: // a node dies, with what it has mounted
					k.dead, k.mounted = true, map[string]bool{}
					if b.Object(client.Nodes, "", name) != nil {
						changeNode(t, c, name, notReady)
					}
				case 5:
					revive(name)
				case 6: // a person says that a dead node is off, and takes its pods away
					if k.dead && b.Object(client.Nodes, "", name) != nil {
						taint(t, c, name, corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute})
						removeAll(b, t, name)
					}
				case 7: // a dead node is deleted, and its pods
					if k.dead {
						_ = c.Delete(t, client.Nodes, "", name, metav1.DeleteOptions{})
						removeAll(b, t, name)
					}
				case 8:
					if !careless {
						p.Kill()
						p = attachtest.Start(b)
					}
				case 9:
					if !careless {
						d.broken = "it is broken"
						d.takes = time.Duration(n%3) * 70 * time.Second
					}
				case 10:
					d.broken, d.takes = "", 800*time.Millisecond
				default:
					t.Sleep(time.Duration(1+n*n) * 400 * time.Millisecond)
				}
			}
			d.broken, d.takes = "", 800*time.Millisecond
			for _, n := range nodes {
				revive(n)
			}
			t.Sleep(40 * time.Minute)
		})
		if broken != "" {
			r.Fatal(broken)
		}
		if d.most > 1 {
			r.Fatal("a disk was attached to two nodes at once")
		}
		var want []string
		for _, o := range b.Objects(client.Pods) {
			p := o.(*corev1.Pod)
			want = append(want, fmt.Sprintf("%s says that it has %s", p.Spec.NodeName, attachtest.Unique(p.Spec.Volumes[0].Name)),
				fmt.Sprintf("VolumeAttachment of %s to %s: attached true", p.Spec.Volumes[0].Name, p.Spec.NodeName))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := attachedTo(b); !slices.Equal(got, want) {
			r.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	})
}

func removeAll(b *clienttest.Bench, t *sim.Task, node string) {
	for _, o := range b.Objects(client.Pods) {
		if p := o.(*corev1.Pod); p.Spec.NodeName == node {
			attachtest.End(t, b.Client(), p.Name)
		}
	}
}

// watch notes when two nodes say at once that they have a volume that cannot be shared.
func watch(b *clienttest.Bench, broken *string) {
	look := func() {
		has := map[corev1.UniqueVolumeName]string{}
		for _, o := range b.Objects(client.Nodes) {
			n := o.(*corev1.Node)
			for _, v := range n.Status.VolumesAttached {
				if other := has[v.Name]; other != "" && v.Name != attachtest.Unique("shared") && *broken == "" {
					*broken = fmt.Sprintf("%s and %s have %s", other, n.Name, v.Name)
				}
				has[v.Name] = n.Name
			}
		}
	}
	p := b.Kernel.NewProcess(trace.Lane{Component: "watch"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	f.For(client.Nodes).AddHandler(informer.Handler{
		Update: func(*sim.Task, runtime.Object, runtime.Object, trace.ID) { look() },
	})
	f.Start()
}
