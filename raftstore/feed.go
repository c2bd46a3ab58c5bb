package raftstore

import (
	"sync"

	"kviz/raftstore/member"
)

// epoch is one leader being given the writes whose end is not known, oldest
// first. Its ID grows with the leader's term, so that the state machine can tell
// a late entry of an old epoch (see [member.Ticket]).
type epoch struct {
	id     uint64
	leader leadership
	ended  bool
	more   *sync.Cond // on Replicated.mu: there is more to give, or the epoch ended
	given  *write     // the last write given, nil at the start
	seq    uint64
}

func (e *epoch) wake() {
	if e != nil {
		e.more.Signal()
	}
}

// leadershipChanged is called by members from raft's goroutines.
func (s *Replicated) leadershipChanged() {
	defer s.listeners.tell()
	s.mu.Lock()
	defer s.mu.Unlock()
	var leader leadership
	for _, m := range s.group().all() {
		if r := m.Leader(); r != nil && (leader == nil || r.Term() > leader.Term()) {
			leader = r
		}
	}
	if sameLeader(leader, s.leader) {
		return
	}
	s.endEpoch()
	s.leader = leader
	s.lessor.Demote()
	if leader != nil {
		s.beginEpoch(leader.Term() << 16)
		if !s.closed {
			s.spawn("leases of "+leader.Member(), func() { s.promoteLessor(leader) })
			s.spawn("roll call of "+leader.Member(), func() { s.rollCall(leader) })
		}
	}
	s.reads.restart()
	poke(s.wakeReads)
}

// beginEpoch starts giving the leader every write whose end is not known. Call
// with mu held.
func (s *Replicated) beginEpoch(id uint64) {
	if s.closed {
		return
	}
	id = max(id, s.lastEpoch+1)
	s.lastEpoch = id
	e := &epoch{id: id, leader: s.leader, more: sync.NewCond(&s.mu)}
	s.epoch = e
	s.spawn("feed of "+e.leader.Member(), func() { s.feed(e) })
}

// endEpoch stops the giving. Call with mu held.
func (s *Replicated) endEpoch() {
	if s.epoch != nil {
		s.epoch.ended = true
		s.epoch.wake()
		s.epoch = nil
	}
}

// renew begins a new epoch with the same leader, because the old one lost a
// write on its way. Call with mu held.
func (s *Replicated) renew(id uint64) {
	if s.epoch != nil && s.epoch.id == id {
		s.endEpoch()
		s.beginEpoch(id + 1)
	}
}

// feed is the epoch's goroutine: the only one that proposes to the leader. It
// may block in raft when the leader's queue is full; when the leader goes
// down it comes back.
func (s *Replicated) feed(e *epoch) {
	type offer struct {
		data   []byte
		ticket member.Ticket
	}
	var offers []offer
	for {
		offers = offers[:0]
		s.mu.Lock()
		for !e.ended && s.ungiven(e) == nil {
			e.more.Wait()
		}
		for w := s.ungiven(e); w != nil && !e.ended && len(offers) < 512; w = s.ungiven(e) {
			offers = append(offers, offer{w.data, member.Ticket{Number: w.number, Epoch: e.id, Seq: e.seq}})
			w.offered++
			e.given = w
			e.seq++
		}
		ended := e.ended
		s.mu.Unlock()
		if ended {
			return
		}
		for _, o := range offers {
			if !e.leader.Propose(o.data, o.ticket) {
				return // whoever leads next gets a new epoch
			}
		}
	}
}

// ungiven is the next write that the epoch has not given. Call with mu held.
func (s *Replicated) ungiven(e *epoch) *write {
	w := s.writes.head
	if e.given != nil {
		w = e.given.next
	}
	for w != nil && w.settled {
		w = w.next
	}
	return w
}
