package raftstore

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// How the group changes: one member at a time, by an entry in the log that counts
// from when it is appended (raft dissertation §4.1). The store makes one change at a
// time and takes over what raft's configuration says when that is committed
// ([Replicated.adopt]). If the leader is lost meanwhile the next one is asked again:
// a change that is made twice is one change.

// AddMember starts an empty member and has the group take it in: as a learner,
// which gets the log but does not vote, or as a voter, which counts at once and is
// of no use until it has caught up. It gives the new member's name.
//
// Refused like etcd's strict reconfiguration check does (server/etcdserver/server.go
// mayAddMember), but that who is connected now counts, not who was for five seconds.
func (s *Replicated) AddMember(learner bool) (id string, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.add(learner, "", nil)
}

// AddMemberAt is AddMember with the peer URLs of the new member. In one process they
// are only shown; else a process that belongs to no group must listen at the first.
func (s *Replicated) AddMemberAt(learner bool, peerURLs []string) (id string, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.far == nil {
		if err := s.mayHave(peerURLs, ""); err != nil {
			return "", err
		}
		return s.add(learner, "", peerURLs)
	}
	if len(peerURLs) != 1 || !strings.HasPrefix(peerURLs[0], scheme) {
		return "", rpctypes.ErrGRPCMemberBadURLs // a member listens at one address, with TLS
	}
	name, err := s.far.Invite(strings.TrimPrefix(peerURLs[0], scheme))
	if err != nil {
		return "", fmt.Errorf("raftstore: %w", err)
	}
	return s.add(learner, name, nil)
}

// add adds a member; invited is the one whose process waits, "" for any. Members in one
// process may have peer URLs.
func (s *Replicated) add(learner bool, invited string, peerURLs []string) (id string, err error) {
	if err := s.mayAdd(learner); err != nil {
		return "", err
	}
	if id, err = s.nextName(invited); err != nil {
		return "", err
	}
	m := s.join(id)
	if err := s.start(m, true, "it joins the group"); err != nil {
		return "", errors.Join(err, s.unjoin(m))
	}
	err = s.change(func(leader leadership) error {
		address := s.addressFor(id)
		if len(peerURLs) > 0 {
			address = addressOf(id, peerURLs)
		}
		return leader.Set(member.Server{ID: id, Learner: learner, Address: address})
	})
	if err != nil {
		s.update(func(r *roster) { r.undecided = append(slices.Clone(r.undecided), id) })
		return "", err
	}
	return id, nil
}

func (s *Replicated) mayAdd(learner bool) error {
	leader, err := s.someLeader()
	if err != nil {
		return err
	}
	g := s.group()
	voters := len(g.voters())
	switch {
	case len(g.ids) >= maxMembers:
		return fmt.Errorf("raftstore: the group has %d members; more than %d it cannot have", len(g.ids), maxMembers)
	case learner && len(g.learners()) > 0:
		return rpctypes.ErrGRPCTooManyLearners // etcd's --max-learners is 1
	case voters > 1 && !s.connects(leader, (voters+1)/2+1):
		return rpctypes.ErrGRPCUnhealthy
	}
	return nil
}

// connects waits for a moment until the leader has heard from n voters since now,
// itself among them. That somebody was there a moment ago is not enough for a change
// that takes a quorum of those who remain.
func (s *Replicated) connects(leader leadership, n int) bool {
	start := time.Now()
	for s.heardSince(leader, start) < n {
		if time.Since(start) > 4*member.ElectionTimeout {
			return false
		}
		select {
		case <-s.closing:
			return false
		default:
		}
		s.sleep(5 * time.Millisecond)
	}
	return true
}

// heardSince is how many voters have answered what the leader sent since then.
func (s *Replicated) heardSince(leader leadership, start time.Time) (n int) {
	for _, id := range s.group().voters() {
		if s.heardFrom(leader, id, start) {
			n++
		}
	}
	return n
}

func (s *Replicated) heardFrom(leader leadership, id string, start time.Time) bool {
	return id == leader.Member() || s.network.Contact(leader.Member(), id, leader.Term()).After(start)
}

// inContact says whether the leader has heard from a voter within twice the time after
// which followers miss their leader at the earliest.
func (s *Replicated) inContact(leader leadership, id string) bool {
	return s.heardFrom(leader, id, time.Now().Add(-2*member.ElectionTimeout))
}

// readyShare is how much of the leader's log a learner must have to become a voter:
// etcd's readyPercentThreshold.
const readyShare = 0.9

// PromoteMember makes a learner a voter, if it has nearly caught up.
//
// Mirrors etcd server/etcdserver/server.go promoteMember, isLearnerReady.
func (s *Replicated) PromoteMember(id string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.promote(id)
}

func (s *Replicated) promote(id string) error {
	g := s.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	if !g.learner[i] {
		return rpctypes.ErrGRPCMemberNotLearner
	}
	leader, err := s.someLeader()
	if err != nil {
		return err
	}
	match := s.network.Progress(leader.Member(), id, leader.Term()).Match
	if float64(match) < readyShare*float64(leader.Last()) {
		return rpctypes.ErrGRPCLearnerNotReady
	}
	return s.change(func(leader leadership) error {
		return leader.Set(member.Server{ID: id, Address: addressOf(id, g.urls[i])})
	})
}

// RemoveMember takes a member out of the group, stops it and deletes what is on its
// disk. A leader can be removed too: it steps down when that is committed.
//
// Mirrors etcd server/etcdserver/server.go mayRemoveMember.
func (s *Replicated) RemoveMember(id string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.remove(id)
}

func (s *Replicated) remove(id string) error {
	if err := s.mayRemove(id); err != nil {
		return err
	}
	return s.change(func(leader leadership) error { return leader.Remove(id) })
}

func (s *Replicated) mayRemove(id string) error {
	g := s.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	leader, err := s.someLeader()
	if err != nil {
		return err
	}
	voters, start := len(g.voters()), time.Now()
	switch {
	case g.learner[i]:
		return nil
	case voters == 1:
		return rpctypes.ErrGRPCMemberNotEnoughStarted
	case s.connects(leader, 2+(voters-1)/2):
		return nil
	case !s.heardFrom(leader, id, start):
		return nil // it is no part of the quorum that is there
	}
	return rpctypes.ErrGRPCUnhealthy
}

// UpdateMember changes a member's peer URLs.
func (s *Replicated) UpdateMember(id string, peers []string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.setURLs(id, peers)
}

func (s *Replicated) setURLs(id string, peers []string) error {
	g := s.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	if err := s.mayHave(peers, id); err != nil {
		return err
	}
	return s.change(func(leader leadership) error {
		return leader.Set(member.Server{ID: id, Learner: g.learner[i], Address: addressOf(id, peers)})
	})
}

// mayHave says whether a member may have peer URLs: they make sense, and no other
// member has them. id is "" for one that is yet to join.
func (s *Replicated) mayHave(peerURLs []string, id string) error {
	if len(peerURLs) == 0 {
		return rpctypes.ErrGRPCMemberBadURLs
	}
	g := s.group()
	for _, p := range peerURLs {
		if u, err := url.Parse(p); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Contains(p, ",") {
			return rpctypes.ErrGRPCMemberBadURLs
		}
		for i, urls := range g.urls {
			if g.ids[i] != id && slices.Contains(urls, p) {
				return rpctypes.ErrGRPCPeerURLExist
			}
		}
	}
	return nil
}

// addressOf is the inverse of urlsOf.
func addressOf(id string, urls []string) string {
	if slices.Equal(urls, urlsOf(member.Server{ID: id, Address: id})) {
		return id
	}
	return strings.Join(urls, ",")
}

// nextName is a name that was never used: of a process that waits, if members have
// one, of the one that was invited, if one was.
func (s *Replicated) nextName(invited string) (string, error) {
	if s.far != nil {
		return s.spare(invited)
	}
	facts := s.facts
	id := memberName(facts.Named)
	facts.Named++
	if err := s.writeGroup(facts); err != nil {
		return "", err
	}
	s.facts = facts
	return id, nil
}

// update changes the roster.
func (s *Replicated) update(fn func(r *roster)) {
	s.rosterMu.Lock()
	defer s.rosterMu.Unlock()
	now := *s.group()
	fn(&now)
	s.roster.Store(&now)
}

// join makes a member of which raft does not know yet.
func (s *Replicated) join(id string) (m peer) {
	s.update(func(r *roster) {
		m = s.newMember(id)
		r.joining = append(slices.Clone(r.joining), m)
	})
	return m
}

// unjoin forgets a member that did not join after all.
func (s *Replicated) unjoin(m peer) error {
	s.update(func(r *roster) {
		r.joining = slices.DeleteFunc(slices.Clone(r.joining), func(o peer) bool { return o == m })
		r.undecided = slices.DeleteFunc(slices.Clone(r.undecided), func(id string) bool { return id == m.ID() })
	})
	return s.retire(m, "it did not become a member")
}

// retire ends a member for good.
func (s *Replicated) retire(m peer, why string) error {
	if m.Up() {
		// Down by itself meanwhile is just as well.
		_ = m.Stop(why)
	}
	s.network.Forget(m.ID())
	if err := m.Erase(why); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return s.syncDir()
}

// start starts a member, unless the store is closed: Close stops what was
// started before.
func (s *Replicated) start(m peer, fresh bool, why string) error {
	s.starting.RLock()
	defer s.starting.RUnlock()
	s.mu.Lock()
	err := s.refusal()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return m.Start(fresh, why)
}
