package scheduler

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/scheduler/framework"
)

// flights are the pods on their way from the active queue to a binding: the one in the scheduling
// cycle and those that wait at Permit. What happens meanwhile is kept for them, since it may make
// a rejection outdated before the pod is back in the queues.
//
// Mirrors pkg/scheduler/backend/queue/active_queue.go inFlightPods and inFlightEvents.
type flights struct {
	since map[types.UID]uint64 // the number of the first event after a pod was taken
	order []flight             // by since; those that have ended go once they are first
	log   []missedEvent
	first uint64 // the number of log[0]
}

type flight struct {
	uid   types.UID
	since uint64
}

type missedEvent struct {
	event    framework.ClusterEvent
	old, new runtime.Object
}

func (f *flights) begin(pod types.UID) {
	if f.since == nil {
		f.since = map[types.UID]uint64{}
	}
	now := f.first + uint64(len(f.log))
	f.since[pod] = now
	f.order = append(f.order, flight{pod, now})
}

func (f *flights) has(pod types.UID) bool {
	_, ok := f.since[pod]
	return ok
}

// happened keeps an event if a pod is on its way.
func (f *flights) happened(e missedEvent) {
	if len(f.since) > 0 {
		f.log = append(f.log, e)
	}
}

// end gives what happened since the pod was taken, until the next call of a method; it is on its
// way no more.
func (f *flights) end(pod types.UID) []missedEvent {
	since, ok := f.since[pod]
	if !ok {
		return nil
	}
	missed := f.log[since-f.first:]
	delete(f.since, pod)
	for len(f.order) > 0 && f.ended(f.order[0]) {
		f.order = f.order[1:]
	}
	switch {
	case len(f.order) == 0:
		f.first += uint64(len(f.log))
		f.order, f.log = f.order[:0], nil
	case f.order[0].since > f.first:
		f.log = f.log[f.order[0].since-f.first:]
		f.first = f.order[0].since
	}
	return missed
}

func (f *flights) ended(x flight) bool {
	since, ok := f.since[x.uid]
	return !ok || since != x.since
}
