package endpointslice

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/controller/pods"
)

// tracker remembers, for each Service, the generations of the slices as this
// controller last wrote them, so that it knows its own writes when they come
// back, and does not decide on a cache that has not seen them
// (endpointslice_tracker.go).
type tracker map[string]map[types.UID]int64

// deletionExpected stands for a slice that this controller deleted.
const deletionExpected = -1

func (tr tracker) update(s *discoveryv1.EndpointSlice) { tr.set(s, s.Generation) }

func (tr tracker) expectDeletion(s *discoveryv1.EndpointSlice) { tr.set(s, deletionExpected) }

func (tr tracker) set(s *discoveryv1.EndpointSlice, generation int64) {
	key := serviceKey(s)
	if tr[key] == nil {
		tr[key] = map[types.UID]int64{}
	}
	tr[key][s.UID] = generation
}

func (tr tracker) has(s *discoveryv1.EndpointSlice) bool {
	_, ok := tr[serviceKey(s)][s.UID]
	return ok
}

// shouldSync reports whether the slice is not one this controller wrote.
func (tr tracker) shouldSync(s *discoveryv1.EndpointSlice) bool {
	g, ok := tr[serviceKey(s)][s.UID]
	return !ok || s.Generation > g
}

// handleDeletion reports whether the deletion was this controller's.
func (tr tracker) handleDeletion(s *discoveryv1.EndpointSlice) bool {
	slices := tr[serviceKey(s)]
	g, ok := slices[s.UID]
	delete(slices, s.UID)
	return !ok || g == deletionExpected
}

// stale reports whether the cache is older than this controller's own writes.
func (tr tracker) stale(service string, cached []*discoveryv1.EndpointSlice) bool {
	written := tr[service]
	seen := map[types.UID]bool{}
	for _, s := range cached {
		seen[s.UID] = true
		if g, ok := written[s.UID]; ok && (g == deletionExpected || g > s.Generation) {
			return true
		}
	}
	for uid, g := range written {
		if g != deletionExpected && !seen[uid] {
			return true
		}
	}
	return false
}

// triggers remembers when the pods of each Service last changed
// (trigger_time_tracker.go).
type triggers map[string]*triggerState

type triggerState struct {
	service time.Time
	pods    map[string]time.Time
}

// lastChange is the earliest change since the last sync.
func (tr triggers) lastChange(key string, svc *corev1.Service, behind []*corev1.Pod) time.Time {
	old := tr[key]
	now := &triggerState{service: svc.CreationTimestamp.Time, pods: map[string]time.Time{}}
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
