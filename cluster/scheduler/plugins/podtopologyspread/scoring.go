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
	ignored    map[*framework.NodeInfo]bool
	topologies []*framework.Topology // by constraint
	// pods are those of each domain, by constraint, unknown where no feasible node is in it; for hostnames,
	// here are those on each node, by its slot.
	pods [][]int64
	here [][]int32
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
	s := pl.newScoreState(constraints, nodes, needsLabels)
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
				if n == nil || needsLabels && !s.labelled(on.Node) {
					continue
				}
				if sum := &s.pods[i][s.topologies[i].Domain(on.Node)]; *sum != unknown && c.includes(pod, affinity, n) {
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
	if s.here[i] == nil {
		s.here[i] = make([]int32, s.topologies[i].Slots())
	}
	for _, on := range kind.On {
		if on.Node.Slot < len(s.here[i]) { // else a node that is gone has left pods behind
			s.here[i][on.Node.Slot] += int32(on.Pods)
		}
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

// labelled reports whether the node has the labels of all constraints.
func (s *scoreState) labelled(n *framework.NodeInfo) bool {
	for _, t := range s.topologies {
		if !t.Has(n) {
			return false
		}
	}
	return true
}

// newScoreState finds the domains of the feasible nodes.
func (pl *PodTopologySpread) newScoreState(constraints []constraint, nodes []*framework.NodeInfo, needsLabels bool) *scoreState {
	s := &scoreState{
		constraints: constraints, topologies: make([]*framework.Topology, len(constraints)), pods: make([][]int64, len(constraints)),
		here: make([][]int32, len(constraints)), weights: make([]float64, len(constraints)),
	}
	domains := make([]int, len(constraints))
	for i := range constraints {
		s.topologies[i] = pl.TopologyOf(constraints[i].topologyKey)
		if constraints[i].topologyKey != corev1.LabelHostname {
			s.pods[i] = slices.Repeat([]int64{unknown}, s.topologies[i].Domains)
		}
	}
	for _, n := range nodes {
		if needsLabels && !s.labelled(n) {
			if s.ignored == nil {
				s.ignored = map[*framework.NodeInfo]bool{}
			}
			s.ignored[n] = true
			continue
		}
		for i := range constraints {
			if s.pods[i] == nil {
				continue
			}
			if sum := &s.pods[i][s.topologies[i].Domain(n)]; *sum == unknown {
				*sum = 0
				domains[i]++
			}
		}
	}
	for i := range constraints {
		if s.pods[i] == nil {
			domains[i] = len(nodes) - len(s.ignored)
		}
		s.weights[i] = math.Log(float64(domains[i] + 2))
	}
	return s
}

// count is how many pods there are in the node's domain of a constraint; false if it
// belongs to none.
func (s *scoreState) count(i int, node *framework.NodeInfo) (int64, bool) {
	if !s.topologies[i].Has(node) {
		return 0, false
	}
	if s.pods[i] == nil {
		if s.here[i] == nil {
			return 0, true
		}
		return int64(s.here[i][node.Slot]), true
	}
	return s.pods[i][s.topologies[i].Domain(node)], true
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
