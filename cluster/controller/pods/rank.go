package pods

import (
	"math"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/core/helper"
)

// ToDelete picks the n pods of list that are missed least: not scheduled, not
// running, not ready, cheap, crowded on their node, young. related are the pods
// of all ReplicaSets with the same owner; they say which nodes are crowded.
//
// Mirrors pkg/controller/replicaset getPodsToDelete and
// controller_utils.go ActivePodsWithRanks.
func ToDelete(list, related []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	picked := append([]*corev1.Pod(nil), list...)
	if n < len(picked) {
		onNode := map[string]int{}
		for _, pod := range related {
			if Active(pod) {
				onNode[pod.Spec.NodeName]++
			}
		}
		sort.SliceStable(picked, func(i, j int) bool { return before(picked[i], picked[j], onNode, metav1.NewTime(now)) })
	}
	return picked[:min(n, len(picked))]
}

// EarliestFirst sorts pods by how far they have got: first those that are missed least
// (controller_utils.go ActivePods).
func EarliestFirst(list []*corev1.Pod) {
	sort.SliceStable(list, func(i, j int) bool { return earlier(list[i], list[j]) })
}

func earlier(a, b *corev1.Pod) bool {
	if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
		return a.Spec.NodeName == ""
	}
	if pa, pb := phaseOrder[a.Status.Phase], phaseOrder[b.Status.Phase]; pa != pb {
		return pa < pb
	}
	if Ready(a) != Ready(b) {
		return !Ready(a)
	}
	if Ready(a) && Ready(b) {
		ra, rb := Condition(a, corev1.PodReady).LastTransitionTime, Condition(b, corev1.PodReady).LastTransitionTime
		if !ra.Equal(&rb) {
			return afterOrZero(ra, rb)
		}
	}
	ra, sa := restarts(a)
	rb, sb := restarts(b)
	if ra != rb {
		return ra > rb
	}
	if sa != sb {
		return sa > sb
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return afterOrZero(a.CreationTimestamp, b.CreationTimestamp)
	}
	return false
}

func afterOrZero(a, b metav1.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero()
	}
	return a.After(b.Time)
}

var phaseOrder = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// before reports whether a should be deleted rather than b: the first rule that
// tells them apart decides.
func before(a, b *corev1.Pod, onNode map[string]int, now metav1.Time) bool {
	// 1. Unscheduled before scheduled.
	if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
		return a.Spec.NodeName == ""
	}
	// 2. Pending before unknown before running.
	if pa, pb := phaseOrder[a.Status.Phase], phaseOrder[b.Status.Phase]; pa != pb {
		return pa < pb
	}
	// 3. Not ready before ready.
	if Ready(a) != Ready(b) {
		return !Ready(a)
	}
	// 4. Lower controller.kubernetes.io/pod-deletion-cost first.
	if ca, cb := deletionCost(a), deletionCost(b); ca != cb {
		return ca < cb
	}
	// 5. The more crowded node first.
	if na, nb := onNode[a.Spec.NodeName], onNode[b.Spec.NodeName]; na != nb {
		return na > nb
	}
	// 6. Ready for a shorter time first, on a logarithmic scale.
	if Ready(a) && Ready(b) {
		ra, rb := Condition(a, corev1.PodReady).LastTransitionTime, Condition(b, corev1.PodReady).LastTransitionTime
		if !ra.Equal(&rb) {
			return younger(a, b, ra, rb, now)
		}
	}
	// 7. More restarts first; of the containers, then of the sidecars.
	ra, sa := restarts(a)
	rb, sb := restarts(b)
	if ra != rb {
		return ra > rb
	}
	if sa != sb {
		return sa > sb
	}
	// 8. Younger first, on a logarithmic scale.
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return younger(a, b, a.CreationTimestamp, b.CreationTimestamp, now)
	}
	return false
}

// younger compares two ages by the power of two they fall in (0–1 s, 1–2 s,
// 2–4 s …), so that among pods of about the same age the choice is as good as
// random: by UID.
func younger(a, b *corev1.Pod, ta, tb, now metav1.Time) bool {
	if ta.IsZero() || tb.IsZero() {
		return ta.IsZero()
	}
	ra, rb := magnitude(now.Sub(ta.Time)), magnitude(now.Sub(tb.Time))
	if ra == rb {
		return a.UID < b.UID
	}
	return ra < rb
}

func magnitude(age time.Duration) int64 {
	if age <= 0 {
		return -1
	}
	return int64(math.Log2(float64(age)))
}

// deletionCost is what the annotation says; 0 where it cannot be read, as with
// a plus sign or leading zeros.
func deletionCost(pod *corev1.Pod) int32 {
	n, err := helper.GetDeletionCostFromPodAnnotations(pod.Annotations)
	if err != nil {
		return 0
	}
	return n
}

// restarts is how often the container restarted that did so most often, and the
// same of the sidecars.
func restarts(pod *corev1.Pod) (most, sidecars int32) {
	for _, c := range pod.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		if spec.RestartPolicy == nil || *spec.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, c := range pod.Status.InitContainerStatuses {
			if c.Name == spec.Name {
				sidecars = max(sidecars, c.RestartCount)
			}
		}
	}
	return most, sidecars
}
