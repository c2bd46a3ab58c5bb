package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// What a container without a request is counted as when nodes are scored, so
// that pods without requests spread too (pkg/scheduler/util/pod_resources.go).
const (
	DefaultMilliCPURequest int64 = 100
	DefaultMemoryRequest   int64 = 200 * 1024 * 1024
)

// Resource is an amount of each resource: CPU in thousandths of a core, the
// others in bytes or pieces.
//
// Mirrors pkg/scheduler/framework/types.go Resource.
type Resource struct {
	MilliCPU         int64
	Memory           int64
	EphemeralStorage int64
	AllowedPodNumber int
	// ScalarResources are extended resources and huge pages.
	ScalarResources map[corev1.ResourceName]int64
}

// NewResource converts an API resource list.
func NewResource(list corev1.ResourceList) Resource {
	var r Resource
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = q.MilliValue()
		case corev1.ResourceMemory:
			r.Memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			r.EphemeralStorage = q.Value()
		case corev1.ResourcePods:
			r.AllowedPodNumber = int(q.Value())
		default:
			if r.ScalarResources == nil {
				r.ScalarResources = map[corev1.ResourceName]int64{}
			}
			r.ScalarResources[name] = q.Value()
		}
	}
	return r
}

// add adds sign times o.
func (r *Resource) add(o *Resource, sign int64) {
	r.MilliCPU += sign * o.MilliCPU
	r.Memory += sign * o.Memory
	r.EphemeralStorage += sign * o.EphemeralStorage
	for name, n := range o.ScalarResources {
		if r.ScalarResources == nil {
			r.ScalarResources = map[corev1.ResourceName]int64{}
		}
		r.ScalarResources[name] += sign * n
	}
}

// PodRequests is what a pod asks of its node: the sum over its containers, or
// its greatest init container, plus overhead. An unscheduled pod is counted by
// its spec; a running one by the greater of its spec and what its kubelet says it
// has (it may be in the middle of a resize).
func PodRequests(pod *corev1.Pod) Resource {
	if list, ok := onlyRequests(pod); ok {
		return NewResource(list)
	}
	return NewResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true}))
}

// onlyRequests is what the only container of a pod requests, where nothing else
// counts: most pods are such, and adding up lists of one costs more than
// scheduling the pod.
func onlyRequests(pod *corev1.Pod) (corev1.ResourceList, bool) {
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) > 0 || pod.Spec.Resources != nil || pod.Spec.Overhead != nil ||
		len(pod.Spec.ResourceClaims) > 0 || resourcehelper.IsPodResizeInfeasible(pod) {
		return nil, false
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Resources != nil || s.AllocatedResources != nil {
			return nil, false
		}
	}
	return pod.Spec.Containers[0].Resources.Requests, true
}

var defaultRequests = corev1.ResourceList{
	corev1.ResourceCPU:    *resource.NewMilliQuantity(DefaultMilliCPURequest, resource.DecimalSI),
	corev1.ResourceMemory: *resource.NewQuantity(DefaultMemoryRequest, resource.DecimalSI),
}

// NonZeroRequests is PodRequests with the defaults for containers that request
// nothing.
func NonZeroRequests(pod *corev1.Pod) Resource {
	if list, ok := onlyRequests(pod); ok {
		r := NewResource(list)
		if _, ok := list[corev1.ResourceCPU]; !ok {
			r.MilliCPU = DefaultMilliCPURequest
		}
		if _, ok := list[corev1.ResourceMemory]; !ok {
			r.Memory = DefaultMemoryRequest
		}
		return r
	}
	return NewResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true, NonMissingContainerRequests: defaultRequests}))
}

// ContainerRequests is NonZeroRequests of the containers alone, whatever the pod as
// a whole requests.
func ContainerRequests(pod *corev1.Pod) Resource {
	return NewResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true, NonMissingContainerRequests: defaultRequests}))
}
