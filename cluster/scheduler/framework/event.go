package framework

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// EventResource is what kind of thing an event is about.
type EventResource string

// The resources whose events the scheduler hears.
const (
	Node           EventResource = "Node"
	AssignedPod    EventResource = "AssignedPod"    // a pod on a node
	UnscheduledPod EventResource = "UnscheduledPod" // another pod without a node
	TargetPod      EventResource = "TargetPod"      // the very pod that waits

	PersistentVolumeClaim EventResource = "PersistentVolumeClaim"
	PersistentVolume      EventResource = "PersistentVolume"
	StorageClass          EventResource = "storage.k8s.io/StorageClass"
	CSINode               EventResource = "storage.k8s.io/CSINode"
	CSIDriver             EventResource = "storage.k8s.io/CSIDriver"
	CSIStorageCapacity    EventResource = "storage.k8s.io/CSIStorageCapacity"
	VolumeAttachment      EventResource = "storage.k8s.io/VolumeAttachment"

	ResourceClaim EventResource = "resource.k8s.io/ResourceClaim"
	ResourceSlice EventResource = "resource.k8s.io/ResourceSlice"
	DeviceClass   EventResource = "resource.k8s.io/DeviceClass"
)

// ActionType is what happened to it; a set of bits.
type ActionType uint32

// The actions. Update stands for every Update….
const (
	Add ActionType = 1 << iota
	Delete
	UpdateNodeAllocatable
	UpdateNodeLabel
	UpdateNodeTaint
	UpdateNodeCondition
	UpdateNodeAnnotation
	UpdateNodeDeclaredFeature
	UpdatePodLabel
	UpdatePodScaleDown
	UpdatePodToleration
	UpdatePodSchedulingGatesEliminated
	UpdatePodGeneratedResourceClaim
	updateOther

	Update = UpdateNodeAllocatable | UpdateNodeLabel | UpdateNodeTaint | UpdateNodeCondition | UpdateNodeAnnotation | UpdateNodeDeclaredFeature |
		UpdatePodLabel | UpdatePodScaleDown | UpdatePodToleration | UpdatePodSchedulingGatesEliminated | UpdatePodGeneratedResourceClaim | updateOther
)

var actionNames = []string{
	"Add", "Delete", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint", "UpdateNodeCondition",
	"UpdateNodeAnnotation", "UpdateNodeDeclaredFeature", "UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodToleration", "UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim", "Update",
}

// String names the actions.
func (a ActionType) String() string {
	if a == Update {
		return "Update"
	}
	var names []string
	for i, n := range actionNames {
		if a&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "|")
}

// ClusterEvent is a kind of event.
type ClusterEvent struct {
	Resource EventResource
	Action   ActionType
}

// Label is how the event is called in the queue's moves: "AssignedPodDelete",
// "NodeAdd".
func (e ClusterEvent) Label() string { return string(e.Resource) + e.Action.String() }

// Matches reports whether an event that happened is one of those meant by e. A
// general Update, in which nothing of interest changed, is meant only by those
// who want every Update.
func (e ClusterEvent) Matches(happened ClusterEvent) bool {
	return e.Resource == happened.Resource && happened.Action != 0 && e.Action&happened.Action == happened.Action
}

// ClusterEventWithHint is an event a plugin is interested in, and how it takes
// a closer look: Hint reports whether the event may make the pod, which the
// plugin rejected, schedulable. A nil Hint means always.
type ClusterEventWithHint struct {
	Event ClusterEvent
	Hint  func(pod *corev1.Pod, old, new runtime.Object) bool
}

// AnyEvent is every event that the scheduler gets, for a plugin that does not say which of
// them could change its verdict.
//
// Mirrors pkg/scheduler/framework/types.go UnrollWildCardResource.
func AnyEvent() []ClusterEventWithHint {
	var all []ClusterEventWithHint
	for _, r := range []EventResource{
		AssignedPod, UnscheduledPod, TargetPod, Node,
		PersistentVolume, PersistentVolumeClaim, CSINode, CSIDriver, CSIStorageCapacity, StorageClass, VolumeAttachment,
		ResourceClaim, ResourceSlice, DeviceClass,
	} {
		all = append(all, ClusterEventWithHint{Event: ClusterEvent{Resource: r, Action: Add | Delete | Update}})
	}
	return all
}

// NodeChanges says which parts of a change to a node matter for scheduling.
//
// Mirrors pkg/scheduler/framework/events.go NodeSchedulingPropertiesChange.
func NodeChanges(old, new *corev1.Node) (events []ClusterEvent) {
	add := func(changed bool, a ActionType) {
		if changed {
			events = append(events, ClusterEvent{Node, a})
		}
	}
	add(old.Spec.Unschedulable && !new.Spec.Unschedulable, UpdateNodeTaint)
	add(!equality.Semantic.DeepEqual(old.Status.Allocatable, new.Status.Allocatable), UpdateNodeAllocatable)
	add(!equality.Semantic.DeepEqual(old.Labels, new.Labels), UpdateNodeLabel)
	add(!equality.Semantic.DeepEqual(old.Spec.Taints, new.Spec.Taints), UpdateNodeTaint)
	add(!equality.Semantic.DeepEqual(conditions(old), conditions(new)), UpdateNodeCondition)
	add(!equality.Semantic.DeepEqual(old.Annotations, new.Annotations), UpdateNodeAnnotation)
	add(!equality.Semantic.DeepEqual(old.Status.DeclaredFeatures, new.Status.DeclaredFeatures), UpdateNodeDeclaredFeature)
	return events
}

func conditions(n *corev1.Node) map[corev1.NodeConditionType]corev1.ConditionStatus {
	m := make(map[corev1.NodeConditionType]corev1.ConditionStatus, len(n.Status.Conditions))
	for _, c := range n.Status.Conditions {
		m[c.Type] = c.Status
	}
	return m
}

// PodChanges says which parts of a change to a pod matter for scheduling. r is
// TargetPod for the waiting pod itself.
//
// Mirrors pkg/scheduler/framework/events.go PodSchedulingPropertiesChange.
func PodChanges(old, new *corev1.Pod, r EventResource) (events []ClusterEvent) {
	add := func(changed bool, a ActionType) {
		if changed {
			events = append(events, ClusterEvent{r, a})
		}
	}
	add(!equality.Semantic.DeepEqual(old.Labels, new.Labels), UpdatePodLabel)
	add(scaledDown(PodRequests(old), PodRequests(new)), UpdatePodScaleDown)
	add(len(old.Spec.SchedulingGates) > 0 && len(new.Spec.SchedulingGates) == 0, UpdatePodSchedulingGatesEliminated)
	add(!equality.Semantic.DeepEqual(old.Spec.Tolerations, new.Spec.Tolerations), UpdatePodToleration)
	add(!resourceclaim.PodStatusEqual(new.Status.ResourceClaimStatuses, old.Status.ResourceClaimStatuses) ||
		!resourceclaim.PodExtendedStatusEqual(new.Status.ExtendedResourceClaimStatus, old.Status.ExtendedResourceClaimStatus), UpdatePodGeneratedResourceClaim)
	if len(events) == 0 {
		events = append(events, ClusterEvent{r, Update})
	}
	return events
}

func scaledDown(old, new Resource) bool {
	if new.MilliCPU < old.MilliCPU || new.Memory < old.Memory || new.EphemeralStorage < old.EphemeralStorage {
		return true
	}
	for name, n := range old.ScalarResources {
		if new.ScalarResources[name] < n {
			return true
		}
	}
	return false
}
