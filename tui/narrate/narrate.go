// Package narrate says in sentences what happens in the cluster, the ones that a person would want to know next: somebody
// asks for pre-votes, votes, leads; the quorum is lost and back; a write is refused; a pod is placed, runs, fails. The
// explanation line and plain mode tell them one after the other ([Teller]); what [OfMember] and [Floors] say stands beside every event.
//
// Start reading at [Of], then teller.go.
package narrate

import (
	"net/http"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Rank is how much a sentence matters.
type Rank uint8

// The ranks.
const (
	Untold    Rank = iota // what goes on all the time, or is a part of something that is told
	Milestone             // how far something has come
	Grave                 // what nobody should miss
)

// Sentence is what an event comes to.
type Sentence struct {
	Event *trace.Event // nil for one that is no event's
	Text  string
	Means string // what follows from it as things stand; "" for nothing
	Rank  Rank
}

// String is all of it.
func (s Sentence) String() string {
	if s.Means == "" {
		return s.Text
	}
	return s.Text + "; " + s.Means
}

// Of is what an event comes to, seen from the state after it.
func Of(e *trace.Event, s *view.State) Sentence {
	rank := rankOf(e)
	if rank == Untold {
		return Sentence{}
	}
	return Sentence{Event: e, Text: view.Explain(e), Means: s.Meaning(e), Rank: rank}
}

// rankOf is how much an event matters. What a person does and what comes of it are milestones, as are the decisions of
// controllers and scheduler and what becomes of pods and nodes.
func rankOf(e *trace.Event) Rank {
	if view.Grave(e) {
		return Grave
	}
	if !view.Told(e) && e.Kind != trace.RaftVote {
		return Untold
	}
	switch p := e.Payload.(type) {
	case *trace.RaftVoteRecord:
		if p.Candidate != "" && p.Candidate != p.Member {
			return Grave
		}
	case *trace.Command:
		if e.Kind == trace.CommandStart || p.Exit != 0 {
			return Milestone
		}
	case *trace.Response:
		if p.Code >= http.StatusBadRequest && !(p.Verb == "get" && p.Code == http.StatusNotFound) && p.Code != http.StatusConflict {
			return Milestone
		}
	case *trace.Decision, *trace.ContainerState, *trace.NodeReport, *trace.Election, *trace.Action, *trace.Membership, *trace.Alarm:
		return Milestone
	case *trace.Probe:
		return Milestone
	case *trace.PodStep:
		if e.Kind == trace.RestartBackoff {
			return Milestone
		}
	case *trace.PodSync:
		if e.Kind == trace.PodAdmit && p.Reason != "" {
			return Milestone
		}
	case *trace.ProxySyncInfo:
		if p.Added+p.Removed > 0 {
			return Milestone
		}
	case *trace.RaftSnapshotInfo:
		return Milestone
	}
	if e.Kind == trace.Converged || e.Kind == trace.Ready {
		return Milestone
	}
	return Untold
}
