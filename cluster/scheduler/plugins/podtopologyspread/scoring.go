package podtopologyspread

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kviz/cluster/scheduler/framework"
)

// scoreState is what a cycle's scores are made of.
type scoreState struct {
	constraints []constraint
	// ignored are the nodes that lack a label of a constraint that is not the system's: they score 0.
	ignored map[*framework.NodeInfo]bool
	// pods are those of each domain, by constraint and the label's value; for hostnames, here
	// are those on each node, by its slot.
	pods []map[string]*int64
	here [][]int64
	// weights make a pod in one of many domains count for more than one in one of few.
	weights []float64
}

// PreScore counts the pods in the domains of the feasible nodes.
func (pl *PodTopologySpread) PreScore(state *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo) *framework.Status {
	own := len(pod.Spec.TopologySpreadConstraints) > 0
	constraints, err := pl.preferred(pod, own)
	if err != nil {
		return framework.AsStatus(Name, fmt.Errorf("calculating preScoreState: %w", err))
	}
	if len(constraints) == 0 {
		return skip
	}
	// The system's constraints spread over hostnames where nodes have no zone.
	needsLabels := own || !pl.systemDefaulted()
	s := newScoreState(constraints, nodes, needsLabels)
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	for _, kind := range pl.Kinds().All() {
		for i := range constraints {
			c := &constraints[i]
			if !counts(kind.One.Pod, c.selector, pod.Namespace) {
				continue
			}
			if c.topologyKey == corev1.LabelHostname {
				s.countHere(i, kind)
				continue
			}
			for _, on := range kind.On {
				n := on.Node.Node
				if n == nil || needsLabels && !labelled(n, constraints) {
					continue
				}
				if sum := s.pods[i][n.Labels[c.topologyKey]]; sum != nil && c.includes(pod, affinity, n) {
					*sum += int64(on.Pods)
				}
			}
		}
	}
	state.Write(scoreKey, s)
	return nil
}

// countHere counts in, node by node, the pods of a kind that a constraint is about.
func (s *scoreState) countHere(i int, kind *framework.PodKind) {
	for _, on := range kind.On {
		s.here[i] = slices.Grow(s.here[i], max(on.Node.Slot+1-len(s.here[i]), 0))
		s.here[i] = s.here[i][:max(len(s.here[i]), on.Node.Slot+1)]
		s.here[i][on.Node.Slot] += int64(on.Pods)
	}
}

// preferred are the constraints that score nodes: the pod's own, or the default ones.
func (pl *PodTopologySpread) preferred(pod *corev1.Pod, own bool) ([]constraint, error) {
	if own {
		constraints, err := parse(pod.Spec.TopologySpreadConstraints, pod, corev1.ScheduleAnyway)
		if err != nil {
			return nil, fmt.Errorf("obtaining pod's soft topology spread constraints: %w", err)
		}
		return constraints, nil
	}
	constraints, err := pl.defaults(pod, corev1.ScheduleAnyway)
	if err != nil {
		return nil, fmt.Errorf("setting default soft topology spread constraints: %w", err)
	}
	return constraints, nil
}

// newScoreState finds the domains of the feasible nodes.
func newScoreState(constraints []constraint, nodes []*framework.NodeInfo, needsLabels bool) *scoreState {
	s := &scoreState{
		constraints: constraints, pods: make([]map[string]*int64, len(constraints)), here: make([][]int64, len(constraints)),
		weights: make([]float64, len(constraints)),
	}
	for i := range s.pods {
		s.pods[i] = map[string]*int64{}
	}
	for _, n := range nodes {
		if needsLabels && !labelled(n.Node, constraints) {
			if s.ignored == nil {
				s.ignored = map[*framework.NodeInfo]bool{}
			}
			s.ignored[n] = true
			continue
		}
		for i := range constraints {
			if key := constraints[i].topologyKey; key != corev1.LabelHostname {
				if value := n.Node.Labels[key]; s.pods[i][value] == nil {
					s.pods[i][value] = new(int64)
				}
			}
		}
	}
	for i := range constraints {
		domains := len(s.pods[i])
		if constraints[i].topologyKey == corev1.LabelHostname {
			domains = len(nodes) - len(s.ignored)
		}
		s.weights[i] = math.Log(float64(domains + 2))
	}
	return s
}

// count is how many pods there are in the node's domain of a constraint; false if it
// belongs to none.
func (s *scoreState) count(i int, node *framework.NodeInfo) (int64, bool) {
	c := &s.constraints[i]
	value, ok := node.Node.Labels[c.topologyKey]
	if !ok {
		return 0, false
	}
	if c.topologyKey == corev1.LabelHostname {
		if node.Slot >= len(s.here[i]) {
			return 0, true
		}
		return s.here[i][node.Slot], true
	}
	return *s.pods[i][value], true
}

// Score adds up, over the constraints, the pods in the node's domain; the fewer the better,
// which NormalizeScore turns round. maxSkew waters the differences down.
func (*PodTopologySpread) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	s := framework.Read[*scoreState](state, scoreKey)
	if s.ignored[node] {
		return 0
	}
	var score float64
	for i := range s.constraints {
		if n, ok := s.count(i, node); ok {
			score += s.part(i, n)
		}
	}
	return int64(math.Round(score))
}

// part is what a constraint adds to a raw score.
func (s *scoreState) part(i int, pods int64) float64 {
	return float64(pods)*s.weights[i] + float64(s.constraints[i].maxSkew-1)
}

// NormalizeScore gives the node with the fewest pods 100, and the others less by as much
// as they have more.
func (*PodTopologySpread) NormalizeScore(state *framework.CycleState, nodes []*framework.NodeInfo, scores []int64) {
	s := framework.Read[*scoreState](state, scoreKey)
	least, most := int64(math.MaxInt64), int64(0)
	for i, n := range nodes {
		if !s.ignored[n] {
			least, most = min(least, scores[i]), max(most, scores[i])
		}
	}
	for i, n := range nodes {
		switch {
		case s.ignored[n]:
			scores[i] = 0
		case most == 0:
			scores[i] = framework.MaxNodeScore
		default:
			scores[i] = framework.MaxNodeScore * (most + least - scores[i]) / most
		}
	}
}

// ExplainScore says how many pods there are where.
func (*PodTopologySpread) ExplainScore(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) string {
	s := framework.Read[*scoreState](state, scoreKey)
	if s.ignored[node] {
		return "the node lacks a label that the pod's constraints are about: it scores 0 in the end"
	}
	var parts []string
	for i := range s.constraints {
		c := &s.constraints[i]
		n, ok := s.count(i, node)
		switch {
		case !ok:
			parts = append(parts, fmt.Sprintf("no label %s", c.topologyKey))
		case c.topologyKey == corev1.LabelHostname:
			parts = append(parts, fmt.Sprintf("%s on this node, %d × %.2f + %d", alike(n), n, s.weights[i], c.maxSkew-1))
		default:
			parts = append(parts, fmt.Sprintf("%s with %s=%s, %d × %.2f + %d", alike(n), c.topologyKey, node.Node.Labels[c.topologyKey], n, s.weights[i], c.maxSkew-1))
		}
	}
	return strings.Join(parts, "; ") + "; fewer is better"
}

func alike(n int64) string {
	if n == 1 {
		return "1 pod alike"
	}
	return fmt.Sprintf("%d pods alike", n)
}
