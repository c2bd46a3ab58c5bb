package raftstore

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

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

// outOfRoom reports whether too many disks are full for any write to be committed. It
// takes no lock.
func (s *Replicated) outOfRoom() bool {
	g, voters, full := s.membership.group(), 0, 0
	for i, m := range g.members {
		if g.learner[i] {
			continue
		}
		voters++
		if _, f := m.Disk(); f {
			full++
		}
	}
	return full > 0 && voters-full <= voters/2
}

// comeBack starts a member that went down because its disk was full and has room again.
func (s *Replicated) comeBack(id string) {
	s.spawn("return of "+id, func() {
		if m, err := s.membership.member(id); err == nil {
			_ = s.membership.start(m, false, member.RoomAgain) // why it could not is its reason for being down
		}
	})
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
	if m, err := s.answered(); err == nil {
		// A member that just went down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { list = st.Alarms() })
	}
	return list
}

// Alarms lists the raised alarms; see [Server].
func (b *bare) Alarms() []*pb.AlarmMember {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Alarms()
}
