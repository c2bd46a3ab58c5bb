package narrate

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/words"
)

// OfMember tells of an election and of who is there: of which member, and what; "" where an event is about neither.
func OfMember(e *trace.Event, s *view.State) (member, said string) {
	q := s.Store.Quorum()
	up := fmt.Sprintf("; %d of %d are up, %d make a quorum", q.Have, q.Total, q.Need)
	switch p := e.Payload.(type) {
	case *trace.RaftPatience:
		if p.Left == 0 {
			return p.Member, fmt.Sprintf("no leader has reached member %s for %s: it may stand for election at any moment", p.Member, words.Dur(p.AtLeast))
		}
	case *trace.RaftVoteRecord:
		return p.Member, voteTells(p, s)
	case *trace.MemberState:
		switch {
		case e.Kind == trace.MemberDown:
			if s.Store.Leader == "" {
				up += "; nobody leads"
			}
			return p.Member, fmt.Sprintf("member %s is down (%s)", p.Member, p.Reason) + up
		case e.Kind == trace.MemberUp && q.Total > 1:
			return p.Member, fmt.Sprintf("member %s is up", p.Member) + up
		case e.Kind == trace.MemberRole && p.Role == "candidate" && p.Stands:
			return p.Member, fmt.Sprintf("member %s stands for election in term %d; it needs %d of %d", p.Member, p.Term, q.Need, q.Total)
		case e.Kind == trace.MemberRole && p.Role == "candidate":
			return p.Member, fmt.Sprintf("member %s asks for pre-votes for term %d; it needs %d of %d", p.Member, p.Term+1, q.Need, q.Total)
		case e.Kind == trace.MemberRole && p.Role == "leader":
			return p.Member, fmt.Sprintf("member %s leads, in term %d", p.Member, p.Term)
		}
	}
	return "", ""
}

// voteTells tells a vote, and how many there are now.
func voteTells(p *trace.RaftVoteRecord, s *view.State) string {
	if p.Candidate == "" {
		return ""
	}
	q, has := s.Store.Quorum(), 0
	for _, m := range s.Store.Members() {
		if m.VotedFor == p.Candidate && m.VotedTerm == p.Term && !m.Learner {
			has++
		}
	}
	who := p.Candidate
	if who == p.Member {
		who = "itself"
	}
	return fmt.Sprintf("member %s votes for %s in term %d: %d of %d, %d make a quorum", p.Member, who, p.Term, has, q.Total, q.Need)
}
