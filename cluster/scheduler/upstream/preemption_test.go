package upstream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// preempting is a cycle of upstream's plugins that may make room. It is what their handle asks
// back: the cycle's other plugins, and the pods nominated to nodes.
type preempting struct {
	*kubernetes
	*cycle
	nominated []*corev1.Pod
}

// mutable is a snapshot that nobody changes.
type mutable struct {
	fwk.MutableSnapshotSharedLister
	k *kubernetes
}

func (m mutable) NodeInfos() fwk.NodeInfoLister { return m.k }

func (p *preempting) MutableSnapshotSharedLister() fwk.MutableSnapshotSharedLister {
	return mutable{k: p.kubernetes}
}
func (p *preempting) Extenders() []fwk.Extender { return nil }

func (p *preempting) extensions(state fwk.CycleState, run func(fwk.PreFilterExtensions) *fwk.Status) *fwk.Status {
	for _, pl := range p.plugins {
		if pre, ok := pl.(fwk.PreFilterPlugin); ok && pre.PreFilterExtensions() != nil && !p.skipped.Has(pl.Name()) {
			if st := run(pre.PreFilterExtensions()); !st.IsSuccess() {
				return st
			}
		}
	}
	return nil
}

func (p *preempting) RunPreFilterExtensionAddPod(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, added fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.extensions(state, func(e fwk.PreFilterExtensions) *fwk.Status { return e.AddPod(ctx, state, pod, added, node) })
}

func (p *preempting) RunPreFilterExtensionRemovePod(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, removed fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.extensions(state, func(e fwk.PreFilterExtensions) *fwk.Status { return e.RemovePod(ctx, state, pod, removed, node) })
}

// RunFilterPluginsWithNominatedPods does what framework/runtime/framework.go does.
func (p *preempting) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	with, withState, any := node.Snapshot(), state.Clone(), false
	for _, n := range p.nominated {
		if n.Status.NominatedNodeName != node.Node().Name || corev1helpers.PodPriority(n) < corev1helpers.PodPriority(pod) || n.UID == pod.UID {
			continue
		}
		info := clienttest.Must(framework.NewPodInfo(n))
		with.AddPodInfo(info)
		if st := p.RunPreFilterExtensionAddPod(ctx, withState, pod, info, with); !st.IsSuccess() {
			panic(st.Message())
		}
		any = true
	}
	if any {
		if st := p.filter(ctx, withState, pod, with); !st.IsSuccess() {
			return st
		}
	}
	return p.filter(ctx, state, pod, node)
}

// judge has the cycle's filters respect the nominated pods.
func (p *preempting) judge(pod *corev1.Pod) {
	p.feasible, p.statuses = nil, map[string]*fwk.Status{}
	for _, n := range p.nodes {
		if st := p.RunFilterPluginsWithNominatedPods(context.Background(), p.state, pod, n); st.IsSuccess() {
			p.feasible = append(p.feasible, n)
		} else {
			p.statuses[n.Node().Name] = st
		}
	}
}

// allNodes tries all nodes in their order.
type allNodes struct {
	*defaultpreemption.DefaultPreemption
}

func (allNodes) GetOffsetAndNumCandidates(n int32) (int32, int32) { return 0, n }

// room is what a preemption can come to: the victims on each node, and why there are none on the
// others.
type room struct {
	victims map[string][]string
	message string
}

// preempt is upstream's dry run. The function reports whether upstream might choose one of two
// candidates: where they are equal, it takes either.
func (p *preempting) preempt(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (room, func(a, b string) bool) {
	ctx := context.Background()
	fill(p.factory.Policy().V1().PodDisruptionBudgets().Informer(), budgets)
	pl := clienttest.Must(defaultpreemption.New(ctx, &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}, p, gates))
	ev := preemption.NewEvaluator(pl.Name(), p, allNodes{pl}, pl.Executor)
	var nodes []fwk.NodeInfo
	for _, n := range p.nodes {
		if p.statuses[n.Node().Name].Code() == fwk.Unschedulable {
			nodes = append(nodes, n)
		}
	}
	r := room{victims: map[string][]string{}}
	var candidates []preemption.Candidate
	why := framework.NewDefaultNodeToStatus()
	if len(nodes) > 0 {
		var err error
		candidates, why, err = ev.DryRunPreemption(ctx, p.state, pod, nodes, budgets, 0, int32(len(nodes)))
		clienttest.Must(0, err)
	}
	byNode := map[string]preemption.Candidate{}
	for _, c := range candidates {
		byNode[c.Name()] = c
		for _, v := range c.Victims().Pods {
			r.victims[c.Name()] = append(r.victims[c.Name()], v.Namespace+"/"+v.Name)
		}
		r.victims[c.Name()] = append(r.victims[c.Name()], fmt.Sprintf("%d against budgets", c.Victims().NumPDBViolations))
	}
	if len(candidates) == 0 {
		why.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Preemption is not helpful for scheduling"))
		r.message = (&framework.FitError{Pod: pod, NumAllNodes: len(p.nodes), Diagnosis: framework.Diagnosis{NodeToStatus: why}}).Error()
	}
	return r, func(a, b string) bool {
		for range 100 {
			if ev.SelectCandidate(ctx, []preemption.Candidate{byNode[a], byNode[b]}).Name() == a {
				return true
			}
		}
		return false
	}
}

// Which pods would have to go on which node, why nothing helps on the others, and where room is
// made, for pods of high priority in clusters whose pods belong to PodDisruptionBudgets.
func TestPreemptionIsUpstreams(t *testing.T) {
	made, against, none, chosen := 0, 0, 0, 0
	for i := range *cases {
		seed := *first + uint64(i)
		d := roll(seed, class{name: "preemption", core: true, spread: seed%3 == 1, affinity: seed%3 == 2})
		clienttest.Run(t, seed, func(b *clienttest.Bench, task *sim.Task) {
			api := b.Client()
			w := d.world()
			d.fill(w)
			w.create(task, api)
			create(task, api, client.PodDisruptionBudgets, d.budgets())
			scheduler.Start(b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true})
			task.Sleep(20 * time.Millisecond)
			for range 3 {
				before, seen := stored(b), len(b.Events)
				nominated := waiting(b)
				pod := d.preemptor()
				pod = clienttest.Must(client.Create(task, api, client.Pods, "", pod))
				task.Sleep(20 * time.Millisecond)
				_, _, decision := told(b.Events[seen:], pod.Namespace+"/"+pod.Name)
				k := newKubernetes(before)
				p := &preempting{kubernetes: k, cycle: k.cycle(pod), nominated: nominated}
				p.judge(pod)
				if (decision.Node == "") != (len(p.feasible) == 0) {
					t.Errorf("seed %d: %s is on %q, and upstream finds %d nodes", seed, pod.Name, decision.Node, len(p.feasible))
				}
				if decision.Node != "" || len(p.feasible) > 0 {
					continue // TestCyclesAreUpstreams compares these
				}
				want, might := p.preempt(pod, all[*policyv1.PodDisruptionBudget](b, client.PodDisruptionBudgets))
				got := room{victims: map[string][]string{}}
				for _, c := range decision.Candidates {
					n := 0
					for _, v := range c.Victims {
						got.victims[c.Node] = append(got.victims[c.Node], v.Pod)
						if v.Budget != "" {
							n++
						}
					}
					got.victims[c.Node] = append(got.victims[c.Node], fmt.Sprintf("%d against budgets", n))
					against += n
				}
				if _, message, ok := strings.Cut(decision.Message, " preemption: "); ok && len(decision.Candidates) == 0 {
					got.message = message
					none++
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(room{})); diff != "" {
					t.Errorf("seed %d, %s: preemption (-upstream +here):\n%s", seed, pod.Name, diff)
					continue
				}
				if decision.Nominated == "" {
					continue
				}
				made++
				if len(want.victims) > 1 {
					chosen++
				}
				for node := range want.victims {
					if node != decision.Nominated && !might(decision.Nominated, node) {
						t.Errorf("seed %d: room for %s is made on %s, upstream prefers %s: %v", seed, pod.Name, decision.Nominated, node, want.victims)
					}
				}
			}
		})
	}
	t.Logf("room was made %d times (%d times on one of several nodes) and could not be made %d times; %d victims were against a budget", made, chosen, none, against)
	if *cases >= 25 && (made == 0 || none == 0 || against == 0 || chosen == 0) {
		t.Error("too little to compare")
	}
}

// waiting are the pods that have no node.
func waiting(b *clienttest.Bench) []*corev1.Pod {
	return slices.DeleteFunc(all[*corev1.Pod](b, client.Pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
}

// fill has many small pods of different priority and age on the nodes.
func (d *dice) fill(w *world) {
	for range 10 + d.IntN(30) {
		p := d.pod()
		p.Spec.NodeName = of(d, w.nodes...).Name
		w.pods = append(w.pods, p)
	}
	for i, at := range d.Perm(len(w.pods)) {
		p := w.pods[i]
		p.Spec.Priority = new(of[int32](d, 0, 0, 1, 5, 200))
		// No two of the same age: upstream's order of equal pods is any.
		p.Status.StartTime = &metav1.Time{Time: time.Unix(int64(1000+at), 0)}
	}
}

func (d *dice) preemptor() *corev1.Pod {
	p := d.pod()
	p.Spec.Priority = new(of[int32](d, 10, 100, 1000))
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity(of(d, "900m", "3", "7"))}
	return p
}

// budgets share no pods, since upstream charges them in any order.
func (d *dice) budgets() (list []*policyv1.PodDisruptionBudget) {
	for _, app := range []string{"a", "b", "c"} {
		if d.one(3) {
			continue
		}
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: app}}
		b.Spec.Selector = of(d, &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, &metav1.LabelSelector{}, nil)
		b.Status.DisruptionsAllowed = int32(d.IntN(3))
		if d.one(3) {
			b.Status.DisruptedPods = map[string]metav1.Time{fmt.Sprintf("p%d", 1+d.IntN(40)): {}}
		}
		list = append(list, b)
	}
	return list
}
