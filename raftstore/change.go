package raftstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// someLeader is the leader. It waits for one a little: there may be an election.
func (s *Replicated) someLeader() (leadership, error) {
	return s.awaitLeader(s.clock.now()+4*member.ElectionTimeout, rpctypes.ErrGRPCNoLeader)
}

func (s *Replicated) awaitLeader(deadline time.Duration, late error) (leadership, error) {
	for {
		s.mu.Lock()
		leader, err := s.leader, s.refusal()
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case leader != nil:
			return leader, nil
		case s.clock.now() >= deadline:
			return nil, late
		}
		s.sleep(5 * time.Millisecond)
	}
}

// change has leaders make a change until one has committed it.
func (s *Replicated) change(make func(leadership) error) error {
	deadline := s.clock.now() + s.cfg.RequestTimeout
	late := rpctypes.ErrGRPCTimeout
	for {
		leader, err := s.awaitLeader(deadline, late)
		if err != nil {
			return err
		}
		err = s.changeAt(leader, make, deadline)
		switch {
		case errors.Is(err, member.ErrLeaderLost):
			late = rpctypes.ErrGRPCTimeoutDueToLeaderFail
		case !errors.Is(err, member.ErrNotLeader):
			return err
		}
		s.sleep(5 * time.Millisecond)
	}
}

// changeAt has one leader make the change. What is committed after the deadline is
// taken over all the same.
func (s *Replicated) changeAt(leader leadership, make func(leadership) error, deadline time.Duration) error {
	done := newResult()
	s.underWay.Add(1)
	s.spawn("change of members by "+leader.Member(), func() {
		err := make(leader)
		if err == nil {
			err = s.adopt(leader)
		}
		done <- err
		if s.underWay.Add(-1); err != nil {
			s.callTheRoll() // whoever asked may be gone
		}
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-s.closing:
			return rpctypes.ErrGRPCStopped
		case <-tick.C:
			if s.clock.now() >= deadline {
				return rpctypes.ErrGRPCTimeout
			}
		}
	}
}

func newResult() chan error { return make(chan error, 1) }

// callTheRoll asks the leader who belongs to the group, if there is one.
func (s *Replicated) callTheRoll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leader := s.leader; leader != nil && !s.closed {
		s.spawn("roll call of "+leader.Member(), func() { s.rollCall(leader) })
	}
}

// rollCall takes over the group as a new leader has it, once that can change no
// more without the store: what a lost leader left undecided is decided then. While a
// change is under way, also one that nobody waits for any longer, nothing is.
func (s *Replicated) rollCall(leader leadership) {
	if leader.Began(context.Background()) != nil {
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	current := !s.closed && sameLeader(leader, s.leader)
	s.mu.Unlock()
	if !current || s.underWay.Load() > 0 {
		return
	}
	// What is left on a disk is in nobody's way.
	_ = s.adopt(leader)
	g := s.group()
	for _, m := range g.joining {
		if slices.Contains(g.undecided, m.ID()) {
			_ = s.unjoin(m)
		}
	}
}
