package defaultpreemption

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/scheduler/framework"
)

// budget is a PodDisruptionBudget with its selector parsed.
type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// parsed leaves out budgets that match nothing: without selector, with an empty one or one
// that is none.
func parsed(list []*policyv1.PodDisruptionBudget) []budget {
	var budgets []budget
	for _, b := range list {
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && !selector.Empty() {
			budgets = append(budgets, budget{b, selector})
		}
	}
	return budgets
}

// violated gives, for each of the pods, the budget that its eviction would violate, "" where
// none; the pods are charged to the budgets in their order.
//
// Mirrors framework/preemption/util.go FilterVictimsWithPDBViolation.
func violated(pods []*framework.PodInfo, budgets []budget) map[*framework.PodInfo]string {
	if len(budgets) == 0 {
		return nil
	}
	left := make([]int32, len(budgets))
	for i, b := range budgets {
		left[i] = b.Status.DisruptionsAllowed
	}
	by := map[*framework.PodInfo]string{}
	for _, p := range pods {
		if name := charge(p, budgets, left); name != "" {
			by[p] = name
		}
	}
	return by
}

// charge takes one disruption from each budget of the pod, up to the first that has none left.
func charge(p *framework.PodInfo, budgets []budget, left []int32) string {
	if len(p.Pod.Labels) == 0 {
		return ""
	}
	for i, b := range budgets {
		if b.Namespace != p.Pod.Namespace || !b.selector.Matches(labels.Set(p.Pod.Labels)) {
			continue
		}
		if _, counted := b.Status.DisruptedPods[p.Pod.Name]; counted {
			continue // the API server has charged the budget for it
		}
		if left[i]--; left[i] < 0 {
			return b.Name
		}
	}
	return ""
}
