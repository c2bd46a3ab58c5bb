// Package nodeports is the NodePorts plugin: two pods cannot have the same host
// port on one node.
//
// Mirrors pkg/scheduler/framework/plugins/nodeports.
//
// Nothing is left out. Start reading at [Fits].
package nodeports

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodePorts"
	// ErrReason is why a node is rejected.
	ErrReason = "node(s) didn't have free ports for the requested pod ports"

	stateKey = "PreFilter" + Name
)

// NodePorts is the plugin.
type NodePorts struct{}

var (
	skip     = framework.NewStatus(Name, framework.Skip)
	rejected = framework.NewStatus(Name, framework.Unschedulable, ErrReason)
)

// Name is [Name].
func (*NodePorts) Name() string { return Name }

// SignPod: the host ports.
func (*NodePorts) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignHostPorts(pod), nil
}

// Fits reports whether all wanted ports are free.
func Fits(want []corev1.ContainerPort, used *framework.HostPortInfo) bool {
	for _, p := range want {
		if used.Conflicts(p) {
			return false
		}
	}
	return true
}

// PreFilter collects the pod's host ports.
func (*NodePorts) PreFilter(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	ports := framework.HostPorts(pod)
	if len(ports) == 0 {
		return nil, skip
	}
	state.Write(stateKey, ports)
	return nil, nil
}

// Filter rejects nodes on which one of them is taken.
func (*NodePorts) Filter(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	if Fits(framework.Read[[]corev1.ContainerPort](state, stateKey), &node.UsedPorts) {
		return nil
	}
	return rejected
}

// EventsToRegister: a pod with one of the ports goes, or a node comes.
func (*NodePorts) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete}, Hint: afterPodDelete},
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add}},
	}
}

func afterPodDelete(pod *corev1.Pod, old, _ runtime.Object) bool {
	gone, ok := old.(*corev1.Pod)
	if !ok || gone.Spec.NodeName == "" {
		return false
	}
	var freed framework.HostPortInfo
	for _, p := range framework.HostPorts(gone) {
		freed.Add(p)
	}
	return !Fits(framework.HostPorts(pod), &freed)
}
