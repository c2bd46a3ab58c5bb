package etcdapi

import (
	"fmt"
	"slices"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/member"
)

// follow brings the addresses in line with the group: one for every member,
// open while the member runs.
func (s *Server) follow() error {
	names := []string{BareName}
	if s.group != nil {
		names = s.group.IDs()
	}
	changed := false
	s.mu.Lock()
	var gone []*frontend
	s.frontends = slices.DeleteFunc(s.frontends, func(f *frontend) bool {
		left := !slices.Contains(names, f.member)
		if left {
			gone = append(gone, f)
		}
		return left
	})
	for _, name := range names {
		if !slices.ContainsFunc(s.frontends, func(f *frontend) bool { return f.member == name }) {
			s.frontends = append(s.frontends, newFrontend(s, name, s.nextPort))
			if s.nextPort != 0 {
				s.nextPort++
			}
			changed = true
		}
	}
	frontends := slices.Clone(s.frontends)
	s.mu.Unlock()
	for _, f := range gone {
		f.close()
		s.metrics.Forget(f.member)
		changed = true
	}
	var failed error
	learners, _ := s.attributes()
	for _, f := range frontends {
		f.learns.Store(learners[f.member])
		did, err := f.follow()
		changed = changed || did
		if err != nil && failed == nil {
			failed = fmt.Errorf("serve etcd's API of member %s: %w", f.member, err)
		}
	}
	if changed {
		s.mu.Lock()
		fn := s.listener
		s.mu.Unlock()
		if fn != nil {
			fn()
		}
	}
	return failed
}

// followLoop follows the group until Close. It sleeps unless something changed,
// an address could not be opened, or a member knows no leader: then the streams
// that insist on one are counted down.
func (s *Server) followLoop() {
	leaderless := map[*frontend]int{}
	for {
		err := s.follow()
		s.mu.Lock()
		frontends := slices.Clone(s.frontends)
		s.mu.Unlock()
		again := err != nil
		for _, f := range frontends {
			if !f.isOpen() || s.group.Glance(f.member).Leader != "" {
				delete(leaderless, f)
				continue
			}
			again = true
			if leaderless[f]++; leaderless[f] > maxNoLeader {
				f.streams.cancelAll()
			}
		}
		if !s.pause(again) {
			return
		}
	}
}

// maxNoLeader is for how many election timeouts a member may know no leader
// before it ends the streams that insist on one.
//
// Mirrors etcd server/etcdserver/api/v3rpc/interceptor.go monitorLeader.
const maxNoLeader = 3

// pause waits for a change; while something is wrong for an election timeout,
// and not less. It reports false when the server closes.
func (s *Server) pause(again bool) bool {
	if !again {
		select {
		case <-s.poke:
			return true
		case <-s.closing:
			return false
		}
	}
	timer := time.NewTimer(member.ElectionTimeout)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-s.poke:
			if err := s.follow(); err == nil {
				continue // members that came up are served at once
			}
		case <-s.closing:
			return false
		}
	}
}

// attributes is what the store knows of its members beside their names.
func (s *Server) attributes() (learners map[string]bool, peers map[string][]string) {
	learners, peers = map[string]bool{}, map[string][]string{}
	if s.group == nil {
		return learners, peers
	}
	for _, m := range s.group.Members() {
		learners[m.ID], peers[m.ID] = m.Learner, m.PeerURLs
	}
	return learners, peers
}

// status is the status of one member.
func (s *Server) status(id string) (raftstore.MemberStatus, bool) {
	if s.group == nil {
		return raftstore.MemberStatus{}, false
	}
	for _, m := range s.group.Members() {
		if m.ID == id {
			return m, true
		}
	}
	return raftstore.MemberStatus{}, false
}
