package motion

import (
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/theme"
)

// An election is over in some milliseconds, between two frames. So that it is seen, each
// of its steps waits until the one before has arrived: who asks, who answers, who leads.

// ballot is how long a vote is on its way at least, and most how far the steps of an
// election may lag behind.
const (
	ballot   = 500 * time.Millisecond
	farthest = 3 * time.Second
)

// election is the one that is shown.
type election struct {
	term  uint64
	first int           // the step it began with
	begin time.Duration // of that
	end   time.Duration // of the last step so far
}

// stepOf is the step of an election that an event belongs to, and the term that it is
// about; 0 for none.
func stepOf(e *trace.Event) (step int, term uint64) {
	switch p := e.Payload.(type) {
	case *trace.RaftMessage:
		switch p.RPC {
		case "RequestPreVote":
			step = 1
		case "RequestVote":
			step = 3
		default:
			return 0, 0
		}
		if e.Kind == trace.RaftReply {
			step++
		}
		return step, p.Term
	case *trace.RaftVoteRecord:
		return 3, p.Term
	case *trace.MemberState:
		if e.Kind == trace.MemberRole && p.Role == "leader" {
			return 5, p.Term
		}
	}
	return 0, 0
}

// when is when a light of a step sets out. The next election waits for the end of the one
// that is shown.
func (n *election) when(step int, term uint64, now time.Duration) time.Duration {
	switch {
	case now >= n.end:
		*n = election{term: term, first: step, begin: now}
	case term > n.term:
		*n = election{term: term, first: step, begin: min(n.end, now+farthest)}
	}
	begin := n.begin + time.Duration(max(step-n.first, 0))*ballot
	n.end = max(n.end, begin+ballot)
	return begin
}

// quarter is how long a follower's election timeout takes from the mark that an event tells to the next; 0 where
// it runs down no further.
func quarter(e *trace.Event) time.Duration {
	p, ok := e.Payload.(*trace.RaftPatience)
	if !ok || p.Left < 1 || p.Left > 3 {
		return 0
	}
	return p.AtLeast / 4
}

// undecided are the members that voted in a term which an event ends, in which nobody was
// elected: each of them flashes once.
func undecided(e *trace.Event, s *view.State) []Pulse {
	p := s.Store.LastOver()
	if p == nil || p.Over != e.ID {
		return nil
	}
	var all []Pulse
	for _, v := range p.Votes {
		l := Light{From: "member/" + v.Member, Class: Undecided, Rank: News, Role: theme.Term(p.Term), Glyph: '◇'}
		all = append(all, Pulse{Light: l, Event: e, Count: 1})
	}
	return all
}
