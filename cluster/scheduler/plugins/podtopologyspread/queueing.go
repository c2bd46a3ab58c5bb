package podtopologyspread

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

// EventsToRegister: a pod on a node that counts comes, goes or has other labels; the pod has
// other labels, or tolerates more; a node comes, goes, or belongs to another domain.
func (pl *PodTopologySpread) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{
			Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Add | framework.UpdatePodLabel | framework.Delete},
			Hint:  pl.afterPodChange,
		},
		{
			Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodToleration | framework.UpdatePodLabel},
			Hint:  pl.afterTargetChange,
		},
		{
			Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.Delete | framework.UpdateNodeLabel | framework.UpdateNodeTaint},
			Hint:  pl.afterNodeChange,
		},
	}
}

func (pl *PodTopologySpread) afterTargetChange(pod *corev1.Pod, old, new runtime.Object) bool {
	was, ok1 := old.(*corev1.Pod)
	is, ok2 := new.(*corev1.Pod)
	constraints, err := pl.required(pod)
	if err != nil || !ok1 || !ok2 {
		return true
	}
	if !equality.Semantic.DeepEqual(was.Spec.Tolerations, is.Spec.Tolerations) {
		for i := range constraints {
			if constraints[i].taints == corev1.NodeInclusionPolicyHonor {
				return true
			}
		}
	}
	return matchesOtherwise(constraints, was, is)
}

// matchesOtherwise reports whether a change of a pod's labels has a constraint count it, or
// count it no more.
func matchesOtherwise(constraints []constraint, was, is *corev1.Pod) bool {
	if maps.Equal(was.Labels, is.Labels) {
		return false
	}
	for i := range constraints {
		if s := constraints[i].selector; s.Matches(labels.Set(was.Labels)) != s.Matches(labels.Set(is.Labels)) {
			return true
		}
	}
	return false
}

func (pl *PodTopologySpread) afterPodChange(pod *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*corev1.Pod)
	is, _ := new.(*corev1.Pod)
	for _, p := range []*corev1.Pod{was, is} {
		if p != nil && (p.Namespace != pod.Namespace || p.Spec.NodeName == "" && p.Status.NominatedNodeName == "") {
			return false
		}
	}
	constraints, err := pl.required(pod)
	switch {
	case err != nil || was == nil && is == nil:
		return true
	case was != nil && is != nil:
		return matchesOtherwise(constraints, was, is)
	case was == nil:
		was = is
	}
	for i := range constraints {
		if constraints[i].selector.Matches(labels.Set(was.Labels)) {
			return true
		}
	}
	return false
}

func (pl *PodTopologySpread) afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*corev1.Node)
	is, _ := new.(*corev1.Node)
	constraints, err := pl.required(pod)
	if err != nil || was == nil && is == nil {
		return true
	}
	before, after := was != nil && labelled(was, constraints), is != nil && labelled(is, constraints)
	if before != after || was == nil || is == nil {
		return before || after
	}
	if !after {
		return false
	}
	for i := range constraints {
		if key := constraints[i].topologyKey; was.Labels[key] != is.Labels[key] {
			return true
		}
	}
	return !equality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints)
}
