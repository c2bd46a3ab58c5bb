package raftstore

import (
	"time"

	"kviz/raftstore/wire"
)

// Hold holds (true) or releases (false) the messages between members. Heartbeats and
// appends without new entries still pass, so that the leader keeps its leadership; no
// election starts, and the clock of requests in flight stands still.
func (s *Replicated) Hold(on bool) {
	s.holding.Lock() // clock, members and network stand or go together
	defer s.holding.Unlock()
	s.order.clock.hold(on)
	members := s.membership.everybody(func() { s.held.Store(on) })
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

// For how long, in real time, what was let go may take to lead to the next thing that is
// held: a message that is handled and answered; a member that sees that its time is over,
// which heard of its leader a moment ago.
const (
	handling  = 40 * time.Millisecond
	timingOut = 150 * time.Millisecond
)

// StepOne lets one thing go of what is held: the oldest message, or, where none waits,
// the election timeout of a member that has no leader. What the members did last is
// waited for first. False: no message waits, and every member that runs has a leader.
func (s *Replicated) StepOne() bool {
	for !s.ReleaseOne() {
		if time.Now().Before(s.settled) {
			s.order.sleep(time.Millisecond)
			continue
		}
		m := s.nextTimeout()
		if m == nil {
			return false
		}
		s.timedOut[m.ID()]++
		m.TimeOut()
		s.settled = time.Now().Add(timingOut)
		return true
	}
	s.settled = time.Now().Add(handling)
	return true
}

// nextTimeout is the voter whose election timeout expires next, nil if all running ones
// lead or hear from a leader. They take turns, since raft's random timeouts are not
// known.
func (s *Replicated) nextTimeout() (next peer) {
	for _, id := range s.membership.group().voters() {
		m, err := s.membership.member(id)
		if err != nil || !s.leaderless(m) {
			s.timedOut[id] = 0
			continue
		}
		if next == nil || s.timedOut[id] < s.timedOut[next.ID()] {
			next = m
		}
	}
	return next
}

// leaderless reports whether no leader's heartbeats can reach a member that runs.
func (s *Replicated) leaderless(m peer) bool {
	g := m.Glance()
	if !g.Up || g.Leads {
		return false
	}
	leader, err := s.membership.member(g.Leader)
	return err != nil || !leader.Glance().Leads || s.network.Faults(g.Leader, m.ID()).Cut
}

// Held lists what is held, oldest first.
func (s *Replicated) Held() []Held { return s.network.Held() }

// observe turns what the network tells into events of the members.
func (s *Replicated) observe(p wire.Phase, m wire.Message) {
	at := m.From
	if p == wire.Delivered {
		at = m.To
	}
	if member, err := s.membership.member(at); err == nil {
		member.Report(p, m)
	}
}
