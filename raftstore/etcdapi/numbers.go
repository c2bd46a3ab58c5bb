package etcdapi

import (
	"go.etcd.io/etcd/api/v3/version"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
	"kviz/raftstore/mvcc"
)

// values returns the gauges, which are read on demand.
func (f *frontend) values() metrics.Values {
	s := f.server
	v := metrics.Values{ServerID: f.id, Quota: f.quota(), HasLeader: f.leader() != "", IsLeader: true}
	// A member that is down has no size.
	v.Size, v.InUse, _ = s.store.DBSize(f.member)
	v.Alarms = s.store.Alarms()
	v.Cluster = version.Cluster(f.versionsAt(f.member).Cluster)
	v.AuthRevision = f.users().Revision()
	if s.group == nil {
		v.Revision, v.Compacted = s.store.Revision(), s.store.CompactRevision()
		return v
	}
	for _, id := range s.group.IDs() {
		if id != f.member {
			v.Peers = append(v.Peers, raftstore.MemberID(id))
		}
	}
	v.IsLeader = s.group.Glance(f.member).Leads
	if m, ok := s.status(f.member); ok {
		v.Committed, v.Applied, v.IsLearner = m.Commit, m.Applied, m.Learner
	}
	if c, ok := s.store.(raftstore.Counting); ok {
		v.Pending, v.Expired = c.Pending(), c.Expired()
	}
	// A member that is down has nothing to say.
	_ = s.group.ViewAt(f.member, func(kv *mvcc.Store) {
		v.Revision, v.Compacted, v.Keys = kv.Revision(), kv.CompactRevision(), kv.Keys()
		c := kv.Counts()
		v.Work = c
	})
	return v
}
