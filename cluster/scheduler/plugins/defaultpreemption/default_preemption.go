// Package defaultpreemption is the DefaultPreemption plugin: where a pod fits
// nowhere, it looks for the node on which the pod would fit if pods of lower
// priority went, and takes the one where that does the least harm. The pod is
// not bound: its victims are deleted with their grace period, and it is
// scheduled again when they are gone, if the room is still there.
//
// Mirrors pkg/scheduler/framework/plugins/defaultpreemption and
// framework/preemption. Simplified: there are no PodDisruptionBudgets, which
// would be the first criterion.
//
// Start reading at [DefaultPreemption.PostFilter].
package defaultpreemption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Absent,
	What: "PodDisruptionBudgets as the first criterion of preemption",
})

const (
	// Name is the plugin's name.
	Name = "DefaultPreemption"
	// ErrReasonNoVictims is why room cannot be made on a node.
	ErrReasonNoVictims = "No preemption victims found for incoming pod"
	// ErrReasonNotHelpful is why a node was not even tried.
	ErrReasonNotHelpful = "Preemption is not helpful for scheduling"
)

// How many candidates are enough (DefaultPreemptionArgs).
const (
	minCandidateNodesPercentage = 10
	minCandidateNodesAbsolute   = 100
)

// Cluster is what the plugin needs of the scheduler.
type Cluster interface {
	Nodes() []*framework.NodeInfo
	AddPod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo)
	RemovePod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo)
	Fits(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status
	// Preempting reports whether the pod's victims are still to be evicted.
	Preempting(pod *corev1.Pod) bool
}

// DefaultPreemption is the plugin.
type DefaultPreemption struct{ Cluster Cluster }

var (
	noVictims  = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonNoVictims)
	notHelpful = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonNotHelpful)
)

// candidate is a node and the pods that would have to go, the most important
// first.
type candidate struct {
	node    string
	victims []*framework.PodInfo
}

// Name is [Name].
func (*DefaultPreemption) Name() string { return Name }

// PreEnqueue keeps a pod out whose victims are still to be evicted: tried now, it would evict
// them once more.
func (pl *DefaultPreemption) PreEnqueue(pod *corev1.Pod) *framework.Status {
	if !pl.Cluster.Preempting(pod) {
		return nil
	}
	return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished")
}

// EventsToRegister: when the victims go, the plugins that rejected the pod say whether it is
// tried again.
func (*DefaultPreemption) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{
			Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete},
			Hint:  func(*corev1.Pod, runtime.Object, runtime.Object) bool { return false },
		},
	}
}

// PostFilter names the node and the victims; the scheduler evicts them.
func (pl *DefaultPreemption) PostFilter(t *sim.Task, state *framework.CycleState, pod *corev1.Pod, statuses *framework.NodeStatuses) (*framework.PostFilterResult, *framework.Status) {
	nodes := pl.Cluster.Nodes()
	if msg := notEligible(pod, statuses, nodes); msg != "" {
		return nil, framework.NewStatus(Name, framework.Unschedulable, "preemption: "+msg)
	}
	candidates, why := pl.findCandidates(t, state, pod, statuses, nodes)
	if len(candidates) == 0 {
		why.Absent = notHelpful
		fit := framework.FitError{Pod: pod, NumAllNodes: len(nodes), Diagnosis: framework.Diagnosis{Statuses: *why}}
		return &framework.PostFilterResult{}, framework.NewStatus(Name, framework.Unschedulable, "preemption: "+fit.Error())
	}
	best := pick(candidates)
	res := &framework.PostFilterResult{NominatedNode: best.node}
	for _, v := range best.victims {
		res.Victims = append(res.Victims, v.Key)
	}
	return res, framework.NewStatus(Name, framework.Success,
		fmt.Sprintf("preemption: found a potential placement for pod on node %v, preempting %d victims", best.node, len(best.victims)))
}

// notEligible says why the pod may not preempt: it does not want to, or its
// victims are still going.
func notEligible(pod *corev1.Pod, statuses *framework.NodeStatuses, nodes []*framework.NodeInfo) string {
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		return "not eligible due to preemptionPolicy=Never."
	}
	nominated := pod.Status.NominatedNodeName
	if nominated == "" || statuses.Of(nominated).Code() == framework.UnschedulableAndUnresolvable {
		return ""
	}
	for _, n := range nodes {
		if n.Node.Name != nominated {
			continue
		}
		for _, p := range n.Pods {
			if lower(p, pod) && terminatingByPreemption(p.Pod) {
				return "not eligible due to a terminating pod on the nominated node."
			}
		}
	}
	return ""
}

func lower(p *framework.PodInfo, pod *corev1.Pod) bool {
	return v1helper.PodPriority(p.Pod) < v1helper.PodPriority(pod)
}

func terminatingByPreemption(p *corev1.Pod) bool {
	if p.DeletionTimestamp == nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
		}
	}
	return false
}

// findCandidates tries the nodes whose rejection could be mended by removing
// pods, from a random one on, until there are enough candidates.
func (pl *DefaultPreemption) findCandidates(t *sim.Task, state *framework.CycleState, pod *corev1.Pod, statuses *framework.NodeStatuses, nodes []*framework.NodeInfo) ([]candidate, *framework.NodeStatuses) {
	why := &framework.NodeStatuses{}
	var potential []*framework.NodeInfo
	for _, n := range nodes {
		if statuses.Of(n.Node.Name).Code() == framework.Unschedulable {
			potential = append(potential, n)
		}
	}
	if len(potential) == 0 {
		return nil, why
	}
	enough := min(max(len(potential)*minCandidateNodesPercentage/100, minCandidateNodesAbsolute), len(potential))
	offset := t.Rand().IntN(len(potential))
	var candidates []candidate
	for i := 0; i < len(potential) && len(candidates) < enough; i++ {
		n := potential[(offset+i)%len(potential)]
		victims, st := pl.selectVictims(state, pod, n)
		if st != nil {
			why.Set(n.Node.Name, st)
			continue
		}
		candidates = append(candidates, candidate{n.Node.Name, victims})
	}
	return candidates, why
}

// selectVictims finds the fewest and least important pods that must go: all of
// lower priority are taken away, and then as many as possible put back, the
// most important first.
//
// Mirrors SelectVictimsOnNode.
func (pl *DefaultPreemption) selectVictims(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) ([]*framework.PodInfo, *framework.Status) {
	var potential []*framework.PodInfo
	for _, p := range node.Pods {
		if lower(p, pod) {
			potential = append(potential, p)
		}
	}
	if len(potential) == 0 {
		return nil, noVictims
	}
	state, node = state.Clone(), node.Clone()
	for _, p := range potential {
		pl.Cluster.RemovePod(state, pod, p, node)
	}
	if st := pl.Cluster.Fits(state, pod, node); st != nil {
		return nil, st
	}
	slices.SortFunc(potential, moreImportant)
	var victims []*framework.PodInfo
	for _, p := range potential {
		pl.Cluster.AddPod(state, pod, p, node)
		if pl.Cluster.Fits(state, pod, node) != nil {
			pl.Cluster.RemovePod(state, pod, p, node)
			victims = append(victims, p)
		}
	}
	return victims, nil
}

// moreImportant sorts by priority, then by age.
func moreImportant(a, b *framework.PodInfo) int {
	return cmp.Or(
		cmp.Compare(v1helper.PodPriority(b.Pod), v1helper.PodPriority(a.Pod)),
		started(a).Compare(started(b)),
		cmp.Compare(a.Key, b.Key),
	)
}

// notStarted is when a pod counts as started that no kubelet has seen yet: after all that
// have (pkg/scheduler/util GetPodStartTime).
var notStarted = time.Unix(1<<40, 0)

func started(p *framework.PodInfo) time.Time {
	if p.Pod.Status.StartTime == nil {
		return notStarted
	}
	return p.Pod.Status.StartTime.Time
}

// pick takes the candidate that does the least harm: whose most important
// victim has the lowest priority, then the lowest sum of priorities, then the
// fewest victims, then whose most important victim started last.
//
// Mirrors framework/preemption/preemption.go pickOneNodeForPreemption.
func pick(candidates []candidate) candidate {
	return slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(v1helper.PodPriority(a.victims[0].Pod), v1helper.PodPriority(b.victims[0].Pod)),
			cmp.Compare(sum(a.victims), sum(b.victims)),
			cmp.Compare(len(a.victims), len(b.victims)),
			started(b.victims[0]).Compare(started(a.victims[0])),
		)
	})
}

// sum adds up priorities moved into the positive, so that a node with few
// victims of negative priority does not lose to one with many.
func sum(victims []*framework.PodInfo) (total int64) {
	for _, v := range victims {
		total += int64(v1helper.PodPriority(v.Pod)) + 1<<31
	}
	return total
}
