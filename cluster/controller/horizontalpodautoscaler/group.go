package horizontalpodautoscaler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"kviz/cluster/controller/pods"
)

// groups are the names of pods by how they count (groupPods).
type groups struct {
	ready   int // pods with a value that counts
	unready []string
	missing []string // pods without a value
	ignored []string // pods that are about to go, or have failed
}

// group says how each pod counts. That one must be ready is asked of the CPU alone: what a
// pod uses as it starts says nothing of what it will.
func group(list []*corev1.Pod, values podMetrics, resource corev1.ResourceName, now time.Time) (g groups) {
	for _, pod := range list {
		v, measured := values[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed:
			g.ignored = append(g.ignored, pod.Name)
		case pod.Status.Phase == corev1.PodPending:
			g.unready = append(g.unready, pod.Name)
		case !measured:
			g.missing = append(g.missing, pod.Name)
		case resource == corev1.ResourceCPU && starting(pod, v, now):
			g.unready = append(g.unready, pod.Name)
		default:
			g.ready++
		}
	}
	return g
}

// starting reports whether what a pod uses of the CPU is still that of its start.
func starting(pod *corev1.Pod, v podMetric, now time.Time) bool {
	ready := pods.Condition(pod, corev1.PodReady)
	if ready == nil || pod.Status.StartTime == nil {
		return true
	}
	if pod.Status.StartTime.Add(CPUInitialization).After(now) {
		// Not ready, or not for as long as the value took to measure.
		return ready.Status == corev1.ConditionFalse || v.at.Before(ready.LastTransitionTime.Add(v.window))
	}
	// Not ready, and never was.
	return ready.Status == corev1.ConditionFalse && pod.Status.StartTime.Add(InitialReadiness).After(ready.LastTransitionTime.Time)
}

// requestsOf are what pods request of a resource, times 1000, by their names: all of a pod or
// one container of it. A pod's own requests go before those of its containers (calculateRequests).
func requestsOf(list []*corev1.Pod, container string, resource corev1.ResourceName) (map[string]int64, error) {
	out := make(map[string]int64, len(list))
	for _, pod := range list {
		if container == "" && resourcehelpers.IsPodLevelRequestsSet(pod) {
			all := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
			q, ok := all[resource]
			if !ok {
				return nil, fmt.Errorf("missing pod-level request for %s in Pod %s", resource, pod.Name)
			}
			out[pod.Name] = q.MilliValue()
			continue
		}
		n, err := containerRequests(pod, container, resource)
		if err != nil {
			return nil, err
		}
		out[pod.Name] = n
	}
	return out, nil
}

// containerRequests adds up the requests of a pod's containers, sidecars among them, or gives those
// of one (calculatePodRequestsFromContainers).
func containerRequests(pod *corev1.Pod, container string, resource corev1.ResourceName) (sum int64, err error) {
	all := append([]corev1.Container{}, pod.Spec.Containers...)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			all = append(all, c)
		}
	}
	for _, c := range all {
		if container != "" && container != c.Name {
			continue
		}
		q, ok := c.Resources.Requests[resource]
		if !ok {
			return 0, fmt.Errorf("missing request for %s in container %s of Pod %s", resource, c.Name, pod.Name)
		}
		sum += q.MilliValue()
		if container == c.Name {
			return sum, nil
		}
	}
	if container != "" {
		return 0, fmt.Errorf("container %s not found in Pod %s", container, pod.Name)
	}
	return sum, nil
}
