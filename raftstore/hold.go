package raftstore

import "kviz/raftstore/wire"

// Hold stops (true) or lets go (false) the messages between members. Heartbeats
// and appends without news still pass, so that the leader goes on leading; no
// election starts, and the time of requests under way stands still.
func (s *Replicated) Hold(on bool) {
	s.holding.Lock() // clock, members and network stand or go together
	defer s.holding.Unlock()
	s.clock.hold(on)
	members := s.everybody(func() { s.held.Store(on) })
	if on {
		for _, m := range members {
			m.Hold(true)
		}
		s.network.Hold(true)
		return
	}
	s.network.Hold(false)
	for _, m := range members {
		m.Hold(false)
	}
	s.order.wake()
	s.leases.wake()
}

// ReleaseOne lets the oldest held message, a request or an answer, go; false
// if none is held.
func (s *Replicated) ReleaseOne() bool { return s.network.ReleaseOne() }

// Held lists what is held, oldest first.
func (s *Replicated) Held() []Held { return s.network.Held() }

// observe turns what the network tells into events of the members.
func (s *Replicated) observe(p wire.Phase, m wire.Message) {
	at := m.From
	if p == wire.Delivered {
		at = m.To
	}
	if member, err := s.member(at); err == nil {
		member.Report(p, m)
	}
}
