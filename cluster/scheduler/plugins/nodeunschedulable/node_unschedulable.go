// Package nodeunschedulable is the NodeUnschedulable plugin: no new pods on a
// cordoned node (spec.unschedulable), unless the pod tolerates the taint
// node.kubernetes.io/unschedulable.
//
// Mirrors pkg/scheduler/framework/plugins/nodeunschedulable.
//
// Nothing is left out. Start reading at [NodeUnschedulable.Filter].
package nodeunschedulable

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodeUnschedulable"
	// ErrReasonUnschedulable is why a node is rejected.
	ErrReasonUnschedulable = "node(s) were unschedulable"
)

// NodeUnschedulable is the plugin.
type NodeUnschedulable struct{}

var (
	rejected = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonUnschedulable)
	taint    = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
)

// Name is [Name].
func (*NodeUnschedulable) Name() string { return Name }

// SignPod: the tolerations.
func (*NodeUnschedulable) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignTolerations(pod), nil
}

func tolerates(pod *corev1.Pod) bool {
	return v1helper.TolerationsTolerateTaint(klog.Logger{}, pod.Spec.Tolerations, &taint, false)
}

// Filter rejects cordoned nodes.
func (*NodeUnschedulable) Filter(_ *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	if !node.Unschedulable || tolerates(pod) { // it takes new pods, or the pod does not mind
		return nil
	}
	return rejected
}

// EventsToRegister: a node that is new or no longer cordoned, or a toleration.
func (*NodeUnschedulable) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeTaint}, Hint: afterNodeChange},
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodToleration}, Hint: afterToleration},
	}
}

func afterNodeChange(_ *corev1.Pod, old, new runtime.Object) bool {
	was, _ := old.(*corev1.Node)
	is, ok := new.(*corev1.Node)
	return ok && !is.Spec.Unschedulable && (was == nil || was.Spec.Unschedulable)
}

func afterToleration(_ *corev1.Pod, _, new runtime.Object) bool {
	pod, ok := new.(*corev1.Pod)
	return ok && tolerates(pod)
}
