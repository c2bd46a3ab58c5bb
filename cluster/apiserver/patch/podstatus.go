package patch

import (
	"bytes"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Most patches of a cluster are kubelets' pod statuses. patchPodStatus merges
// them field by field into the typed object, where the general way goes through
// maps and JSON of the whole pod. Its result is
// the same: TestPodStatusPatchIsStrategicMerge compares the two.

// podStatusPatch is a strategic merge patch of what a kubelet writes. A patch
// with any other field, or with a directive ($patch), goes the general way.
type podStatusPatch struct {
	Metadata struct {
		UID *types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Phase                 patched[corev1.PodPhase]          `json:"phase"`
		Reason                patched[string]                   `json:"reason"`
		Message               patched[string]                   `json:"message"`
		HostIP                patched[string]                   `json:"hostIP"`
		PodIP                 patched[string]                   `json:"podIP"`
		QOSClass              patched[corev1.PodQOSClass]       `json:"qosClass"`
		ObservedGeneration    patched[int64]                    `json:"observedGeneration"`
		StartTime             patched[*metav1.Time]             `json:"startTime"`
		ContainerStatuses     patched[[]corev1.ContainerStatus] `json:"containerStatuses"`
		InitContainerStatuses patched[[]corev1.ContainerStatus] `json:"initContainerStatuses"`
		HostIPs               []corev1.HostIP                   `json:"hostIPs"`
		PodIPs                []corev1.PodIP                    `json:"podIPs"`
		Conditions            []conditionPatch                  `json:"conditions"`
	} `json:"status"`
}

type conditionPatch struct {
	Type               corev1.PodConditionType         `json:"type"`
	Status             patched[corev1.ConditionStatus] `json:"status"`
	ObservedGeneration patched[int64]                  `json:"observedGeneration"`
	LastTransitionTime patched[metav1.Time]            `json:"lastTransitionTime"`
	Reason             patched[string]                 `json:"reason"`
	Message            patched[string]                 `json:"message"`
}

// patched is one field of a patch: absent, null, or a value.
type patched[T any] struct {
	set   bool
	value T
}

// UnmarshalJSON is called only for what is there; null leaves the zero value.
func (f *patched[T]) UnmarshalJSON(data []byte) error {
	f.set = true
	return json.Unmarshal(data, &f.value)
}

// onto puts the field where it belongs, if the patch has it.
func (f *patched[T]) onto(to *T) {
	if f.set {
		*to = f.value
	}
}

// podStatus is the patched pod, if the request is a component's patch of a pod's
// status.
func (p *Patch) podStatus(obj runtime.Object) (*corev1.Pod, bool) {
	if !p.System || p.Type != types.StrategicMergePatchType || p.Subresource != "status" {
		return nil, false
	}
	old, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, false
	}
	pod, ok := patchPodStatus(old, p.Data)
	if ok {
		pod.SetGroupVersionKind(p.Kind.GVK())
	}
	return pod, ok
}

// patchPodStatus applies the patch of a component to its pod; ok is false where
// the patch holds more than a kubelet writes. What the patch does not touch is
// shared with old.
func patchPodStatus(old *corev1.Pod, patch []byte) (pod *corev1.Pod, ok bool) {
	p := &podStatusPatch{}
	if !scanPodStatusPatch(patch, p) {
		if p = decodePodStatusPatch(patch); p == nil {
			return nil, false
		}
	}
	changed := *old
	pod = &changed
	if p.Metadata.UID != nil {
		pod.UID = *p.Metadata.UID
	}
	s := &pod.Status
	p.Status.Phase.onto(&s.Phase)
	p.Status.Reason.onto(&s.Reason)
	p.Status.Message.onto(&s.Message)
	p.Status.HostIP.onto(&s.HostIP)
	p.Status.PodIP.onto(&s.PodIP)
	p.Status.QOSClass.onto(&s.QOSClass)
	p.Status.ObservedGeneration.onto(&s.ObservedGeneration)
	p.Status.StartTime.onto(&s.StartTime)
	p.Status.ContainerStatuses.onto(&s.ContainerStatuses)
	p.Status.InitContainerStatuses.onto(&s.InitContainerStatuses)
	s.HostIPs = union(s.HostIPs, p.Status.HostIPs)
	s.PodIPs = union(s.PodIPs, p.Status.PodIPs)
	s.Conditions = mergeConditions(s.Conditions, p.Status.Conditions)
	return pod, true
}

// decodePodStatusPatch reads any patch that has nothing but such fields; nil if
// it has others.
func decodePodStatusPatch(patch []byte) *podStatusPatch {
	p := &podStatusPatch{}
	d := json.NewDecoder(bytes.NewReader(patch))
	d.DisallowUnknownFields()
	if d.Decode(p) != nil {
		return nil
	}
	return p
}

// union merges lists whose items are nothing but their merge key.
func union[T comparable](old, patch []T) []T {
	return interleave(old, patch, func(a, b T) bool { return a == b })
}

// mergeConditions merges by type.
func mergeConditions(old []corev1.PodCondition, patch []conditionPatch) []corev1.PodCondition {
	same := func(a, b corev1.PodCondition) bool { return a.Type == b.Type }
	merged := make([]corev1.PodCondition, 0, len(patch))
	for i := range patch {
		p := &patch[i]
		c := corev1.PodCondition{Type: p.Type}
		if at := slices.IndexFunc(old, func(o corev1.PodCondition) bool { return same(o, c) }); at >= 0 {
			c = old[at]
		}
		p.Status.onto(&c.Status)
		p.ObservedGeneration.onto(&c.ObservedGeneration)
		p.LastTransitionTime.onto(&c.LastTransitionTime)
		p.Reason.onto(&c.Reason)
		p.Message.onto(&c.Message)
		merged = append(merged, c)
	}
	return interleave(old, merged, same)
}

// interleave puts the items of old that the patch does not name between those
// it does: both keep their order, and one comes before another if it did so in
// old (strategicpatch mergeSortedSlice). The result shares nothing with old.
func interleave[T any](old, patch []T, same func(a, b T) bool) []T {
	if len(old)+len(patch) == 0 {
		return nil
	}
	index := func(list []T, item T) int { return slices.IndexFunc(list, func(o T) bool { return same(o, item) }) }
	all := len(old)
	for _, item := range patch {
		if index(old, item) < 0 {
			all++
		}
	}
	out := make([]T, 0, all)
	for i, item := range old {
		if index(patch, item) >= 0 {
			continue
		}
		for len(patch) > 0 {
			if at := index(old, patch[0]); at > i {
				break
			}
			out, patch = append(out, patch[0]), patch[1:]
		}
		out = append(out, item)
	}
	return append(out, patch...)
}
