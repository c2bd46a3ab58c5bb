// Package podtopologyspread is the PodTopologySpread plugin: it spreads the pods that a
// selector matches over the domains of a topology, which are the values of a node label,
// such as zones. What a pod's spec.topologySpreadConstraints demand (DoNotSchedule) rejects
// nodes, and what they prefer (ScheduleAnyway) scores them.
//
// A pod without constraints of its own has the default ones, if it belongs to a Service or
// to a controller: the pods of those are preferred to be on different nodes, and in
// different zones.
//
// Mirrors pkg/scheduler/framework/plugins/podtopologyspread. It is a port and not upstream's own
// code, which reads a snapshot's interfaces with contexts; cluster/scheduler/upstream compares the two.
//
// Start reading at [constraint], then filtering.go and scoring.go.
package podtopologyspread

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/tainttoleration"
)

const (
	// Name is the plugin's name.
	Name = "PodTopologySpread"
	// ErrReasonConstraints is why a node is rejected.
	ErrReasonConstraints = "node(s) didn't match pod topology spread constraints"
	// ErrReasonLabel is why a node is that belongs to no domain.
	ErrReasonLabel = ErrReasonConstraints + " (missing required label)"

	filterKey = "PreFilter" + Name
	scoreKey  = "PreScore" + Name
)

// PodTopologySpread is the plugin. Kinds are those of the pods on nodes, TopologyOf gives that of the nodes
// by a label, which scores need, and Objects are what default constraints are derived from.
type PodTopologySpread struct {
	Kinds      func() *framework.PodKinds
	TopologyOf func(key string) *framework.Topology
	Objects    Objects
	Args       *config.PodTopologySpreadArgs // nil: upstream's defaults
}

// systemDefaulted reports whether pods without constraints have the system's.
func (pl *PodTopologySpread) systemDefaulted() bool {
	return pl.Args == nil || pl.Args.DefaultingType == config.SystemDefaulting
}

var skip = framework.NewStatus(Name, framework.Skip)

// Name is [Name].
func (*PodTopologySpread) Name() string { return Name }

// SignPod: constraints, a pod's own or the default ones, depend on where others are. So no pod is
// signed by a profile that has the system's default constraints.
func (pl *PodTopologySpread) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	switch {
	case len(pod.Spec.TopologySpreadConstraints) > 0:
		return nil, constrained
	case pl.systemDefaulted() || len(pl.Args.DefaultConstraints) > 0:
		return nil, defaulted
	}
	return nil, nil
}

var (
	constrained = framework.NewStatus(Name, framework.Unschedulable, "pods with topology constraints are not signable")
	defaulted   = framework.NewStatus(Name, framework.Unschedulable, "pods with default topology constraints are not signable")
)

// constraint is a topologySpreadConstraint with its selector parsed and its defaults
// filled in.
type constraint struct {
	maxSkew     int32
	topologyKey string
	selector    labels.Selector
	minDomains  int
	affinity    corev1.NodeInclusionPolicy
	taints      corev1.NodeInclusionPolicy
}

// system are the constraints of a pod that has none, unless the configuration lists others
// (defaultingType: System).
var system = []corev1.TopologySpreadConstraint{
	{TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 3},
	{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 5},
}

// parse gives those of a pod's constraints that say what to do with a node that does
// not satisfy them.
func parse(list []corev1.TopologySpreadConstraint, pod *corev1.Pod, action corev1.UnsatisfiableConstraintAction) ([]constraint, error) {
	var parsed []constraint
	for i := range list {
		c := &list[i]
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil, err
		}
		p := constraint{
			maxSkew: c.MaxSkew, topologyKey: c.TopologyKey, selector: withKeys(selector, c.MatchLabelKeys, pod), minDomains: 1,
			affinity: corev1.NodeInclusionPolicyHonor, taints: corev1.NodeInclusionPolicyIgnore,
		}
		if c.MinDomains != nil {
			p.minDomains = int(*c.MinDomains)
		}
		if c.NodeAffinityPolicy != nil {
			p.affinity = *c.NodeAffinityPolicy
		}
		if c.NodeTaintsPolicy != nil {
			p.taints = *c.NodeTaintsPolicy
		}
		parsed = append(parsed, p)
	}
	return parsed, nil
}

// withKeys narrows a selector to the pods whose labels with these keys are the pod's own
// (matchLabelKeys).
func withKeys(selector labels.Selector, keys []string, pod *corev1.Pod) labels.Selector {
	own := labels.Set{}
	for _, key := range keys {
		if value, ok := pod.Labels[key]; ok {
			own[key] = value
		}
	}
	requirements, selectable := selector.Requirements()
	if len(own) == 0 || !selectable {
		return selector
	}
	return labels.SelectorFromSet(own).Add(requirements...)
}

// required are the constraints that reject nodes: the pod's own, or the default ones, of which
// the system's never do.
func (pl *PodTopologySpread) required(pod *corev1.Pod) ([]constraint, error) {
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		constraints, err := pl.defaults(pod, corev1.DoNotSchedule)
		if err != nil {
			return nil, fmt.Errorf("setting default hard topology spread constraints: %w", err)
		}
		return constraints, nil
	}
	constraints, err := parse(pod.Spec.TopologySpreadConstraints, pod, corev1.DoNotSchedule)
	if err != nil {
		return nil, fmt.Errorf("obtaining pod's hard topology spread constraints: %w", err)
	}
	return constraints, nil
}

// defaults are the constraints of a pod that has none of its own: they are about the pods of its
// Services and of its controller.
//
// Mirrors common.go buildDefaultConstraints.
func (pl *PodTopologySpread) defaults(pod *corev1.Pod, action corev1.UnsatisfiableConstraintAction) ([]constraint, error) {
	list := system
	if !pl.systemDefaulted() {
		list = pl.Args.DefaultConstraints
	}
	constraints, err := parse(list, pod, action)
	if err != nil || len(constraints) == 0 {
		return nil, err
	}
	selector := defaultSelector(pl.Objects, pod)
	if selector.Empty() {
		return nil, nil
	}
	for i := range constraints {
		constraints[i].selector = selector
	}
	return constraints, nil
}

// labelled reports whether the node has the labels of all constraints, and so belongs to a
// domain of each.
func labelled(node *corev1.Node, constraints []constraint) bool {
	for i := range constraints {
		if _, ok := node.Labels[constraints[i].topologyKey]; !ok {
			return false
		}
	}
	return true
}

// includes reports whether the node's pods count: by default those of the nodes that the
// pod's node affinity and selector match, whatever their taints.
func (c *constraint) includes(pod *corev1.Pod, affinity nodeaffinity.RequiredNodeAffinity, node *corev1.Node) bool {
	if c.affinity == corev1.NodeInclusionPolicyHonor {
		// Terms that do not parse match nothing.
		if ok, _ := affinity.Match(node); !ok {
			return false
		}
	}
	if c.taints == corev1.NodeInclusionPolicyHonor {
		if _, untolerated := tainttoleration.Untolerated(pod, node); untolerated {
			return false
		}
	}
	return true
}

// matching counts the pods on a node that the selector matches.
func matching(node *framework.NodeInfo, selector labels.Selector, namespace string) (n int) {
	for _, p := range node.Pods {
		if counts(p.Pod, selector, namespace) {
			n++
		}
	}
	return n
}

// counts reports whether the selector matches a pod that is not on its way out.
func counts(pod *corev1.Pod, selector labels.Selector, namespace string) bool {
	return pod.Namespace == namespace && pod.DeletionTimestamp == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels))
}
