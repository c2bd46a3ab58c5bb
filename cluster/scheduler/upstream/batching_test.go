package upstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// unspread is a profile whose pods can be compared: it has no default spread constraints.
const unspread = "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]}]"

// batching is upstream's framework on a world that changes.
type batching struct {
	framework.Framework
	k *kubernetes
}

func newBatching(ctx context.Context, p configured) *batching {
	b := &batching{k: newConfigured(&world{}, p)}
	registry := frameworkruntime.Registry{}
	for _, pl := range b.k.plugins {
		registry[pl.Name()] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return pl, nil }
	}
	for _, e := range configuration.Default().Profiles[0].Plugins.MultiPoint.Enabled {
		if registry[e.Name] == nil {
			registry[e.Name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return unsimulated(e.Name), nil }
		}
	}
	b.Framework = clienttest.Must(frameworkruntime.NewFramework(ctx, registry, &p.config.Profiles[0], frameworkruntime.WithSnapshotSharedLister(b.k)))
	return b
}

// unsimulated is a plugin that has no claims to look at.
type unsimulated string

func (n unsimulated) Name() string { return string(n) }

// snapshot has it see another world.
func (b *batching) snapshot(w *world) {
	b.k.nodes = nil
	for _, n := range w.nodes {
		b.k.nodes = append(b.k.nodes, nodeInfo(n, w.pods))
	}
	b.k.addImages(w)
}

// rated are nodes with scores of which one is popped first if it is as good as any.
func (b *batching) rated(state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo, but string) framework.SortedScoredNodes {
	ctx := context.Background()
	if st := b.RunPreScorePlugins(ctx, state, pod, nodes); !st.IsSuccess() {
		panic(st.Message())
	}
	all, st := b.RunScorePlugins(ctx, state, pod, nodes)
	if !st.IsSuccess() {
		panic(st.Message())
	}
	var others []fwk.NodePluginScores
	for _, n := range all {
		if n.Name != but {
			others = append(others, n)
		}
	}
	return framework.NewSortedScoredNodes(others)
}

// total is what a node has now. No plugin of these worlds compares nodes, so it had it when it was kept.
func (b *batching) total(pod *corev1.Pod, name string) int64 {
	state := framework.NewCycleState()
	if _, st, _ := b.RunPreFilterPlugins(context.Background(), state, pod); !st.IsSuccess() {
		panic(st.Message())
	}
	return b.rated(state, pod, []fwk.NodeInfo{clienttest.Must(b.k.Get(name))}, "").Pop().TotalScore
}

// cycle is what upstream makes of a pod: the node it takes from what it kept, or that it looked at all.
// Told which node was chosen here, it remembers that.
func (b *batching) cycle(pod *corev1.Pod, number int64, chosen string) string {
	ctx, state := context.Background(), framework.NewCycleState()
	if _, st, _ := b.RunPreFilterPlugins(ctx, state, pod); !st.IsSuccess() {
		return ""
	}
	signature := b.SignPod(ctx, pod)
	hint := b.GetNodeHint(ctx, pod, signature, state, number)
	if hint != "" && b.RunFilterPlugins(ctx, state, pod, clienttest.Must(b.k.Get(hint))).IsSuccess() {
		b.StoreScheduleResults(ctx, signature, hint, hint, nil, number)
		return hint
	}
	var feasible []fwk.NodeInfo
	for _, n := range b.k.nodes {
		if b.RunFilterPlugins(ctx, state, pod, n).IsSuccess() {
			feasible = append(feasible, n)
		}
	}
	switch len(feasible) {
	case 0:
	case 1:
		b.StoreScheduleResults(ctx, signature, hint, chosen, nil, number)
	default:
		b.StoreScheduleResults(ctx, signature, hint, chosen, b.rated(state, pod, feasible, chosen), number)
	}
	return ""
}

// Pods that are alike, and others between them: from what the cycle before has kept, the scheduler
// takes a node when upstream's OpportunisticBatch does, and the same one. The order among equals is
// drawn, so a case ends where the two have drawn different ones.
func TestBatchingIsUpstreams(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		p, kept, looked, drawn := configure(unspread), 0, 0, 0
		for i := range *cases * 4 {
			k, l, d := batched(t, *first+uint64(i), p)
			kept, looked, drawn = kept+k, looked+l, drawn+d
		}
		t.Logf("%d pods placed from what was kept, %d after a look at all nodes; %d cases ended by lot", kept, looked, drawn)
		if *cases >= 25 && (kept < 100 || looked < 100) {
			t.Errorf("only %d pods placed from what was kept, and %d after a look", kept, looked)
		}
	})
}

func batched(t *testing.T, seed uint64, p configured) (kept, looked, drawn int) {
	t.Helper()
	d := roll(seed, class{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	up := newBatching(ctx, p)
	clienttest.Run(t, seed, func(b *clienttest.Bench, task *sim.Task) {
		api := b.Client()
		create(task, api, client.Nodes, d.sizedNodes())
		scheduler.Start(b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true, Configuration: p.config})
		task.Sleep(20 * time.Millisecond)
		templates := []*corev1.Pod{d.plainPod(), d.plainPod(), d.plainPod()}
		now := templates[0]
		for n := range 25 {
			if d.one(4) {
				now = of(d, templates...)
			}
			if d.one(8) {
				task.Sleep(600 * time.Millisecond)
				time.Sleep(600 * time.Millisecond)
			}
			pod := now.DeepCopy()
			pod.Name = fmt.Sprintf("p%d", n)
			up.snapshot(stored(b))
			pod = clienttest.Must(client.Create(task, api, client.Pods, "", pod))
			task.Sleep(20 * time.Millisecond)
			time.Sleep(20 * time.Millisecond)
			var decision *trace.Decision
			number := int64(0)
			for _, e := range b.Events {
				if e.Kind == trace.SchedCycle {
					number++
				}
				if dec, ok := e.Payload.(*trace.Decision); ok && e.Kind == trace.SchedDecision && dec.Pod == pod.Namespace+"/"+pod.Name {
					decision = dec
					break
				}
			}
			want := up.cycle(pod, number, decision.Node)
			switch {
			case (want != "") != (decision.Like != ""):
				t.Errorf("seed %d, pod %d: upstream takes %q from what it kept, here it is %q, as %q", seed, n, want, decision.Node, decision.Like)
				return
			case want != "" && want != decision.Node:
				if a, b := up.total(pod, want), up.total(pod, decision.Node); a != b {
					t.Errorf("seed %d, pod %d: upstream takes %s (%d) from what it kept, here it is %s (%d)", seed, n, want, a, decision.Node, b)
				}
				drawn++
				return
			case want != "":
				kept++
			default:
				looked++
			}
			if decision.Node == "" {
				clienttest.Must(0, api.Delete(task, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
				task.Sleep(time.Millisecond)
			}
		}
	})
	return kept, looked, drawn
}

// sizedNodes are nodes of many sizes, so that few have the same scores.
func (d *dice) sizedNodes() (nodes []*corev1.Node) {
	for i := range 3 + d.IntN(6) {
		n := d.node(fmt.Sprintf("n%d", i))
		n.Spec.Taints = nil // of those that are only to be avoided, a plugin compares nodes
		n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(2000+int64(d.IntN(60))*100, resource.DecimalSI)
		n.Status.Allocatable[corev1.ResourceMemory] = *resource.NewQuantity((2000+int64(d.IntN(6000)))<<20, resource.BinarySI)
		nodes = append(nodes, n)
	}
	return nodes
}

// plainPod is a pod that can be compared with others.
func (d *dice) plainPod() *corev1.Pod {
	p := d.pod()
	c := corev1.Container{Name: "c", Image: of(d, "web:1", "db:2", "none:3"), Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(1+d.IntN(10))*100, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(1+d.IntN(10))*100<<20, resource.BinarySI),
	}}}
	p.Spec = corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{c}}
	if d.one(3) {
		p.Spec.NodeSelector = map[string]string{"disk": of(d, "ssd", "hdd")}
	}
	if d.one(3) { // one of these on a node
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: int32(8000 + d.IntN(3)), ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	}
	return p
}
