// Package schedulinggates is the SchedulingGates plugin: a pod with entries in
// spec.schedulingGates does not enter the active queue until they are removed.
//
// Mirrors pkg/scheduler/framework/plugins/schedulinggates.
//
// Start reading at [SchedulingGates.PreEnqueue].
package schedulinggates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

// Name is the plugin's name.
const Name = "SchedulingGates"

// SchedulingGates is the plugin.
type SchedulingGates struct{}

// Name is [Name].
func (*SchedulingGates) Name() string { return Name }

// PreEnqueue names the gates.
func (*SchedulingGates) PreEnqueue(pod *corev1.Pod) *framework.Status {
	if len(pod.Spec.SchedulingGates) == 0 {
		return nil
	}
	gates := make([]string, 0, len(pod.Spec.SchedulingGates))
	for _, g := range pod.Spec.SchedulingGates {
		gates = append(gates, g.Name)
	}
	return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, fmt.Sprintf("waiting for scheduling gates: %v", gates))
}

// EventsToRegister: the last gate is gone.
func (*SchedulingGates) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodSchedulingGatesEliminated}},
	}
}
