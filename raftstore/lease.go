package raftstore

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/lessor"
	"kviz/raftstore/mvcc"
)

// Clock is the time by which leases and tokens run out; see [lessor.Clock].
type Clock = lessor.Clock

// Renew is a lease's keep-alive: the leader's lessor starts the lease's time
// anew. It gives the TTL in seconds, and rpctypes.ErrGRPCLeaseNotFound for a
// lease that is gone.
func (s *Replicated) Renew(_ context.Context, id int64) (ttl int64, err error) {
	l, ok, err := s.Lease(id)
	return renewed(l, ok, err)
}

// Remaining is how long a lease still has, by the leader's lessor.
func (s *Replicated) Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error) {
	l, ok, err = s.Lease(id)
	return time.Duration(l.TTL) * time.Second, l, ok, err
}

// Renew starts a lease's time anew.
func (b *bare) Renew(_ context.Context, id int64) (ttl int64, err error) {
	l, ok, err := b.Lease(id)
	return renewed(l, ok, err)
}

// Remaining is how long a lease still has.
func (b *bare) Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error) {
	l, ok, err = b.Lease(id)
	return time.Duration(l.TTL) * time.Second, l, ok, err
}

func renewed(l mvcc.Lease, ok bool, err error) (int64, error) {
	if err == nil && !ok {
		err = rpctypes.ErrGRPCLeaseNotFound
	}
	return l.TTL, err
}
