// Package queuesort is the PrioritySort plugin: the pod with the higher
// priority first, and of equals the one that waits longer.
//
// Mirrors pkg/scheduler/framework/plugins/queuesort.
//
// Nothing is left out. Start reading at [PrioritySort.Less].
package queuesort

import (
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/scheduler/framework"
)

// Name is the plugin's name.
const Name = "PrioritySort"

// PrioritySort is the plugin.
type PrioritySort struct{}

// Name is [Name].
func (*PrioritySort) Name() string { return Name }

// Less reports whether a is scheduled before b.
func (*PrioritySort) Less(a, b *framework.QueuedPodInfo) bool {
	pa, pb := v1helper.PodPriority(a.Pod), v1helper.PodPriority(b.Pod)
	if pa != pb {
		return pa > pb
	}
	if !a.Timestamp.Equal(b.Timestamp) {
		return a.Timestamp.Before(b.Timestamp)
	}
	return a.Serial < b.Serial
}
