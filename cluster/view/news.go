package view

import "kviz/cluster/trace"

// OfClock reports whether an event tells of kviz' own clock: that it stands, its speed,
// whether it falls behind. Nothing of it happens in the cluster.
func OfClock(e *trace.Event) bool {
	return e.Kind == trace.ClockChanged || e.Kind == trace.ClockPace
}

// Routine reports whether an event belongs to the chatter that never ends: messages and
// disk writes of raft, Leases that are renewed and whoever learns of it, the writing of
// Kubernetes Events. What is not routine is news.
func Routine(e *trace.Event) bool {
	if !e.Outside() {
		return (e.Object.Kind == "Lease" || e.Object.Kind == "Event") && e.Kind != trace.LeaderElected && e.Kind != trace.EventRecorded
	}
	switch e.Kind {
	case trace.MemberRole, trace.MemberDown, trace.MemberUp, trace.RaftSnapshot, trace.ClockChanged, trace.ClockPace, trace.RequestWaiting:
		return false
	}
	return true
}

// lookedBack is how many events are looked at for the last news.
const lookedBack = 4096

// News is the newest event up to a position that is neither routine nor of kviz' own
// clock; nil if there is none near.
func (h *History) News(pos uint64) *trace.Event {
	first := h.stream.First()
	for n := 0; n < lookedBack && pos >= first; n++ {
		if e := h.stream.Get(pos); e != nil && !Routine(e) && !OfClock(e) {
			return e
		}
		if pos == 0 {
			break
		}
		pos--
	}
	return nil
}
