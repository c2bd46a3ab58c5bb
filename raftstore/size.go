package raftstore

import (
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

// DBSize is how big a member's database is; see [Server].
func (s *Replicated) DBSize(id string) (size, inUse int64, err error) {
	m, err := s.membership.member(id)
	if err != nil {
		return 0, 0, err
	}
	err = m.Inspect(func(st *apply.State) { size, inUse = st.Size(), st.SizeInUse() })
	return size, inUse, err
}

// Defragment packs a member's database; see [Server].
func (s *Replicated) Defragment(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	before, _, _ := s.DBSize(id)
	began := time.Now()
	s.tell(Event{Kind: member.KindDefrag, Member: id, Defrag: &member.Defrag{Before: before}})
	err = m.Defragment(func(inUse int64) <-chan struct{} {
		done := make(chan struct{})
		s.spawn("defragment "+id, func() {
			defer close(done)
			timer := time.NewTimer(member.DefragmentTime(inUse))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-s.order.closing:
			}
		})
		return done
	})
	told := &member.Defrag{Done: true, Before: before, Took: time.Since(began)}
	if err != nil {
		told.Error = err.Error()
	} else {
		told.After, _, _ = s.DBSize(id)
	}
	s.tell(Event{Kind: member.KindDefrag, Member: id, Defrag: told})
	if errors.Is(err, member.ErrDown) {
		return rpctypes.ErrGRPCStopped
	}
	return err
}

// DBSize is how big the database is; see [Server].
func (b *bare) DBSize(string) (size, inUse int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Size(), b.state.SizeInUse(), nil
}

// Defragment packs the database; see [Server]. It takes no time.
func (b *bare) Defragment(string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Defragment()
	return nil
}
