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
	more   *sync.Cond // on order.mu: there is more to give, or the epoch ended
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
	s.order.lead(func() (leader leadership) {
		for _, m := range s.membership.group().all() {
			if r := m.Leader(); r != nil && (leader == nil || r.Term() > leader.Term()) {
				leader = r
			}
		}
		return leader
	}, s.leases.demote, func(leader leadership) {
		s.spawn("leases of "+leader.Member(), func() { s.promoteLessor(leader) })
		s.spawn("roll call of "+leader.Member(), func() { s.membership.rollCall(leader) })
	})
}

// lead gives the requests in flight to the current leader. who is called with the lock
// held, so that leaders are seen in order; if the leader has changed, lost is called
// before the new one gets anything, and led for one of the open store.
func (o *order) lead(who func() leadership, lost func(), led func(leadership)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	leader := who()
	if sameLeader(leader, o.leader) {
		return
	}
	o.endEpoch()
	o.leader = leader
	lost()
	if leader != nil {
		o.beginEpoch(leader.Term() << 16)
		if !o.closed {
			led(leader)
		}
	}
	o.reads.restart()
	poke(o.wakeReads)
}

// beginEpoch starts giving the leader every write whose end is not known. Call
// with mu held.
func (o *order) beginEpoch(id uint64) {
	if o.closed {
		return
	}
	id = max(id, o.lastEpoch+1)
	o.lastEpoch = id
	e := &epoch{id: id, leader: o.leader, more: sync.NewCond(&o.mu)}
	o.epoch = e
	o.store.spawn("feed of "+e.leader.Member(), func() { o.feed(e) })
}

// endEpoch stops the giving. Call with mu held.
func (o *order) endEpoch() {
	if o.epoch != nil {
		o.epoch.ended = true
		o.epoch.wake()
		o.epoch = nil
	}
}

// renew begins a new epoch with the same leader, because the old one lost a
// write on its way. Call with mu held.
func (o *order) renew(id uint64) {
	if o.epoch != nil && o.epoch.id == id {
		o.endEpoch()
		o.beginEpoch(id + 1)
	}
}

// feed is the epoch's goroutine: the only one that proposes to the leader. It
// may block in raft when the leader's queue is full; when the leader goes
// down it comes back.
func (o *order) feed(e *epoch) {
	type offer struct {
		data   []byte
		ticket member.Ticket
	}
	var offers []offer
	for {
		offers = offers[:0]
		o.mu.Lock()
		for !e.ended && o.ungiven(e) == nil {
			e.more.Wait()
		}
		for w := o.ungiven(e); w != nil && !e.ended && len(offers) < 512; w = o.ungiven(e) {
			offers = append(offers, offer{w.data, member.Ticket{Number: w.number, Epoch: e.id, Seq: e.seq}})
			w.offered++
			e.given = w
			e.seq++
		}
		ended := e.ended
		o.mu.Unlock()
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
func (o *order) ungiven(e *epoch) *write {
	w := o.writes.head
	if e.given != nil {
		w = e.given.next
	}
	for w != nil && w.settled {
		w = w.next
	}
	return w
}
