package raftstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/mvcc"
)

// Server is what etcd's server does around its key-value store. Both stores
// have it. All methods may be called from any goroutine.
type Server interface {
	// Renew is a lease's keep-alive: the leader's lessor gives the lease its full TTL
	// again. It returns the TTL in seconds, and rpctypes.ErrGRPCLeaseNotFound for a
	// lease that is gone.
	Renew(ctx context.Context, id int64) (ttl int64, err error)

	// Remaining is how long a lease still has, by the leader's lessor.
	Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error)

	// Alarms lists the raised alarms by type, then by member.
	Alarms() []*pb.AlarmMember

	// AuthStore is the users, roles and tokens of the leader, or of the member
	// that has come furthest. Do not keep it: a member that is brought up by a
	// snapshot has another afterwards. Change users through [Store.Do] only.
	AuthStore() auth.AuthStore

	// AuthStoreAt is those of one member.
	AuthStoreAt(id string) (auth.AuthStore, error)

	// DBSize is how big a member's database is, and how much of it holds
	// something, in bytes: accounted as etcd's would be, not written. A bare store
	// has no members and ignores id.
	DBSize(id string) (size, inUse int64, err error)

	// Defragment gives back what a member's database holds and does not use.
	// The member answers and applies nothing meanwhile, as etcd.
	Defragment(id string) error
}

var (
	_ Server = (*Replicated)(nil)
	_ Server = (*bare)(nil)
)
