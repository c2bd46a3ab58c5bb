// Package pods answers the questions that controllers ask about pods: is it
// active, ready, available; which of them to delete first; what is the hash of
// a template.
//
// Mirrors pkg/api/v1/pod and the pod parts of pkg/controller/controller_utils.go.
//
// Nothing is left out of what the controllers here ask. Start reading at [Ready] and [ToDelete].
package pods

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Condition gives a pod's condition, or nil.
func Condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Ready reports whether the pod's Ready condition is True.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Available reports whether the pod has been ready for minReadySeconds.
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !Ready(pod) {
		return false
	}
	since := Condition(pod, corev1.PodReady).LastTransitionTime
	return minReadySeconds == 0 ||
		!since.IsZero() && !since.Add(time.Duration(minReadySeconds)*time.Second).After(now)
}

// NextAvailable is how long until one more of the pods becomes available; zero
// when none will by waiting.
func NextAvailable(list []*corev1.Pod, minReadySeconds int32, now time.Time) time.Duration {
	var next time.Duration
	for _, pod := range list {
		if minReadySeconds <= 0 || !Ready(pod) {
			continue
		}
		since := Condition(pod, corev1.PodReady).LastTransitionTime
		if since.IsZero() {
			continue
		}
		if d := since.Add(time.Duration(minReadySeconds) * time.Second).Sub(now); d > 0 && (next == 0 || d < next) {
			next = d
		}
	}
	return next
}

// Terminal reports whether all containers have ended for good.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Active reports whether the pod counts as a replica: not ended, not being
// deleted.
func Active(pod *corev1.Pod) bool { return !Terminal(pod) && pod.DeletionTimestamp == nil }

// Terminating reports whether the pod is being deleted and still runs.
func Terminating(pod *corev1.Pod) bool { return !Terminal(pod) && pod.DeletionTimestamp != nil }

// Filter gives the pods that satisfy keep.
func Filter(list []*corev1.Pod, keep func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range list {
		if keep(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// Count is how sentences speak of n pods: "1 pod", "2 pods".
func Count(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
