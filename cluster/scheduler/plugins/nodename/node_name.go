// Package nodename is the NodeName plugin: a pod that names a node in
// spec.nodeName fits there and nowhere else.
//
// Mirrors pkg/scheduler/framework/plugins/nodename. A pod that names its node
// does not go through the scheduler at all; the plugin matters for pods that
// are judged for other reasons.
//
// Start reading at [Fits].
package nodename

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodeName"
	// ErrReason is why a node is rejected.
	ErrReason = "node(s) didn't match the requested node name"
)

// NodeName is the plugin.
type NodeName struct{}

var rejected = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReason)

// Name is [Name].
func (*NodeName) Name() string { return Name }

// SignPod: the node that is named.
func (*NodeName) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return []framework.SignFragment{{Key: framework.NodeNameSignerName, Value: pod.Spec.NodeName}}, nil
}

// Fits reports whether the pod may go on the node by name.
func Fits(pod *corev1.Pod, node *corev1.Node) bool {
	return pod.Spec.NodeName == "" || pod.Spec.NodeName == node.Name
}

// PreFilter narrows the search to the named node.
func (*NodeName) PreFilter(_ *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	if pod.Spec.NodeName == "" {
		return nil, nil
	}
	return &framework.PreFilterResult{NodeNames: map[string]bool{pod.Spec.NodeName: true}}, nil
}

// Filter rejects every node but the named one.
func (*NodeName) Filter(_ *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	if pod.Spec.NodeName == "" || Fits(pod, node.Node) {
		return nil
	}
	return rejected
}

// EventsToRegister: only a new node can have the name.
func (*NodeName) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add}}}
}
