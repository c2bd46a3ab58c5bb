// Package nodeaffinity is the NodeAffinity plugin: spec.nodeSelector and the
// required node affinity reject nodes, the preferred node affinity scores them.
//
// Mirrors pkg/scheduler/framework/plugins/nodeaffinity; the matching itself is
// upstream's own (k8s.io/component-helpers).
//
// Start reading at [Fits].
package nodeaffinity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodeAffinity"
	// ErrReasonPod is why a node is rejected.
	ErrReasonPod = "node(s) didn't match Pod's node affinity/selector"
	// ErrReasonEnforced is why a node is that addedAffinity keeps out.
	ErrReasonEnforced = "node(s) didn't match scheduler-enforced node affinity"
	// ErrReasonConflict is why a pod that asks for two nodes at once is.
	ErrReasonConflict = "pod affinity terms conflict"

	filterKey = "PreFilter" + Name
	scoreKey  = "PreScore" + Name
)

// NodeAffinity is the plugin.
type NodeAffinity struct {
	// What every pod of the profile requires and prefers besides what it says itself
	// (NodeAffinityArgs.addedAffinity); nil: nothing.
	added     *nodeaffinity.NodeSelector
	preferred *nodeaffinity.PreferredSchedulingTerms
}

// New is the plugin with an affinity that it adds to every pod's own; nil is none.
func New(added *corev1.NodeAffinity) (*NodeAffinity, error) {
	pl := &NodeAffinity{}
	if added == nil {
		return pl, nil
	}
	var err error
	if ns := added.RequiredDuringSchedulingIgnoredDuringExecution; ns != nil {
		if pl.added, err = nodeaffinity.NewNodeSelector(ns); err != nil {
			return nil, fmt.Errorf("parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: %w", err)
		}
	}
	if terms := added.PreferredDuringSchedulingIgnoredDuringExecution; len(terms) > 0 {
		if pl.preferred, err = nodeaffinity.NewPreferredSchedulingTerms(terms); err != nil {
			return nil, fmt.Errorf("parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: %w", err)
		}
	}
	return pl, nil
}

var (
	skip     = framework.NewStatus(Name, framework.Skip)
	rejected = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonPod)
	enforced = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonEnforced)
	conflict = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonConflict)
)

// Name is [Name].
func (*NodeAffinity) Name() string { return Name }

// SignPod: the node selector and the node affinity.
func (*NodeAffinity) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignNodeAffinity(pod), nil
}

func affinity(pod *corev1.Pod) *corev1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity
}

// Fits reports whether the node's labels and name match what the pod requires.
// A term that does not parse matches nothing.
func Fits(pod *corev1.Pod, node *corev1.Node) bool {
	ok, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return ok
}

// PreFilter parses the selector once; a pod whose every term names nodes (as a
// DaemonSet's do) is judged on those alone.
func (pl *NodeAffinity) PreFilter(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	a := affinity(pod)
	required := a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if !required && pl.added == nil && pod.Spec.NodeSelector == nil {
		return nil, skip
	}
	state.Write(filterKey, nodeaffinity.GetRequiredNodeAffinity(pod))
	if !required {
		return nil, nil
	}
	var names map[string]bool
	for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		named := namedNodes(&term)
		if named == nil {
			return nil, nil // terms are ORed: this one allows any node
		}
		if names == nil {
			names = map[string]bool{}
		}
		for n := range named {
			names[n] = true
		}
	}
	if names != nil && len(names) == 0 {
		return nil, conflict
	}
	if names == nil {
		return nil, nil
	}
	return &framework.PreFilterResult{NodeNames: names}, nil
}

// namedNodes is the nodes a term names by metadata.name, nil if it names none.
func namedNodes(term *corev1.NodeSelectorTerm) map[string]bool {
	var names map[string]bool
	for _, r := range term.MatchFields {
		if r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		these := map[string]bool{}
		for _, v := range r.Values {
			if names == nil || names[v] {
				these[v] = true
			}
		}
		names = these
	}
	return names
}

// Filter rejects nodes that do not match.
func (pl *NodeAffinity) Filter(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	if pl.added != nil && !pl.added.Match(node.Node) {
		return enforced
	}
	required, ok := state.Read(filterKey).(nodeaffinity.RequiredNodeAffinity)
	if !ok {
		required = nodeaffinity.GetRequiredNodeAffinity(pod)
	}
	// Errors in the terms are ignored, as upstream does: they do not match.
	if ok, _ := required.Match(node.Node); ok {
		return nil
	}
	return rejected
}

// PreScore parses the preferred terms.
func (pl *NodeAffinity) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	terms, err := preferred(pod)
	if err != nil {
		return framework.AsStatus(Name, err)
	}
	if terms == nil && pl.preferred == nil {
		return skip
	}
	state.Write(scoreKey, terms)
	return nil
}

// preferred are the terms that the pod prefers, nil if it has none.
func preferred(pod *corev1.Pod) (*nodeaffinity.PreferredSchedulingTerms, error) {
	a := affinity(pod)
	if a == nil || a.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return nil, nil
	}
	return nodeaffinity.NewPreferredSchedulingTerms(a.PreferredDuringSchedulingIgnoredDuringExecution)
}

// Score is the sum of the weights of the preferred terms that match.
func (pl *NodeAffinity) Score(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) (sum int64) {
	if pl.preferred != nil {
		sum = pl.preferred.Score(node.Node)
	}
	terms, ok := state.Read(scoreKey).(*nodeaffinity.PreferredSchedulingTerms)
	if !ok { // where the profile has no PreScore of this plugin
		terms, _ = preferred(pod)
	}
	if terms != nil {
		sum += terms.Score(node.Node)
	}
	return sum
}

// NormalizeScore gives the best node 100.
func (*NodeAffinity) NormalizeScore(_ *framework.CycleState, _ []*framework.NodeInfo, scores []int64) {
	framework.DefaultNormalizeScore(false, scores)
}

// ExplainScore names the sum.
func (pl *NodeAffinity) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	return fmt.Sprintf("weights of the preferred terms that match add up to %d", pl.Score(state, pod, node))
}

// EventsToRegister: a node that is new or has other labels.
func (pl *NodeAffinity) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeLabel}, Hint: pl.afterNodeChange},
	}
}

func (pl *NodeAffinity) afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	is, ok := new.(*corev1.Node)
	if !ok || pl.added != nil && !pl.added.Match(is) || !Fits(pod, is) {
		return false
	}
	was, _ := old.(*corev1.Node)
	return was == nil || !Fits(pod, was)
}
