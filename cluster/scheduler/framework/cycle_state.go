package framework

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// CycleState carries what plugins remember of one pod within one cycle, from
// PreFilter to Filter and from PreScore to Score.
//
// Mirrors pkg/scheduler/framework/cycle_state.go CycleState. A handful of
// entries in a slice are found faster than in a map, and Filter looks once per
// node.
type CycleState struct {
	// Pod is the pod of the cycle with its sums; nil where a plugin is used
	// outside a cycle.
	Pod *PodInfo
	// SkipFilter has the plugins whose PreFilter said that there is nothing for
	// their Filter to do.
	SkipFilter map[string]bool
	entries    []stateEntry
}

// Requests is the pod's sum of requests.
func (s *CycleState) Requests(pod *corev1.Pod) *Resource {
	if s.Pod != nil && s.Pod.Pod == pod {
		return &s.Pod.Requests
	}
	r := PodRequests(pod)
	return &r
}

// NonZeroRequests is the pod's sum of requests as it counts for scoring.
func (s *CycleState) NonZeroRequests(pod *corev1.Pod) *Resource {
	if s.Pod != nil && s.Pod.Pod == pod {
		return &s.Pod.NonZero
	}
	r := NonZeroRequests(pod)
	return &r
}

type stateEntry struct {
	key   string
	value any
}

// Write remembers a value.
func (s *CycleState) Write(key string, value any) {
	for i := range s.entries {
		if s.entries[i].key == key {
			s.entries[i].value = value
			return
		}
	}
	s.entries = append(s.entries, stateEntry{key, value})
}

// Read gives what was remembered, nil if nothing.
func (s *CycleState) Read(key string) any {
	for i := range s.entries {
		if s.entries[i].key == key {
			return s.entries[i].value
		}
	}
	return nil
}

// Read gives what was remembered with its type, or the zero value.
func Read[T any](s *CycleState, key string) T {
	v, _ := s.Read(key).(T)
	return v
}

// StateCloner is a value of a [CycleState] that changes after it has been written; all
// others are shared between clones.
type StateCloner interface{ CloneState() any }

// Clone is a copy in which plugins can be told of pods that come and go (see
// [PreFilterExtensions]) without harm to the original.
func (s *CycleState) Clone() *CycleState {
	c := *s
	c.SkipFilter = maps.Clone(s.SkipFilter)
	c.entries = slices.Clone(s.entries)
	for i := range c.entries {
		if v, ok := c.entries[i].value.(StateCloner); ok {
			c.entries[i].value = v.CloneState()
		}
	}
	return &c
}
