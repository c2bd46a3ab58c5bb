package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// OfClock reports whether an event tells of kviz' own clock: that it stands, its speed,
// whether it falls behind. Nothing of it happens in the cluster.
func OfClock(e *trace.Event) bool {
	return e.Kind == trace.ClockChanged || e.Kind == trace.ClockPace
}

// Routine reports whether an event belongs to the chatter that never ends: messages and
// disk writes of raft, Leases that are renewed and the clients that learn of it, the writing of
// Kubernetes Events, and that a watch is up to date. What is not routine is news.
func Routine(e *trace.Event) bool {
	if !e.Outside() {
		return bookmark(e) || (e.Object.Kind == "Lease" || e.Object.Kind == "Event") && e.Kind != trace.LeaderElected && e.Kind != trace.EventRecorded
	}
	switch e.Kind {
	case trace.MemberRole, trace.MemberDown, trace.MemberUp, trace.RaftSnapshot, trace.ClockChanged, trace.ClockPace, trace.RequestWaiting, trace.EdgePanic:
		return false
	}
	return true
}

// Grave reports whether an event is one that nobody should miss: something was broken or
// mended, a member or a process is gone or panicked, an election begins or is won, a Lease to lead is
// lost, the store did not do what it was asked.
func Grave(e *trace.Event) bool {
	switch e.Kind {
	case trace.FaultInjected, trace.FaultHealed, trace.MemberDown, trace.MemberUp, trace.ProcessExit, trace.ProcessPanic, trace.StoreRefused:
		return true
	case trace.LeaderElected:
		p, ok := e.Payload.(*trace.Election)
		return ok && !p.Won
	case trace.MemberRole:
		p, ok := e.Payload.(*trace.MemberState)
		return ok && (p.Role == "leader" || p.Role == "candidate")
	}
	return false
}

// aftermath reports whether an event only ends what a grave one told: a member follows who
// was elected, a command that broke something is done.
func aftermath(e *trace.Event) bool {
	switch p := e.Payload.(type) {
	case *trace.MemberState:
		return e.Kind == trace.MemberRole && p.Role == "follower"
	case *trace.Command:
		return e.Kind == trace.CommandEnd && p.Exit == 0 && strings.Contains(p.Line, "kviz fault ")
	}
	return false
}

// Meaning says in plain words what a grave event means as things stand now; "" where it
// says so itself.
func (s *State) Meaning(e *trace.Event) string {
	q := s.Reach()
	if e == nil || q.Total == 0 || !Grave(e) || !strings.HasPrefix(e.Lane.Component, trace.CompMember) && !ofStore(e) {
		return ""
	}
	switch {
	case !q.OK():
		reached := "is up"
		if up := s.Store.Quorum(); up.Have > q.Have {
			reached = "reach one another"
		}
		return fmt.Sprintf("no quorum (%d of %d %s): nothing can be written, pods run on", q.Have, q.Total, reached)
	case s.Store.Leader == "" && (e.Kind == trace.MemberDown || e.Kind == trace.FaultInjected):
		return "nobody leads: the first member to miss a leader for too long stands for election"
	}
	return ""
}

// ofStore reports whether an event of another lane is about the store or a member.
func ofStore(e *trace.Event) bool {
	switch p := e.Payload.(type) {
	case *trace.Fault:
		return p.Target == "store" || strings.HasPrefix(p.Target, "member/") || strings.HasPrefix(p.Target, "link/")
	case *trace.StoreError:
		return true
	}
	return false
}

// bookmark reports whether an event only says how far a watch is, for want of changes.
func bookmark(e *trace.Event) bool {
	p, ok := e.Payload.(*trace.WatchEvent)
	return ok && p.Type == "BOOKMARK"
}

// lending reports whether an event tells that priority levels lend one another seats, as they
// do every ten seconds that anything is asked of them.
func lending(e *trace.Event) bool {
	p, ok := e.Payload.(*trace.FlowLimits)
	return ok && p.Why == trace.FlowByDemand
}

// Told reports whether an event is worth telling by itself: it is neither routine nor of
// kviz' own clock, nor does it only end what a grave one told, nor is it the lending of
// seats.
func Told(e *trace.Event) bool {
	return !Routine(e) && !OfClock(e) && !aftermath(e) && !lending(e)
}

// lookedBack is how many events are looked at for the last news.
const lookedBack = 4096

// News is the newest event up to a position that is worth telling; nil if there is none near.
func (h *History) News(pos uint64) *trace.Event {
	first := h.stream.First()
	for n := 0; n < lookedBack && pos >= first; n++ {
		if e := h.stream.Get(pos); e != nil && Told(e) {
			return e
		}
		if pos == 0 {
			break
		}
		pos--
	}
	return nil
}
