package noderesources

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

// NewFit is the plugin NodeResourcesFit with arguments that are valid.
func NewFit(args *config.NodeResourcesFitArgs) *Fit {
	f := &Fit{args: args}
	if s := args.ScoringStrategy; s.Type != config.LeastAllocated || !usual(s.Resources) {
		f.strategy = newStrategy(s)
	}
	return f
}

// usual reports whether the resources are cpu and memory, equally heavy, as by default; these have
// code of their own, which allocates nothing.
func usual(r []config.ResourceSpec) bool {
	return slices.Equal(r, []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}})
}

// ignored says which extended resources the filter does not look at (ignoredResources,
// ignoredResourceGroups); nil: at all.
func (f *Fit) ignored() func(corev1.ResourceName) bool {
	if f.args == nil || len(f.args.IgnoredResources)+len(f.args.IgnoredResourceGroups) == 0 {
		return nil
	}
	return func(name corev1.ResourceName) bool {
		group, _, _ := strings.Cut(string(name), "/")
		return v1helper.IsExtendedResourceName(name) &&
			(slices.Contains(f.args.IgnoredResources, string(name)) || slices.Contains(f.args.IgnoredResourceGroups, group))
	}
}

// strategy scores a node by a list of resources, each with a weight
// (NodeResourcesFitArgs.scoringStrategy).
//
// Mirrors resource_allocation.go resourceAllocationScorer.
type strategy struct {
	kind      config.ScoringStrategyType
	resources []config.ResourceSpec
	of        func(use) int64 // the score of one resource that the node has
	// ratio: a resource that scores 0 does not count at all, and the mean is rounded.
	ratio bool
}

func newStrategy(from *config.ScoringStrategy) *strategy {
	s := &strategy{kind: from.Type, resources: from.Resources}
	switch from.Type {
	case config.MostAllocated: // prefers full nodes: packs
		s.of = mostRequested
	case config.RequestedToCapacityRatio:
		s.of, s.ratio = shaped(from.RequestedToCapacityRatio.Shape), true
	default:
		s.of = leastRequested
	}
	return s
}

// score is the weighted mean over the resources.
func (s *strategy) score(pod *framework.Resource, node *framework.NodeInfo) int64 {
	var sum, weights int64
	after, _ := uses(s.resources, pod, node, &node.NonZeroRequested)
	for i, u := range after {
		if u.capacity == 0 {
			continue
		}
		score := s.of(u)
		if s.ratio && score <= 0 {
			continue
		}
		sum += score * s.resources[i].Weight
		weights += s.resources[i].Weight
	}
	switch {
	case weights == 0:
		return 0
	case s.ratio:
		return int64(math.Round(float64(sum) / float64(weights)))
	}
	return sum / weights
}

// shaped is the line through the points of a shape, of which x is a utilization of 100, and y
// a score of 10.
//
// Mirrors requested_to_capacity_ratio.go and helper/shape_score.go BuildBrokenLinearFunction.
func shaped(shape []config.UtilizationShapePoint) func(use) int64 {
	const scale = framework.MaxNodeScore / config.MaxCustomPriorityScore
	x := func(i int) int64 { return int64(shape[i].Utilization) }
	y := func(i int) int64 { return int64(shape[i].Score) * scale }
	return func(u use) int64 {
		p := int64(100)
		if u.used <= u.capacity {
			p = u.used * 100 / u.capacity
		}
		for i := range shape {
			switch {
			case p > x(i):
			case i == 0:
				return y(0)
			default:
				return y(i-1) + (y(i)-y(i-1))*(p-x(i-1))/(x(i)-x(i-1))
			}
		}
		return y(len(shape) - 1)
	}
}

// uses are the uses of the resources with the pod on the node, and without. An extended
// resource counts only for a pod that requests it: its capacity is 0 otherwise. requested is
// what counts of cpu and memory on the node.
func uses(resources []config.ResourceSpec, pod *framework.Resource, node *framework.NodeInfo, requested *framework.Resource) (after, before []use) {
	after, before = make([]use, len(resources)), make([]use, len(resources))
	for i, r := range resources {
		used := requested
		if r.Name != string(corev1.ResourceCPU) && r.Name != string(corev1.ResourceMemory) {
			used = &node.Requested
		}
		want, capacity := amount(pod, r.Name), amount(&node.Allocatable, r.Name)
		if capacity == 0 || want == 0 && !native(r.Name) {
			continue
		}
		before[i] = use{amount(used, r.Name), capacity}
		after[i] = use{before[i].used + want, capacity}
	}
	return after, before
}

func native(name string) bool {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return false
}

// amount is how much there is of a resource.
func amount(r *framework.Resource, name string) int64 {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU:
		return r.MilliCPU
	case corev1.ResourceMemory:
		return r.Memory
	case corev1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	}
	return r.ScalarResources[corev1.ResourceName(name)]
}

// explain shows the arithmetic.
func (s *strategy) explain(pod *framework.Resource, node *framework.NodeInfo) string {
	var parts []string
	after, _ := uses(s.resources, pod, node, &node.NonZeroRequested)
	for i, u := range after {
		r := s.resources[i]
		if u.capacity == 0 {
			parts = append(parts, r.Name+" does not count")
			continue
		}
		part := fmt.Sprintf("%s %s, score %d", r.Name, told(r.Name, u), s.of(u))
		if r.Weight != 1 {
			part += fmt.Sprintf(" × %d", r.Weight)
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s, with the pod: %s; the mean counts", s.kind, strings.Join(parts, "; "))
}

// told is a use in the resource's unit.
func told(name string, u use) string {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU:
		return fmt.Sprintf("%dm of %dm", u.used, u.capacity)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return fmt.Sprintf("%dMi of %dMi", u.used>>20, u.capacity>>20)
	}
	return fmt.Sprintf("%d of %d", u.used, u.capacity)
}

// listed are the names of resources, as a sentence has them.
func listed(resources []config.ResourceSpec) string {
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.Name
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
