package services

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/pods"
)

// Triggers remembers when the pods of each Service last changed
// (trigger_time_tracker.go).
type Triggers map[string]*changes

type changes struct {
	service time.Time
	pods    map[string]time.Time
}

// LastChange is the earliest change since the last sync.
func (tr Triggers) LastChange(key string, svc *corev1.Service, behind []*corev1.Pod) time.Time {
	old := tr[key]
	now := &changes{service: svc.CreationTimestamp.Time, pods: map[string]time.Time{}}
	tr[key] = now
	var first time.Time
	note := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, pod := range behind {
		c := pods.Condition(pod, corev1.PodReady)
		if c == nil || c.LastTransitionTime.IsZero() {
			continue
		}
		at := c.LastTransitionTime.Time
		now.pods[pod.Name] = at
		if old != nil && at.After(old.pods[pod.Name]) {
			note(at)
		}
	}
	if old == nil {
		return now.service
	}
	if now.service.After(old.service) {
		note(now.service)
	}
	return first
}
