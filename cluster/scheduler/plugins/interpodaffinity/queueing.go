package interpodaffinity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

// EventsToRegister: a pod on a node comes that is wanted, or goes that is not, or has other
// labels; the pod has other labels; a node comes, or belongs to another domain.
func (pl *InterPodAffinity) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{
			Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Add | framework.UpdatePodLabel | framework.Delete},
			Hint:  afterPodChange,
		},
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodLabel}},
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeLabel}, Hint: afterNodeChange},
	}
}

// required are a pod's required terms; ok is false if they do not parse.
func required(pod *corev1.Pod) (affinity, anti []framework.AffinityTerm, ok bool) {
	a := framework.NewPodAffinity(pod)
	if a == nil {
		return nil, nil, true
	}
	return a.Required, a.RequiredAnti, a.Err == nil
}

func afterPodChange(pod *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*corev1.Pod)
	is, _ := new.(*corev1.Pod)
	for _, p := range []*corev1.Pod{was, is} {
		if p != nil && p.Spec.NodeName == "" && p.Status.NominatedNodeName == "" {
			return false
		}
	}
	affinity, anti, ok := required(pod)
	switch {
	case !ok || was == nil && is == nil:
		return true
	case was != nil && is != nil:
		return !matchesAll(affinity, was) && matchesAll(affinity, is) || matchesAny(anti, was) && !matchesAny(anti, is)
	case is != nil:
		return matchesAll(affinity, is)
	}
	_, keptAway, ok := required(was)
	return !ok || matchesAny(anti, was) || matchesAny(keptAway, pod)
}

// afterNodeChange: what the pod wants to be near has to have the label, what it wants to be
// away from need not.
func afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*corev1.Node)
	is, _ := new.(*corev1.Node)
	affinity, anti, ok := required(pod)
	if !ok || is == nil {
		return true
	}
	if was == nil {
		for i := range affinity {
			if _, ok := is.Labels[affinity[i].TopologyKey]; ok {
				return true
			}
		}
		return len(anti) > 0
	}
	for i := range affinity {
		before, had := was.Labels[affinity[i].TopologyKey]
		after, has := is.Labels[affinity[i].TopologyKey]
		if has && (!had || before != after) {
			return true
		}
	}
	for i := range anti {
		before, had := was.Labels[anti[i].TopologyKey]
		after, has := is.Labels[anti[i].TopologyKey]
		if had && (!has || before != after) {
			return true
		}
	}
	return false
}
