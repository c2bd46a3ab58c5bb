package services

import (
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// KeyOf is the key of the Service a slice is for; "" without one.
func KeyOf(s *discoveryv1.EndpointSlice) string {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return ""
	}
	return informer.Key(s.Namespace, name)
}

// FollowSlices calls add with the key of the Service of each slice managed by a
// controller that somebody else touched.
func FollowSlices(all *informer.Informer, managedBy string, tr Tracker, add func(t *sim.Task, key string)) {
	managed := func(s *discoveryv1.EndpointSlice) bool { return s.Labels[discoveryv1.LabelManagedBy] == managedBy }
	wake := func(t *sim.Task, s *discoveryv1.EndpointSlice) {
		if key := KeyOf(s); key != "" {
			add(t, key)
		}
	}
	all.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if s := obj.(*discoveryv1.EndpointSlice); managed(s) && tr.ShouldSync(s) {
				wake(t, s)
			}
		},
		Update: func(t *sim.Task, oldObj, obj runtime.Object, _ trace.ID) {
			old, s := oldObj.(*discoveryv1.EndpointSlice), obj.(*discoveryv1.EndpointSlice)
			switch {
			case KeyOf(old) != KeyOf(s):
				wake(t, s)
				wake(t, old)
			case managed(old) != managed(s), managed(s) && tr.ShouldSync(s):
				wake(t, s)
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if s := obj.(*discoveryv1.EndpointSlice); managed(s) && tr.Has(s) && !tr.HandleDeletion(s) {
				wake(t, s)
			}
		},
	})
}

// Tracker remembers, for each Service, the generations of the slices as this
// controller last wrote them, so that it knows its own writes when they come
// back, and does not decide on a cache that has not seen them
// (endpointslice_tracker.go).
type Tracker map[string]map[types.UID]int64

// deletionExpected stands for a slice that this controller deleted.
const deletionExpected = -1

// Update notes a slice that was written.
func (tr Tracker) Update(s *discoveryv1.EndpointSlice) { tr.set(s, s.Generation) }

// ExpectDeletion notes a slice that was deleted.
func (tr Tracker) ExpectDeletion(s *discoveryv1.EndpointSlice) { tr.set(s, deletionExpected) }

func (tr Tracker) set(s *discoveryv1.EndpointSlice, generation int64) {
	key := KeyOf(s)
	if tr[key] == nil {
		tr[key] = map[types.UID]int64{}
	}
	tr[key][s.UID] = generation
}

// Has reports whether the slice is one this controller wrote or deleted.
func (tr Tracker) Has(s *discoveryv1.EndpointSlice) bool {
	_, ok := tr[KeyOf(s)][s.UID]
	return ok
}

// ShouldSync reports whether the slice is not one this controller wrote.
func (tr Tracker) ShouldSync(s *discoveryv1.EndpointSlice) bool {
	g, ok := tr[KeyOf(s)][s.UID]
	return !ok || s.Generation > g
}

// HandleDeletion reports whether the deletion was this controller's.
func (tr Tracker) HandleDeletion(s *discoveryv1.EndpointSlice) bool {
	of := tr[KeyOf(s)]
	g, ok := of[s.UID]
	delete(of, s.UID)
	return !ok || g == deletionExpected
}

var errStale = errors.New("EndpointSlice informer cache is out of date")

// staleRetries is how many retries (about a minute) a cache that lacks the
// controller's own writes is waited for.
const staleRetries = 6

// Await gives an error while the cache lacks what the controller wrote last: it must
// wait, or it would write the same again. After some tries it gives the writes up: they
// were undone while the cache was starting over. (Upstream gives up and, at the next
// resync, waits again.) Should they be there after all, the next run removes what is twice.
func (tr Tracker) Await(service string, cached []*discoveryv1.EndpointSlice, tries int) error {
	if !tr.stale(service, cached) {
		return nil
	}
	if tries < staleRetries {
		return errStale
	}
	delete(tr, service)
	return nil
}

// stale reports whether the cache is older than this controller's own writes.
func (tr Tracker) stale(service string, cached []*discoveryv1.EndpointSlice) bool {
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
