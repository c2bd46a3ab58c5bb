package raftstore

import (
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

// MaxRequestBytes is how big a request may be: etcd's --max-request-bytes.
const MaxRequestBytes = 1.5 * 1024 * 1024

// bareName is the one member that a bare store shows.
const bareName = "mvcc"

// noSpace raises a member's alarm that its database is full.
func noSpace(id string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Alarm: &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, MemberID: MemberID(id), Alarm: pb.AlarmType_NOSPACE,
	}}
}

// available reports whether the leader has room for what a request adds; without a
// leader there is nobody to ask. Call with mu held.
func (s *Replicated) available(req *pb.InternalRaftRequest) bool {
	return s.leader == nil || s.leader.Available(req)
}

// full raises a member's alarm and then tells whoever asked that there is no
// space, so that it finds the alarm.
//
// Mirrors etcd server/etcdserver/api/v3rpc/quota.go quotaAlarmer.check.
func (s *Replicated) full(id string, then func()) {
	s.Do(noSpace(id), func(*Result) { then() })
}

// overQuota raises the alarm of a member that has applied something for which
// it had no room.
//
// Mirrors etcd server/etcdserver/server.go applyEntryNormal.
func (s *Replicated) overQuota(id string, a *member.Applied) {
	if a.OverQuota && a.Term > s.bootTerm {
		s.full(id, func() {})
	}
}

// Alarms lists the raised alarms; see [Server].
func (s *Replicated) Alarms() []*pb.AlarmMember {
	var list []*pb.AlarmMember
	if m, err := s.informed(0); err == nil {
		// A member that just went down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { list = st.Alarms() })
	}
	return list
}

// DBSize is how big a member's database is; see [Server].
func (s *Replicated) DBSize(id string) (size, inUse int64, err error) {
	m, err := s.member(id)
	if err != nil {
		return 0, 0, err
	}
	err = m.Inspect(func(st *apply.State) { size, inUse = st.Size(), st.SizeInUse() })
	return size, inUse, err
}

// Defragment packs a member's database; see [Server].
func (s *Replicated) Defragment(id string) error {
	m, err := s.member(id)
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
			case <-s.closing:
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

// Alarms lists the raised alarms; see [Server].
func (b *bare) Alarms() []*pb.AlarmMember {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Alarms()
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
