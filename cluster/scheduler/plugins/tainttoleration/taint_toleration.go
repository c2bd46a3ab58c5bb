// Package tainttoleration is the TaintToleration plugin: a node's NoSchedule
// and NoExecute taints keep out pods that do not tolerate them, and its
// PreferNoSchedule taints cost it score. A toleration lets a pod in; it does
// not attract it.
//
// Mirrors pkg/scheduler/framework/plugins/tainttoleration.
//
// Start reading at [Untolerated].
package tainttoleration

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "TaintToleration"
	// ErrReason is why a node is rejected.
	ErrReason = "node(s) had untolerated taint(s)"

	stateKey = "PreScore" + Name
)

// TaintToleration is the plugin.
type TaintToleration struct{}

var rejected = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReason)

// Name is [Name].
func (*TaintToleration) Name() string { return Name }

// SignPod: the tolerations.
func (*TaintToleration) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignTolerations(pod), nil
}

// Untolerated gives the first taint that keeps the pod off the node.
func Untolerated(pod *corev1.Pod, node *corev1.Node) (corev1.Taint, bool) {
	if len(node.Spec.Taints) == 0 {
		return corev1.Taint{}, false
	}
	return v1helper.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, pod.Spec.Tolerations, keepsOut, false)
}

func keepsOut(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// Filter rejects nodes with an untolerated taint.
func (*TaintToleration) Filter(_ *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	if len(node.Taints) == 0 {
		return nil
	}
	if _, bad := Untolerated(pod, node.Node); bad {
		return rejected
	}
	return nil
}

// PreScore picks the tolerations that matter for PreferNoSchedule.
func (*TaintToleration) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	var preferring []corev1.Toleration
	for _, t := range pod.Spec.Tolerations {
		if t.Effect == "" || t.Effect == corev1.TaintEffectPreferNoSchedule {
			preferring = append(preferring, t)
		}
	}
	state.Write(stateKey, preferring)
	return nil
}

// Intolerable counts the PreferNoSchedule taints that are not tolerated.
func Intolerable(tolerations []corev1.Toleration, taints []corev1.Taint) (n int64) {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !v1helper.TolerationsTolerateTaint(klog.Logger{}, tolerations, &taints[i], false) {
			n++
		}
	}
	return n
}

// Score is the number of intolerable taints: the fewer the better, which
// NormalizeScore turns round.
func (*TaintToleration) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	if len(node.Taints) == 0 {
		return 0
	}
	return Intolerable(framework.Read[[]corev1.Toleration](state, stateKey), node.Taints)
}

// NormalizeScore gives the node with the most such taints 0, one without any
// 100.
func (*TaintToleration) NormalizeScore(_ *framework.CycleState, _ []*framework.NodeInfo, scores []int64) {
	framework.DefaultNormalizeScore(true, scores)
}

// ExplainScore names the count.
func (pl *TaintToleration) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	return fmt.Sprintf("%d PreferNoSchedule taint(s) the pod does not tolerate; fewer is better", pl.Score(state, pod, node))
}

// EventsToRegister: a node that is new or lost a taint, or a toleration.
func (*TaintToleration) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeTaint}, Hint: afterNodeChange},
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodToleration}},
	}
}

func afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	is, ok := new.(*corev1.Node)
	if !ok {
		return false
	}
	was := true
	if o, ok := old.(*corev1.Node); ok && o != nil {
		_, was = Untolerated(pod, o)
	}
	_, still := Untolerated(pod, is)
	return was && !still
}
