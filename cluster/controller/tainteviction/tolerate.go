package tainteviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// tolerated says how long a pod may stay on a node with these NoExecute taints:
// below zero for ever, zero not at all; and which taint limits it. The smallest
// tolerationSeconds among the tolerations that are used counts
// (GetMatchingTolerations, getMinTolerationTime).
func tolerated(pod *corev1.Pod, taints []corev1.Taint) (time.Duration, string) {
	shortest, by := time.Duration(-1), ""
	for i := range taints {
		taint := &taints[i]
		found := false
		for j := range pod.Spec.Tolerations {
			tol := &pod.Spec.Tolerations[j]
			if !tol.ToleratesTaint(klog.Background(), taint, false) {
				continue
			}
			found = true
			if tol.TolerationSeconds == nil {
				break
			}
			d := max(0, time.Duration(*tol.TolerationSeconds)*time.Second)
			if shortest < 0 || d < shortest {
				shortest, by = d, taint.ToString()
			}
			break
		}
		if !found {
			return 0, taint.ToString()
		}
	}
	return shortest, by
}
