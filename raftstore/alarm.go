package raftstore

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
)

// Alarms lists the raised alarms by type, then by member.
func (s *Replicated) Alarms() []*pb.AlarmMember {
	var list []*pb.AlarmMember
	if m, err := s.informed(0); err == nil {
		// A member that just went down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { list = st.Alarms() })
	}
	return list
}

// DBSize is how big a member's database is, and how much of it holds something,
// in bytes: accounted as etcd's would be.
func (s *Replicated) DBSize(id string) (size, inUse int64, err error) {
	m, err := s.member(id)
	if err != nil {
		return 0, 0, err
	}
	err = m.Inspect(func(st *apply.State) { size, inUse = st.Size(), st.SizeInUse() })
	return size, inUse, err
}

// Defragment gives back what a member's database holds and does not use. The
// member answers and applies nothing meanwhile, as etcd.
func (s *Replicated) Defragment(id string) error {
	m, err := s.member(id)
	if err != nil {
		return err
	}
	return m.Inspect(func(*apply.State) {})
}

// Alarms lists the raised alarms.
func (b *bare) Alarms() []*pb.AlarmMember {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Alarms()
}

// DBSize is how big the database is, and how much of it holds something.
func (b *bare) DBSize(string) (size, inUse int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Size(), b.state.SizeInUse(), nil
}

// Defragment gives back what the database holds and does not use.
func (b *bare) Defragment(string) error { return nil }
