package upstream_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubeframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/interpodaffinity"
	"kviz/cluster/scheduler/plugins/nodedeclaredfeatures"
	"kviz/cluster/scheduler/plugins/noderesources"
	"kviz/cluster/scheduler/plugins/nodevolumelimits"
	"kviz/cluster/scheduler/plugins/podtopologyspread"
	"kviz/cluster/scheduler/plugins/volumebinding"
	"kviz/cluster/scheduler/plugins/volumerestrictions"
	"kviz/cluster/scheduler/plugins/volumezone"
)

// here is a world as this scheduler's plugins see it.
type here struct {
	*world
	nodes []*framework.NodeInfo
}

func newHere(w *world) *here {
	h := &here{world: w}
	for _, n := range w.nodes {
		h.nodes = append(h.nodes, built(n, w.pods))
	}
	return h
}

func built(node *corev1.Node, pods []*corev1.Pod) *framework.NodeInfo {
	n := framework.NewNodeInfo(node)
	for _, p := range pods {
		if p.Spec.NodeName == node.Name {
			n.AddPod(framework.NewPodInfo(p))
		}
	}
	return n
}

func (h *here) Kinds() *framework.PodKinds { return framework.KindsOf(h.nodes) }

func (h *here) NamespaceLabels(name string) labels.Set {
	for _, ns := range h.namespaces {
		if ns.Name == name {
			return ns.Labels
		}
	}
	return nil
}

func (h *here) NamespacesThat(match labels.Selector) (names []string) {
	for _, ns := range h.namespaces {
		if match.Matches(labels.Set(ns.Labels)) {
			names = append(names, ns.Name)
		}
	}
	return names
}

// extended is a plugin that adds up something of all nodes.
type extended interface {
	framework.PreFilterPlugin
	framework.FilterPlugin
	framework.PreFilterExtensions
	framework.EnqueueExtensions
}

func (h *here) plugins() []extended {
	return []extended{&podtopologyspread.PodTopologySpread{Kinds: h.Kinds}, &interpodaffinity.InterPodAffinity{Cluster: h}}
}

// Claim is the claim of a name.
func (h *here) Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	for _, c := range h.claims {
		if c.Namespace == namespace && c.Name == name {
			return c, nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("persistentvolumeclaim"), name)
}

// ClaimInUse reports whether a pod on a node names the claim.
func (h *here) ClaimInUse(namespace, name string) bool {
	return slices.ContainsFunc(h.pods, func(p *corev1.Pod) bool {
		return p.Namespace == namespace && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
		})
	})
}

func (k *kubernetes) plugin(name string) fwk.Plugin {
	return k.plugins[slices.IndexFunc(k.plugins, func(p fwk.Plugin) bool { return p.Name() == name })]
}

// terminating has some pods of a world be on their way out.
func (d *dice) terminating(w *world) {
	for _, p := range w.pods {
		if d.one(10) {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
	}
}

// Preemption asks about a node without some of its pods, and with pods that are nominated to
// it: what its plugins say then is what upstream's say.
func TestPodsThatComeAndGo(t *testing.T) {
	compared := 0
	for seed := *first; seed < *first+uint64(*cases)*5; seed++ {
		d := roll(seed, classes[len(classes)-1])
		w := d.world()
		d.terminating(w)
		pod, h, k := d.pod(), newHere(w), newKubernetes(w)
		at := d.IntN(len(w.nodes))
		seeds := d.Uint64()
		for _, pl := range append(h.plugins(), &volumerestrictions.VolumeRestrictions{Claims: h}) {
			compared += comeAndGo(t, seed, roll(seeds, d.class), pl, pod, at, newHere(w), k)
		}
	}
	if compared < *cases {
		t.Errorf("only %d verdicts to compare", compared)
	}
}

func comeAndGo(t *testing.T, seed uint64, d *dice, pl extended, pod *corev1.Pod, at int, h *here, k *kubernetes) (compared int) {
	ctx, kubeState, state := context.Background(), kubeframework.NewCycleState(), &framework.CycleState{}
	theirs := k.plugin(pl.Name())
	_, want := theirs.(fwk.PreFilterPlugin).PreFilter(ctx, kubeState, pod, k.nodes)
	_, got := pl.PreFilter(state, pod, h.nodes)
	if want.IsSkip() != got.IsSkip() {
		t.Fatalf("seed %d: %s: upstream skips %v, here %v", seed, pl.Name(), want.IsSkip(), got.IsSkip())
	}
	if want.IsSkip() || want.IsRejected() {
		return 0
	}
	ext := theirs.(fwk.PreFilterPlugin).PreFilterExtensions()
	original, node := state, h.nodes[at]
	before := judged(pl, original, pod, h.nodes)
	kubeState2 := kubeState.Clone()
	state = original.Clone()
	there := k.nodes[at].Snapshot()
	for range 6 {
		if on := there.GetPods(); len(on) > 0 && d.one(2) {
			p := of(d, on...)
			clienttest.Must(0, there.RemovePod(klog.Background(), p.GetPod()))
			if st := ext.RemovePod(ctx, kubeState2, pod, p, there); !st.IsSuccess() {
				t.Fatal(st.Message())
			}
			info := framework.NewPodInfo(p.GetPod())
			pl.RemovePod(state, pod, info, node)
		} else {
			p := d.pod()
			p.Name = "new-" + p.Name
			p.Spec.NodeName = node.Node.Name
			info := clienttest.Must(kubeframework.NewPodInfo(p))
			there.AddPodInfo(info)
			if st := ext.AddPod(ctx, kubeState2, pod, info, there); !st.IsSuccess() {
				t.Fatal(st.Message())
			}
			pl.AddPod(state, pod, framework.NewPodInfo(p), node)
		}
		for i, n := range h.nodes {
			want := theirs.(fwk.FilterPlugin).Filter(ctx, kubeState2, pod, k.nodes[i])
			if got := pl.Filter(state, pod, n); got.Message() != want.Message() || got.Code().String() != want.Code().String() {
				t.Fatalf("seed %d: %s on %s: upstream says %q, here %q", seed, pl.Name(), n.Node.Name, want.Message(), got.Message())
			}
			compared++
		}
	}
	if after := judged(pl, original, pod, h.nodes); !slices.Equal(before, after) {
		t.Fatalf("seed %d: %s: a change of the clone is one of the original: %q, then %q", seed, pl.Name(), before, after)
	}
	return compared
}

func judged(pl extended, state *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo) (verdicts []string) {
	for _, n := range nodes {
		verdicts = append(verdicts, pl.Filter(state, pod, n).Message())
	}
	return verdicts
}

// Package whatif asks about a node with other labels, taints and pods: what the plugins say then is
// what they say of a cluster that has that node.
func TestNodeThatIsReplaced(t *testing.T) {
	told := map[string]int{}
	for seed := *first; seed < *first+uint64(*cases)*5; seed++ {
		d := roll(seed, classes[len(classes)-1])
		w := d.world()
		d.terminating(w)
		pod, h := d.pod(), newHere(w)
		at := d.IntN(len(w.nodes))
		was := h.nodes[at]
		other := d.node(was.Node.Name)
		var pods []*corev1.Pod
		for _, p := range w.pods {
			if !d.one(3) {
				pods = append(pods, p)
			}
		}
		is := built(other, pods)
		for _, pl := range h.plugins() {
			state, fresh := &framework.CycleState{}, &framework.CycleState{}
			h.nodes[at] = was
			pl.PreFilter(state, pod, h.nodes)
			changed := state.Clone()
			pl.ReplaceNode(changed, pod, was, is)
			h.nodes[at] = is
			pl.PreFilter(fresh, pod, h.nodes)
			got, want := judged(pl, changed, pod, h.nodes), judged(pl, fresh, pod, h.nodes)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %s: %q, and of the cluster as it would be %q", seed, pl.Name(), got, want)
			}
			for _, v := range want {
				told[v]++
			}
		}
	}
	if len(told) < 5 {
		t.Errorf("only %v to compare", told)
	}
}

// What may help a pod is what upstream's queueing hints say may.
func TestHintsAreUpstreams(t *testing.T) {
	helps, not := 0, 0
	for seed := *first; seed < *first+uint64(*cases)*10; seed++ {
		d := roll(seed, classes[len(classes)-1])
		w := d.world()
		h, k := newHere(w), newKubernetes(w)
		pod, other := d.pod(), d.pod()
		other.Spec.NodeName = of(d, "n0", "n0", "")
		relabelled := other.DeepCopy()
		relabelled.Labels = d.pod().Labels
		mine := pod.DeepCopy()
		mine.Labels, mine.Spec.Tolerations = of(d, pod.Labels, d.pod().Labels), of(d, nil, []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}})
		was, is := d.node("n0"), d.node("n0")
		events := map[framework.EventResource][][2]runtime.Object{
			framework.AssignedPod: {{nil, other}, {other, nil}, {other, relabelled}},
			framework.TargetPod:   {{pod, mine}},
			framework.Node:        {{nil, is}, {was, is}, {was, nil}},
		}
		d.storageEvents(events)
		d.deviceEvents(events)
		hinting := []framework.EnqueueExtensions{
			&volumerestrictions.VolumeRestrictions{}, &volumebinding.VolumeBinding{}, &volumezone.VolumeZone{}, &nodevolumelimits.CSILimits{},
			&nodedeclaredfeatures.NodeDeclaredFeatures{}, h.dynamicResources(), &noderesources.Fit{Class: h.DeviceClassOf},
		}
		for _, pl := range h.plugins() {
			hinting = append(hinting, pl)
		}
		for _, pl := range hinting {
			theirs := clienttest.Must(k.plugin(pl.Name()).(fwk.EnqueueExtensions).EventsToRegister(context.Background()))
			ours := pl.EventsToRegister()
			for i, e := range ours {
				if string(theirs[i].Event.Resource) != string(e.Event.Resource) {
					t.Fatalf("%s wants events of %s, upstream of %s", pl.Name(), e.Event.Resource, theirs[i].Event.Resource)
				}
				for _, pair := range events[e.Event.Resource] {
					if !meant(e.Event.Action, pair) {
						continue
					}
					want := true
					if look := theirs[i].QueueingHintFn; look != nil {
						hint, err := look(klog.Background(), pod, orNil(pair[0]), orNil(pair[1]))
						want = err != nil || hint == fwk.Queue
					}
					got := e.Hint == nil || e.Hint(pod, pair[0], pair[1])
					if got != want {
						t.Fatalf("seed %d: %s, %s from %v to %v: upstream says %v", seed, pl.Name(), e.Event.Label(), pair[0], pair[1], want)
					}
					if want {
						helps++
					} else {
						not++
					}
				}
			}
		}
	}
	if helps == 0 || not == 0 {
		t.Errorf("%d events help, and %d do not", helps, not)
	}
}

// meant reports whether what happened to an object is one of the actions.
func meant(a framework.ActionType, pair [2]runtime.Object) bool {
	switch {
	case pair[0] == nil:
		return a&framework.Add != 0
	case pair[1] == nil:
		return a&framework.Delete != 0
	}
	return a&framework.Update != 0
}

// storageEvents are about two states of each object that has to do with volumes.
func (d *dice) storageEvents(events map[framework.EventResource][][2]runtime.Object) {
	was, is := d.world(), d.world()
	changes(events, framework.PersistentVolumeClaim, was.claims, is.claims)
	changes(events, framework.PersistentVolume, was.volumes, is.volumes)
	changes(events, framework.StorageClass, was.classes, is.classes)
	changes(events, framework.CSINode, was.csiNodes, is.csiNodes)
	changes(events, framework.CSIDriver, was.csiDrivers, is.csiDrivers)
	changes(events, framework.CSIStorageCapacity, was.capacities, is.capacities)
	changes(events, framework.VolumeAttachment, was.attachments, is.attachments)
}

func changes[T runtime.Object](events map[framework.EventResource][][2]runtime.Object, r framework.EventResource, was, is []T) {
	for i := range min(len(was), len(is)) {
		events[r] = append(events[r], [2]runtime.Object{nil, is[i]}, [2]runtime.Object{was[i], is[i]}, [2]runtime.Object{was[i], nil})
	}
}

// orNil is the argument that upstream gets of an object that is not there.
func orNil(o runtime.Object) any {
	if o == nil {
		return nil
	}
	return o
}
