package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/scene"
	"kviz/tui/words"
)

// narrator tells in words what the picture shows: along which way something goes, who is
// elected by whom, which floors have fallen, and how far one's command has come.
type narrator struct {
	floors view.Floors       // as they were told
	back   time.Duration     // since then the store has a quorum again
	said   map[string]string // by member: what was told of it last
	walk   *told             // the newest command that did something; nil before the first
	asked  *told             // one that has done nothing yet: most only read
}

// told is how far a command has come.
type told struct {
	path  *view.Path
	line  string
	begin time.Duration
	way   []string // the places of its stations, in a row
}

func newNarrator() *narrator { return &narrator{said: map[string]string{}} }

// line is what is written of an event, seen from the state after it: the event itself, unless
// it is one of the raft lane and those are not asked for, and below it what it means.
func (n *narrator) line(e *trace.Event, s *view.State, outside bool) string {
	var all []string
	station := n.follow(e, s)
	if outside || !e.Outside() {
		all = append(all, eventLine(e, s)+station)
	}
	for _, said := range n.tell(e, s) {
		all = append(all, "* "+words.Clock(e.At)+" "+said)
	}
	text := ""
	for _, l := range all {
		text += grid.Clean(l) + "\n"
	}
	return text
}

// eventLine is one event: number, time, way or lane, sentence, causes.
func eventLine(e *trace.Event, s *view.State) string {
	where := e.Lane.String()
	if l, ok := motion.Of(e, s); ok && l.To != "" && l.To != l.From {
		where = placeName(l.From) + " -> " + placeName(l.To)
	}
	line := fmt.Sprintf("#%s %s %s: %s", e.ID, words.Clock(e.At), where, view.Explain(e))
	for i, c := range e.Causes {
		if i == 0 {
			line += " Because of"
		}
		line += " #" + c.String()
	}
	return line
}

// placeName is a place of the picture as one says it.
func placeName(id string) string {
	switch id {
	case scene.APIServer:
		return "API server"
	case scene.Controllers:
		return "controllers"
	}
	if service, ok := strings.CutPrefix(id, "svc/"); ok {
		return "Service " + service
	}
	id = strings.TrimPrefix(id, "process/")
	return strings.TrimPrefix(id, "node/")
}

// follow takes an event in on the ways of the newest commands, and says which station of
// which it is.
func (n *narrator) follow(e *trace.Event, s *view.State) string {
	if e.Kind == trace.CommandStart {
		n.asked = &told{path: view.NewPath(e.ID), begin: e.At, way: []string{scene.You}}
		if p, ok := e.Payload.(*trace.Command); ok {
			n.asked.line = p.Line
		}
	}
	if n.asked.take(e, s) {
		n.walk, n.asked = n.asked, nil
	} else if !n.walk.take(e, s) {
		return ""
	}
	return fmt.Sprintf(" (station %d of your command #%s)", len(n.walk.path.Stations()), n.walk.path.Of())
}

// take takes an event in, and reports whether it is a station.
func (t *told) take(e *trace.Event, s *view.State) bool {
	if t == nil || !t.path.Take(e) {
		return false
	}
	if at := motion.PlaceOf(e.Lane, s); at != "" && t.way[len(t.way)-1] != at {
		t.way = append(t.way, at)
	}
	return true
}

// tell is what an event means for the whole.
func (n *narrator) tell(e *trace.Event, s *view.State) []string {
	var all []string
	if member, said := memberTells(e, s); said != "" && n.said[member] != said {
		n.said[member] = said
		all = append(all, said)
	}
	all = append(all, n.fallen(s)...)
	if t := n.walk; e.Kind == trace.Converged && t != nil && slices.Contains(t.path.Stations(), e.ID) {
		places := make([]string, len(t.way))
		for i, id := range t.way {
			places[i] = placeName(id)
		}
		all = append(all, fmt.Sprintf("the way of your command %q so far, in %s: %s", t.line, words.Dur(e.At-t.begin), strings.Join(places, " -> ")))
	}
	return all
}

// answers is when the store last did what only a quorum can.
func answers(s *view.State) time.Duration {
	if all := s.Store.Commits(); len(all) > 0 {
		return all[len(all)-1].At
	}
	return 0
}

// renewed reports whether a node's Lease is young again.
func renewed(s *view.State) bool {
	for _, node := range s.Nodes() {
		if age, ok := s.LeaseAge(node.Name); ok && age < view.NodeGrace {
			return true
		}
	}
	return false
}

// memberTells tells of an election and of who is there: of which member, and what.
func memberTells(e *trace.Event, s *view.State) (member, said string) {
	q := s.Store.Quorum()
	up := fmt.Sprintf("; %d of %d are up, %d make a quorum", q.Have, q.Total, q.Need)
	switch p := e.Payload.(type) {
	case *trace.RaftPatience:
		if p.Left == 0 {
			return p.Member, fmt.Sprintf("member %s has heard no leader for %s: it may stand for election at any moment", p.Member, words.Dur(p.AtLeast))
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
		case e.Kind == trace.MemberRole && p.Role == "candidate":
			return p.Member, fmt.Sprintf("member %s stands for election; it needs %d of %d votes", p.Member, q.Need, q.Total)
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

// fallen tells which floors have fallen since the last event, and which stand again.
func (n *narrator) fallen(s *view.State) []string {
	was, is := n.floors, s.Floors()
	if was.Store && !is.Store {
		n.back = s.At
	}
	if !is.Store { // a floor stands again when that is seen, not as soon as it can
		committed := answers(s) > n.back
		is.Writes, is.Reads = was.Writes && !committed, was.Reads && !committed
		if was.Nodes > 0 && !renewed(s) {
			is.Nodes = was.Nodes
		}
	}
	n.floors = is
	var all []string
	turned := func(before, now bool, down, up string) {
		switch {
		case now && !before:
			all = append(all, down)
		case before && !now:
			all = append(all, up)
		}
	}
	up := s.Store.Quorum()
	lost := fmt.Sprintf("red: the store. No quorum: %d of %d members are up, %d are needed; pods run on and rules route on", is.Quorum.Have, is.Quorum.Total, is.Quorum.Need)
	if up.Have > is.Quorum.Have {
		lost = fmt.Sprintf("red: the store. No quorum: %d of %d members reach one another, %d are needed; pods run on and rules route on", is.Quorum.Have, is.Quorum.Total, is.Quorum.Need)
	}
	turned(was.Store, is.Store, lost, fmt.Sprintf("again: the store has a quorum, %d of %d members", is.Quorum.Have, is.Quorum.Total))
	turned(was.Writes, is.Writes, "red: writes. What is to be changed waits, then fails", "again: writes")
	turned(was.Reads, is.Reads, "red: reads that ask a quorum. What watches have is still served", "again: reads that ask a quorum")
	for _, process := range []string{trace.CompScheduler, trace.CompKCM} {
		turned(was.Leases[process], is.Leases[process], "red: the "+process+". It could not renew its Lease, so it stops", "again: the "+process+" has its Lease")
	}
	turned(was.Nodes > 0, is.Nodes > 0, "red: the nodes' Leases. They are too old, and nobody can write down that the nodes are late", "again: the nodes' Leases")
	return all
}
