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
	// ErrReasonConflict is why a pod that asks for two nodes at once is.
	ErrReasonConflict = "pod affinity terms conflict"

	filterKey = "PreFilter" + Name
	scoreKey  = "PreScore" + Name
)

// NodeAffinity is the plugin.
type NodeAffinity struct{}

var (
	skip     = framework.NewStatus(Name, framework.Skip)
	rejected = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonPod)
	conflict = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonConflict)
)

// Name is [Name].
func (*NodeAffinity) Name() string { return Name }

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
func (*NodeAffinity) PreFilter(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	a := affinity(pod)
	required := a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if !required && pod.Spec.NodeSelector == nil {
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
func (*NodeAffinity) Filter(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
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
func (*NodeAffinity) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	a := affinity(pod)
	if a == nil || a.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return skip
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return framework.AsStatus(Name, err)
	}
	state.Write(scoreKey, terms)
	return nil
}

// Score is the sum of the weights of the preferred terms that match.
func (*NodeAffinity) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	if terms := framework.Read[*nodeaffinity.PreferredSchedulingTerms](state, scoreKey); terms != nil {
		return terms.Score(node.Node)
	}
	return 0
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
func (*NodeAffinity) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeLabel}, Hint: afterNodeChange},
	}
}

func afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	is, ok := new.(*corev1.Node)
	if !ok || !Fits(pod, is) {
		return false
	}
	was, _ := old.(*corev1.Node)
	return was == nil || !Fits(pod, was)
}
