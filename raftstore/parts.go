package raftstore

import (
	"context"
	"time"

	"kviz/raftstore/mvcc"
)

// What the store answers out of one of its parts alone.

// Leader is the member that leads, "" if none does.
func (s *Replicated) Leader() string { return s.order.Leader() }

// Pending is how many writes are under way whose end is not known.
func (s *Replicated) Pending() int { return s.order.Pending() }

// Expired is how many leases have run out since the store was opened.
func (s *Replicated) Expired() int64 { return s.leases.Expired() }

// Renew extends a lease by its time to live (LeaseKeepAlive).
func (s *Replicated) Renew(caller context.Context, id int64) (ttl int64, err error) {
	return s.leases.Renew(caller, id)
}

// Remaining is how much time a lease has left, and the lease itself.
func (s *Replicated) Remaining(id int64) (left time.Duration, lease mvcc.Lease, ok bool, err error) {
	return s.leases.Remaining(id)
}

// ClusterID is the cluster's ID in response headers. Rebuild changes it.
func (s *Replicated) ClusterID() uint64 { return s.membership.ClusterID() }

// IDs are the names of the members now, learners too, in order of joining.
func (s *Replicated) IDs() []string { return s.membership.IDs() }

// OnMembers adds a function to call, from any goroutine, after members came, went or
// were promoted. fn must not block and must not change members itself.
func (s *Replicated) OnMembers(fn func()) { s.membership.OnMembers(fn) }

// AddMember adds a member, a learner or a voter, and gives its name (etcd's MemberAdd).
func (s *Replicated) AddMember(learner bool) (id string, err error) {
	return s.membership.AddMember(learner)
}

// AddMemberAt is AddMember with the peer URLs of the new member. In one process they
// are only shown; else a process that belongs to no group must listen at the first.
func (s *Replicated) AddMemberAt(learner bool, peerURLs []string) (id string, err error) {
	return s.membership.AddMemberAt(learner, peerURLs)
}

// PromoteMember makes a learner a voter, if it has nearly caught up.
func (s *Replicated) PromoteMember(id string) error { return s.membership.PromoteMember(id) }

// RemoveMember takes a member out of the group, stops it and deletes what is on its
// disk. A leader can be removed too: it steps down when that is committed.
func (s *Replicated) RemoveMember(id string) error { return s.membership.RemoveMember(id) }

// UpdateMember changes a member's peer URLs.
func (s *Replicated) UpdateMember(id string, peers []string) error {
	return s.membership.UpdateMember(id, peers)
}
