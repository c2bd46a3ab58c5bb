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
	m, err := s.member(id)
	if err != nil {
		return err
	}
	if m.Up() {
		// Down by itself meanwhile is just as well.
		_ = m.Crash("its disk was lost")
	}
	m.ReportFault(member.Fault{What: "wiped", On: true, Detail: s.dirOf(id)})
	if err := m.Erase("its disk was lost; a member that has forgotten its votes must not come back under its old name"); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return s.syncDir()
}

// Rejoin replaces a member by an empty one with a new name, as etcd wants it: member
// remove, member add as learner, and member promote when that has caught up. If it
// does not in time the new member stays a learner, and the error says so.
func (s *Replicated) Rejoin(id string) (newID string, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	g := s.group()
	i := g.index(id)
	if i < 0 {
		return "", rpctypes.ErrGRPCMemberNotFound
	}
	if err := s.remove(id); err != nil {
		return "", err
	}
	if newID, err = s.add(true, "", nil); err != nil || g.learner[i] {
		return newID, err
	}
	deadline := s.clock.now() + s.cfg.RequestTimeout
	for {
		err = s.promote(newID)
		if !errors.Is(err, rpctypes.ErrGRPCLearnerNotReady) || s.clock.now() >= deadline {
			return newID, err
		}
		s.sleep(5 * time.Millisecond)
		select {
		case <-s.order.closing:
			return newID, rpctypes.ErrGRPCStopped
		default:
		}
	}
}
