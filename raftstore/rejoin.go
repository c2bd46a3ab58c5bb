package raftstore

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// Wipe is the loss of a member's disk: it is stopped and its folder deleted. It has
// forgotten its votes and must not come back under its name; see [Replicated.Rejoin].
func (s *Replicated) Wipe(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if m.Up() {
		// Down by itself meanwhile is just as well.
		_ = m.Crash("its disk was lost")
	}
	m.ReportFault(member.Fault{What: "wiped", On: true, Detail: s.membership.dirOf(id)})
	if err := m.Erase("its disk was lost; a member that has forgotten its votes must not come back under its old name"); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return s.membership.syncDir()
}

// Rejoin replaces a member by an empty one with a new name, as etcd wants it: member
// remove, member add as learner, and member promote when that has caught up. If it
// does not in time the new member stays a learner, and the error says so.
func (s *Replicated) Rejoin(id string) (newID string, err error) {
	s.membership.changing.Lock()
	defer s.membership.changing.Unlock()
	g := s.membership.group()
	i := g.index(id)
	if i < 0 {
		return "", rpctypes.ErrGRPCMemberNotFound
	}
	if err := s.membership.remove(id); err != nil {
		return "", err
	}
	if newID, err = s.membership.add(true, "", nil); err != nil || g.learner[i] {
		return newID, err
	}
	return newID, s.promoteReady(newID)
}

// PromoteWhenReady makes a learner a voter as soon as it has nearly caught up; if it does
// not within the time of a request, it is refused as [Replicated.PromoteMember] refuses it.
func (s *Replicated) PromoteWhenReady(id string) error {
	s.membership.changing.Lock()
	defer s.membership.changing.Unlock()
	return s.promoteReady(id)
}

func (s *Replicated) promoteReady(id string) error {
	deadline := s.order.clock.now() + s.cfg.RequestTimeout
	for {
		err := s.membership.promote(id)
		if !errors.Is(err, rpctypes.ErrGRPCLearnerNotReady) || s.order.clock.now() >= deadline {
			return err
		}
		s.order.sleep(5 * time.Millisecond)
		select {
		case <-s.order.closing:
			return rpctypes.ErrGRPCStopped
		default:
		}
	}
}
