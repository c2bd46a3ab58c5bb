// Package defaultpreemption is the DefaultPreemption plugin: where a pod fits
// nowhere, it looks for the node on which the pod would fit if pods of lower
// priority went, and takes the one where that does the least harm. The pod is
// not bound: its victims are deleted with their grace period, and it is
// scheduled again when they are gone, if the room is still there.
//
// A PodDisruptionBudget is no obstacle here as it is to an eviction through the API: a
// victim that its budget does not allow to go is spared first, and a node with fewer such
// victims is preferred.
//
// Mirrors pkg/scheduler/framework/plugins/defaultpreemption and
// framework/preemption. Simplified: no pod groups; budgets are charged in the order of their
// names, upstream's in any.
//
// Start reading at [DefaultPreemption.PostFilter].
package defaultpreemption

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "preemption charges PodDisruptionBudgets in the order of their names, upstream in any",
})

const (
	// Name is the plugin's name.
	Name = "DefaultPreemption"
	// ErrReasonNoVictims is why room cannot be made on a node.
	ErrReasonNoVictims = "No preemption victims found for incoming pod"
	// ErrReasonNotHelpful is why a node was not even tried.
	ErrReasonNotHelpful = "Preemption is not helpful for scheduling"
)

// usual is how many candidates are enough by upstream's defaults.
var usual = config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}

// Cluster is what the plugin needs of the scheduler.
type Cluster interface {
	Nodes() []*framework.NodeInfo
	AddPod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo)
	RemovePod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo)
	Fits(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status
	// Preempting reports whether the pod's victims are still to be evicted.
	Preempting(pod *corev1.Pod) bool
	// Budgets are all PodDisruptionBudgets, in a fixed order.
	Budgets() []*policyv1.PodDisruptionBudget
}

// DefaultPreemption is the plugin.
type DefaultPreemption struct {
	Cluster Cluster
	Args    *config.DefaultPreemptionArgs // nil: upstream's defaults
}

var (
	noVictims  = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonNoVictims)
	notHelpful = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonNotHelpful)
)

// candidate is a node and the pods that would have to go, the most important
// first.
type candidate struct {
	node       string
	victims    []*framework.PodInfo
	violates   map[*framework.PodInfo]string // the budget that does not allow a pod to go
	violations int                           // how many of the victims are in violates
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
	best, because := pick(candidates)
	res := &framework.PostFilterResult{NominatedNode: best.node, Because: because}
	for _, v := range best.victims {
		res.Victims = append(res.Victims, v.Key)
	}
	for i := range candidates {
		res.Candidates = append(res.Candidates, candidates[i].told())
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

// told is the candidate as the trace has it.
func (c *candidate) told() trace.PreemptionCandidate {
	told := trace.PreemptionCandidate{Node: c.node}
	for _, v := range c.victims {
		told.Victims = append(told.Victims, trace.Victim{Pod: v.Key, Priority: v1helper.PodPriority(v.Pod), Budget: c.violates[v]})
	}
	return told
}

// findCandidates tries the nodes whose rejection could be mended by removing
// pods, from a random one on, until there are enough candidates, one of which violates no
// budget. Those that violate none come first.
//
// Mirrors framework/preemption/preemption.go DryRunPreemption.
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
	budgets := parsed(pl.Cluster.Budgets())
	args := cmp.Or(pl.Args, &usual)
	enough := min(max(len(potential)*int(args.MinCandidateNodesPercentage)/100, int(args.MinCandidateNodesAbsolute)), len(potential))
	offset := t.Rand().IntN(len(potential))
	var kind, violating []candidate
	for i := 0; i < len(potential) && (len(kind) == 0 || len(kind)+len(violating) < enough); i++ {
		c, st := pl.selectVictims(state, pod, potential[(offset+i)%len(potential)], budgets)
		switch {
		case st != nil:
			why.Set(c.node, st)
		case c.violations == 0:
			kind = append(kind, c)
		case len(violating) < enough:
			violating = append(violating, c)
		}
	}
	return append(kind, violating...), why
}

// selectVictims finds the fewest and least important pods that must go: all of
// lower priority are taken away, and then as many as possible put back: first those whose
// budgets do not allow them to go, the most important first.
//
// Mirrors SelectVictimsOnNode.
func (pl *DefaultPreemption) selectVictims(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo, budgets []budget) (candidate, *framework.Status) {
	c := candidate{node: node.Node.Name}
	var potential []*framework.PodInfo
	for _, p := range node.Pods {
		if lower(p, pod) {
			potential = append(potential, p)
		}
	}
	if len(potential) == 0 {
		return c, noVictims
	}
	slices.SortFunc(potential, moreImportant)
	state, node = state.Clone(), node.Clone()
	for _, p := range potential {
		pl.Cluster.RemovePod(state, pod, p, node)
	}
	if st := pl.Cluster.Fits(state, pod, node); st != nil {
		return c, st
	}
	c.violates = violated(potential, budgets)
	spare := func(violating bool) {
		for _, p := range potential {
			if (c.violates[p] != "") != violating {
				continue
			}
			pl.Cluster.AddPod(state, pod, p, node)
			if pl.Cluster.Fits(state, pod, node) != nil {
				pl.Cluster.RemovePod(state, pod, p, node)
				c.victims = append(c.victims, p)
			}
		}
	}
	spare(true)
	c.violations = len(c.victims)
	spare(false)
	if len(c.victims) == 0 {
		return c, framework.AsStatus(Name, fmt.Errorf("expected at least one victim pod on node %q", c.node))
	}
	slices.SortFunc(c.victims, moreImportant)
	return c, nil
}

// moreImportant sorts by priority, then by age.
func moreImportant(a, b *framework.PodInfo) int {
	return cmp.Or(
		cmp.Compare(v1helper.PodPriority(b.Pod), v1helper.PodPriority(a.Pod)),
		started(a).Compare(started(b)),
		cmp.Compare(a.Key, b.Key),
	)
}
