package podtopologyspread

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kviz/cluster/scheduler/framework"
)

var (
	rejected = framework.NewStatus(Name, framework.Unschedulable, ErrReasonConstraints)
	noLabel  = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonLabel)
)

// domain is what the nodes with one value of a topology's label have together.
type domain struct{ nodes, pods int }

// filterState is how the pods that the constraints are about are spread.
//
// Upstream's preFilterState knows the two domains with the fewest pods. Here the least is
// looked for when it is asked for, so that a node can be replaced too.
type filterState struct {
	constraints []constraint
	affinity    nodeaffinity.RequiredNodeAffinity
	domains     []map[string]domain // by constraint, by the label's value
	least       []int               // by constraint; unknown until it is asked for
}

// unknown is what has to be looked for.
const unknown = -1 << 31

// CloneState is for [framework.CycleState.Clone].
func (s *filterState) CloneState() any {
	c := *s
	c.domains = make([]map[string]domain, len(s.domains))
	c.least = make([]int, len(s.least))
	for i := range s.domains {
		c.domains[i], c.least[i] = maps.Clone(s.domains[i]), s.least[i]
	}
	return &c
}

// PreFilter counts the pods in each domain.
func (pl *PodTopologySpread) PreFilter(state *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	constraints, err := pl.required(pod)
	if err != nil {
		return nil, framework.AsStatus(Name, fmt.Errorf("get constraints from pod: %w", err))
	}
	if len(constraints) == 0 {
		return nil, skip
	}
	s := &filterState{
		constraints: constraints, affinity: nodeaffinity.GetRequiredNodeAffinity(pod),
		domains: make([]map[string]domain, len(constraints)), least: make([]int, len(constraints)),
	}
	for i := range s.domains {
		domains := 0
		if constraints[i].topologyKey == corev1.LabelHostname {
			domains = len(nodes)
		}
		s.domains[i], s.least[i] = make(map[string]domain, domains), unknown
	}
	for _, n := range nodes {
		s.count(pod, n, 1, false)
	}
	for _, kind := range pl.Kinds().All() {
		for i := range constraints {
			if counts(kind.One.Pod, constraints[i].selector, pod.Namespace) {
				s.countKind(i, pod, kind)
			}
		}
	}
	state.Write(filterKey, s)
	return nil, nil
}

// countKind counts in the pods of a kind that a constraint is about.
func (s *filterState) countKind(i int, pod *corev1.Pod, kind *framework.PodKind) {
	c := &s.constraints[i]
	for _, on := range kind.On {
		node := on.Node.Node
		if node == nil || !labelled(node, s.constraints) || !c.includes(pod, s.affinity, node) {
			continue
		}
		value := node.Labels[c.topologyKey]
		d := s.domains[i][value]
		d.pods += on.Pods
		s.domains[i][value] = d
	}
}

// count counts a node in, or out, with its pods or without.
func (s *filterState) count(pod *corev1.Pod, node *framework.NodeInfo, sign int, pods bool) {
	if !labelled(node.Node, s.constraints) {
		return
	}
	for i := range s.constraints {
		c := &s.constraints[i]
		if !c.includes(pod, s.affinity, node.Node) {
			continue
		}
		value := node.Node.Labels[c.topologyKey]
		d := s.domains[i][value]
		d.nodes += sign
		if pods {
			d.pods += sign * matching(node, c.selector, pod.Namespace)
		}
		s.domains[i][value], s.least[i] = d, unknown
		if d.nodes == 0 {
			delete(s.domains[i], value)
		}
	}
}

// AddPod counts a pod in.
func (*PodTopologySpread) AddPod(state *framework.CycleState, pod *corev1.Pod, added *framework.PodInfo, node *framework.NodeInfo) {
	framework.Read[*filterState](state, filterKey).move(pod, added.Pod, node.Node, 1)
}

// RemovePod counts a pod out.
func (*PodTopologySpread) RemovePod(state *framework.CycleState, pod *corev1.Pod, removed *framework.PodInfo, node *framework.NodeInfo) {
	framework.Read[*filterState](state, filterKey).move(pod, removed.Pod, node.Node, -1)
}

// move counts one pod of a node in or out. Unlike in [filterState.count], one that is on its way
// out counts, and an empty selector matches: so it is upstream.
func (s *filterState) move(pod, moved *corev1.Pod, node *corev1.Node, sign int) {
	if s == nil || moved.Namespace != pod.Namespace || node == nil || !labelled(node, s.constraints) {
		return
	}
	for i := range s.constraints {
		c := &s.constraints[i]
		if !c.selector.Matches(labels.Set(moved.Labels)) || !c.includes(pod, s.affinity, node) {
			continue
		}
		value := node.Labels[c.topologyKey]
		d := s.domains[i][value]
		d.pods += sign
		s.domains[i][value], s.least[i] = d, unknown
	}
}

// ReplaceNode counts one node instead of another.
func (*PodTopologySpread) ReplaceNode(state *framework.CycleState, pod *corev1.Pod, was, is *framework.NodeInfo) {
	if s := framework.Read[*filterState](state, filterKey); s != nil {
		s.count(pod, was, -1, true)
		s.count(pod, is, 1, true)
	}
}

// fewest is the number of pods of the domain that has the fewest; 0 if there are fewer
// domains than the constraint wants.
func (s *filterState) fewest(i int) int {
	if len(s.domains[i]) < s.constraints[i].minDomains {
		return 0
	}
	if s.least[i] == unknown {
		first := true
		for _, d := range s.domains[i] {
			if first || d.pods < s.least[i] {
				s.least[i], first = d.pods, false
			}
		}
	}
	return s.least[i]
}

// Filter rejects a node in whose domain there would be more pods than maxSkew above the
// domain that has the fewest.
func (*PodTopologySpread) Filter(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	s := framework.Read[*filterState](state, filterKey)
	if s == nil {
		return nil
	}
	for i := range s.constraints {
		c := &s.constraints[i]
		value, ok := node.Node.Labels[c.topologyKey]
		if !ok {
			return noLabel
		}
		self := 0
		if c.selector.Matches(labels.Set(pod.Labels)) {
			self = 1
		}
		if s.domains[i][value].pods+self-s.fewest(i) > int(c.maxSkew) {
			return rejected
		}
	}
	return nil
}
