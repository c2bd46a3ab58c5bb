package raftstore

import (
	"slices"
)

// IDs are the names of the members now, learners too, in order of joining.
func (ms *membership) IDs() []string { return slices.Clone(ms.group().ids) }

// TermAt is the term that a member is in; up is false if the member is down.
func (s *Replicated) TermAt(id string) (term uint64, up bool) {
	m, err := s.membership.member(id)
	if err != nil {
		return 0, false
	}
	st := m.Status()
	return st.Term, st.Up
}

// Healthy reports whether the store can answer now: there is a leader, and
// a quorum answered it within two election timeouts.
func (s *Replicated) Healthy() bool {
	leader, err := s.order.current()
	if leader == nil || err != nil {
		return false
	}
	g, heard, voters := s.membership.group(), 0, 0
	for i, id := range g.ids {
		if g.learner[i] {
			continue
		}
		voters++
		if s.membership.inContact(leader, id) {
			heard++
		}
	}
	return heard > voters/2
}

// Whole reports whether nothing is wrong with any member: all are up, no disk is
// slow or full, no link has a fault. It takes no lock and makes no garbage, so
// it may be asked at every step.
func (s *Replicated) Whole() bool {
	for _, m := range s.membership.group().members {
		if slow, full := m.Disk(); slow > 0 || full || !m.Up() {
			return false
		}
	}
	return s.network.Whole()
}

// Members returns the status of every member, in order of joining.
func (s *Replicated) Members() []MemberStatus {
	g := s.membership.group()
	list := make([]MemberStatus, len(g.members))
	for i, m := range g.members {
		st := m.Status()
		list[i] = MemberStatus{
			ID: m.ID(), Up: st.Up, Reason: st.Reason, Role: st.Role, Term: st.Term, Leader: st.Leader,
			Last: st.Last, Commit: st.Commit, Applied: st.Applied, Revision: st.Revision,
			SlowDisk: st.SlowDisk, FullDisk: st.FullDisk, Learner: g.learner[i], PeerURLs: g.urls[i],
		}
		for _, to := range g.ids {
			if to == m.ID() {
				continue
			}
			if st.Role == "leader" {
				if list[i].Followers == nil {
					list[i].Followers = map[string]Follower{}
				}
				list[i].Followers[to] = s.network.Progress(m.ID(), to, st.Term)
			}
			if f := s.network.Faults(m.ID(), to); f.Cut || f.Delay > 0 || f.Drop > 0 || f.Duplicate > 0 || f.Reorder > 0 {
				list[i].Links = append(list[i].Links, f)
			}
		}
	}
	return list
}
