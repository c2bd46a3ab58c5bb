package interpodaffinity

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/scheduler/framework"
)

var (
	noAffinity   = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonAffinity)
	antiAffinity = framework.NewStatus(Name, framework.Unschedulable, ErrReasonAntiAffinity)
	existing     = framework.NewStatus(Name, framework.Unschedulable, ErrReasonExistingAntiAffinity)
)

// domain is the nodes on which a label has a value.
type domain struct{ key, value string }

// counts is how many terms match in each domain; a domain in which none does is not there.
type counts map[domain]int

func (c *counts) add(node *corev1.Node, key string, n int) {
	if node == nil {
		return
	}
	value, ok := node.Labels[key]
	if !ok {
		return
	}
	if *c == nil {
		*c = counts{}
	}
	d := domain{key, value}
	if (*c)[d] += n; (*c)[d] == 0 {
		delete(*c, d)
	}
}

func (c *counts) addAll(on []framework.PodsOn, key string, sign int) {
	for _, o := range on {
		c.add(o.Node.Node, key, sign*o.Pods)
	}
}

// filterState is what there is in each domain.
type filterState struct {
	namespace labels.Set // of the pod's namespace
	affinity  []framework.AffinityTerm
	anti      []framework.AffinityTerm
	// wanted counts the pods that match all terms of the pod's affinity, unwanted those
	// that match one of its anti-affinity, and unwelcoming the terms of pods that keep
	// this one away.
	wanted, unwanted, unwelcoming counts
}

// CloneState is for [framework.CycleState.Clone].
func (s *filterState) CloneState() any {
	c := *s
	c.wanted, c.unwanted, c.unwelcoming = maps.Clone(s.wanted), maps.Clone(s.unwanted), maps.Clone(s.unwelcoming)
	return &c
}

// PreFilter counts what matches in each domain.
func (pl *InterPodAffinity) PreFilter(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	s := &filterState{namespace: pl.Cluster.NamespaceLabels(pod.Namespace)}
	if a := affinityOf(state, pod); a != nil {
		if a.Err != nil {
			return nil, framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, "parsing pod: "+a.Err.Error())
		}
		s.affinity, s.anti = pl.resolveAll(a.Required), pl.resolveAll(a.RequiredAnti)
	}
	none := len(s.affinity) == 0 && len(s.anti) == 0
	for _, kind := range pl.Cluster.Kinds().WithAffinity() {
		s.countUnwelcoming(pod, kind.One, kind.On, 1)
	}
	if !none {
		for _, kind := range pl.Cluster.Kinds().All() {
			s.countMatching(kind.One.Pod, kind.On, 1)
		}
	}
	state.Write(filterKey, s)
	if none && len(s.unwelcoming) == 0 {
		return nil, skip
	}
	return nil, nil
}

// affinityOf is the parsed affinity of the pod of the cycle.
func affinityOf(state *framework.CycleState, pod *corev1.Pod) *framework.PodAffinity {
	if state.Pod != nil && state.Pod.Pod == pod {
		return state.Pod.Affinity
	}
	return framework.NewPodAffinity(pod)
}

// count counts the pods of a node in, or out.
func (s *filterState) count(pod *corev1.Pod, node *framework.NodeInfo, sign int) {
	one := []framework.PodsOn{{Node: node, Pods: 1}}
	for _, p := range node.PodsWithRequiredAntiAffinity {
		s.countUnwelcoming(pod, p, one, sign)
	}
	if len(s.affinity) == 0 && len(s.anti) == 0 {
		return
	}
	for _, p := range node.Pods {
		s.countMatching(p.Pod, one, sign)
	}
}

// countUnwelcoming counts the terms of pods that are there which keep the pod away.
func (s *filterState) countUnwelcoming(pod *corev1.Pod, there *framework.PodInfo, on []framework.PodsOn, sign int) {
	if there.Affinity == nil {
		return
	}
	for i := range there.Affinity.RequiredAnti {
		if t := &there.Affinity.RequiredAnti[i]; t.Matches(pod, s.namespace) {
			s.unwelcoming.addAll(on, t.TopologyKey, sign)
		}
	}
}

// countMatching counts pods that are there which the pod's terms are about.
func (s *filterState) countMatching(there *corev1.Pod, on []framework.PodsOn, sign int) {
	if matchesAll(s.affinity, there) {
		for i := range s.affinity {
			s.wanted.addAll(on, s.affinity[i].TopologyKey, sign)
		}
	}
	for i := range s.anti {
		if t := &s.anti[i]; t.Matches(there, nil) {
			s.unwanted.addAll(on, t.TopologyKey, sign)
		}
	}
}

// AddPod counts a pod in.
func (*InterPodAffinity) AddPod(state *framework.CycleState, pod *corev1.Pod, added *framework.PodInfo, node *framework.NodeInfo) {
	move(state, pod, added, node, 1)
}

// RemovePod counts a pod out.
func (*InterPodAffinity) RemovePod(state *framework.CycleState, pod *corev1.Pod, removed *framework.PodInfo, node *framework.NodeInfo) {
	move(state, pod, removed, node, -1)
}

func move(state *framework.CycleState, pod *corev1.Pod, moved *framework.PodInfo, node *framework.NodeInfo, sign int) {
	if s := framework.Read[*filterState](state, filterKey); s != nil {
		one := []framework.PodsOn{{Node: node, Pods: 1}}
		s.countUnwelcoming(pod, moved, one, sign)
		s.countMatching(moved.Pod, one, sign)
	}
}

// ReplaceNode counts the pods of one node instead of another's.
func (*InterPodAffinity) ReplaceNode(state *framework.CycleState, pod *corev1.Pod, was, is *framework.NodeInfo) {
	if s := framework.Read[*filterState](state, filterKey); s != nil {
		s.count(pod, was, -1)
		s.count(pod, is, 1)
	}
}

// Filter judges a node by what there is in its domains.
func (*InterPodAffinity) Filter(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	s := framework.Read[*filterState](state, filterKey)
	switch {
	case s == nil:
		return nil
	case !s.near(pod, node.Node):
		return noAffinity
	case s.nearUnwanted(node.Node):
		return antiAffinity
	case s.nearUnwelcoming(node.Node):
		return existing
	}
	return nil
}

// near reports whether in each domain of the node that the pod's affinity is about there is a pod
// that it wants to be near. The first pod of a group whose pods want to be near each
// other has only itself, and that is enough.
func (s *filterState) near(pod *corev1.Pod, node *corev1.Node) bool {
	all := true
	for i := range s.affinity {
		key := s.affinity[i].TopologyKey
		value, ok := node.Labels[key]
		if !ok {
			return false
		}
		all = all && s.wanted[domain{key, value}] > 0
	}
	return all || len(s.wanted) == 0 && matchesAll(s.affinity, pod)
}

func (s *filterState) nearUnwanted(node *corev1.Node) bool {
	if len(s.unwanted) == 0 {
		return false
	}
	for i := range s.anti {
		key := s.anti[i].TopologyKey
		if value, ok := node.Labels[key]; ok && s.unwanted[domain{key, value}] > 0 {
			return true
		}
	}
	return false
}

func (s *filterState) nearUnwelcoming(node *corev1.Node) bool {
	if len(s.unwelcoming) == 0 {
		return false
	}
	for key, value := range node.Labels {
		if s.unwelcoming[domain{key, value}] > 0 {
			return true
		}
	}
	return false
}
