package interpodaffinity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/scheduler/framework"
)

// scoreState is the sum of the weights that each domain has.
type scoreState struct {
	namespace labels.Set // of the pod's namespace
	preferred []framework.WeightedAffinityTerm
	anti      []framework.WeightedAffinityTerm
	weights   map[string]map[string]int64 // by label and value
	hard      int64                       // weight of a required term of a pod that is there
}

// PreScore adds up the weights of the preferred terms that match, the pod's own and those of
// the pods that are there; anti-affinity counts against a domain.
func (pl *InterPodAffinity) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	s := &scoreState{hard: int64(pl.args().HardPodAffinityWeight)}
	// A pod that prefers nothing itself is of interest only to pods that do.
	kinds, everyone := pl.Cluster.Kinds().WithAffinity(), false
	if a := affinityOf(state, pod); a != nil {
		if a.Err != nil {
			return framework.AsStatus(Name, fmt.Errorf("failed to parse pod: %w", a.Err))
		}
		s.preferred, s.anti = pl.resolveWeighted(a.Preferred), pl.resolveWeighted(a.PreferredAnti)
		if len(s.preferred) > 0 || len(s.anti) > 0 {
			kinds, everyone = pl.Cluster.Kinds().All(), true
		}
	}
	if len(kinds) == 0 || pl.args().IgnorePreferredTermsOfExistingPods && !everyone {
		return skip
	}
	s.namespace = pl.Cluster.NamespaceLabels(pod.Namespace)
	for _, kind := range kinds {
		s.count(pod, kind)
	}
	if len(s.weights) == 0 {
		return skip
	}
	state.Write(scoreKey, s)
	return nil
}

// count takes in the pods of a kind that are there, with what they and the pod prefer of each other.
func (s *scoreState) count(pod *corev1.Pod, kind *framework.PodKind) {
	on := kind.On
	s.addAll(s.preferred, kind.One.Pod, nil, on, 1)
	s.addAll(s.anti, kind.One.Pod, nil, on, -1)
	if a := kind.One.Affinity; a != nil {
		for i := range a.Required {
			if s.hard > 0 {
				s.add(&a.Required[i], pod, s.namespace, on, s.hard)
			}
		}
		s.addAll(a.Preferred, pod, s.namespace, on, 1)
		s.addAll(a.PreferredAnti, pod, s.namespace, on, -1)
	}
}

func (s *scoreState) addAll(terms []framework.WeightedAffinityTerm, pod *corev1.Pod, namespace labels.Set, on []framework.PodsOn, sign int64) {
	for i := range terms {
		s.add(&terms[i].AffinityTerm, pod, namespace, on, sign*int64(terms[i].Weight))
	}
}

func (s *scoreState) add(t *framework.AffinityTerm, pod *corev1.Pod, namespace labels.Set, on []framework.PodsOn, weight int64) {
	if !t.Matches(pod, namespace) {
		return
	}
	byValue := s.weights[t.TopologyKey]
	for _, o := range on {
		if o.Node.Node == nil {
			continue
		}
		value, ok := o.Node.Node.Labels[t.TopologyKey]
		if !ok {
			continue
		}
		if byValue == nil {
			if s.weights == nil {
				s.weights = map[string]map[string]int64{}
			}
			byValue = map[string]int64{}
			s.weights[t.TopologyKey] = byValue
		}
		byValue[value] += weight * int64(o.Pods)
	}
}

// Score is the sum of the weights of the node's domains: above zero where the pod is wanted,
// below where it is not.
func (*InterPodAffinity) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) (sum int64) {
	for key, byValue := range framework.Read[*scoreState](state, scoreKey).weights {
		if value, ok := node.Node.Labels[key]; ok {
			sum += byValue[value]
		}
	}
	return sum
}

// NormalizeScore gives the node with the greatest sum 100 and that with the least 0.
func (*InterPodAffinity) NormalizeScore(_ *framework.CycleState, _ []*framework.NodeInfo, scores []int64) {
	least, most := scores[0], scores[0]
	for _, s := range scores {
		least, most = min(least, s), max(most, s)
	}
	for i, s := range scores {
		scores[i] = 0
		if most > least {
			scores[i] = int64(float64(framework.MaxNodeScore) * (float64(s-least) / float64(most-least)))
		}
	}
}

// ExplainScore names the sum.
func (pl *InterPodAffinity) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	return fmt.Sprintf("terms that match near this node add up to %d, anti-affinity counting against it; the highest sum becomes 100, the lowest 0",
		pl.Score(state, pod, node))
}
