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
	nodes, everyone := pl.Cluster.NodesWithAffinity(), false
	if a := affinityOf(state, pod); a != nil {
		if a.Err != nil {
			return framework.AsStatus(Name, fmt.Errorf("failed to parse pod: %w", a.Err))
		}
		s.preferred, s.anti = pl.resolveWeighted(a.Preferred), pl.resolveWeighted(a.PreferredAnti)
		if len(s.preferred) > 0 || len(s.anti) > 0 {
			nodes, everyone = pl.Cluster.Nodes(), true
		}
	}
	if len(nodes) == 0 || pl.args().IgnorePreferredTermsOfExistingPods && !everyone {
		return skip
	}
	s.namespace = pl.Cluster.NamespaceLabels(pod.Namespace)
	for _, n := range nodes {
		if !everyone {
			for _, p := range n.PodsWithAffinity {
				s.count(pod, p, n.Node)
			}
			continue
		}
		for _, p := range n.Pods {
			s.count(pod, p, n.Node)
		}
	}
	if len(s.weights) == 0 {
		return skip
	}
	state.Write(scoreKey, s)
	return nil
}

// count takes in a pod that is there, with what the two prefer of each other.
func (s *scoreState) count(pod *corev1.Pod, there *framework.PodInfo, node *corev1.Node) {
	s.addAll(s.preferred, there.Pod, nil, node, 1)
	s.addAll(s.anti, there.Pod, nil, node, -1)
	if a := there.Affinity; a != nil {
		for i := range a.Required {
			if s.hard > 0 {
				s.add(&a.Required[i], pod, s.namespace, node, s.hard)
			}
		}
		s.addAll(a.Preferred, pod, s.namespace, node, 1)
		s.addAll(a.PreferredAnti, pod, s.namespace, node, -1)
	}
}

func (s *scoreState) addAll(terms []framework.WeightedAffinityTerm, pod *corev1.Pod, namespace labels.Set, node *corev1.Node, sign int64) {
	for i := range terms {
		s.add(&terms[i].AffinityTerm, pod, namespace, node, sign*int64(terms[i].Weight))
	}
}

func (s *scoreState) add(t *framework.AffinityTerm, pod *corev1.Pod, namespace labels.Set, node *corev1.Node, weight int64) {
	value, ok := node.Labels[t.TopologyKey]
	if !ok || !t.Matches(pod, namespace) {
		return
	}
	if s.weights == nil {
		s.weights = map[string]map[string]int64{}
	}
	if s.weights[t.TopologyKey] == nil {
		s.weights[t.TopologyKey] = map[string]int64{}
	}
	s.weights[t.TopologyKey][value] += weight
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
