package raftstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/apply"
	"kviz/raftstore/mvcc"
)

// Server is what etcd's server does around its key-value store. Both stores
// have it. All methods may be called from any goroutine.
type Server interface {
	// Renew is a lease's keep-alive: the leader's lessor starts the lease's time
	// anew. It gives the TTL in seconds, and rpctypes.ErrGRPCLeaseNotFound for
	// a lease that is gone.
	Renew(ctx context.Context, id int64) (ttl int64, err error)

	// Remaining is how long a lease still has, by the leader's lessor.
	Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error)

	// Alarms lists the raised alarms by type, then by member.
	Alarms() []*pb.AlarmMember

	// AuthStore is the users, roles and tokens of the leader, or of the member
	// that has come furthest. Do not keep it: a member that is brought up by a
	// snapshot has another afterwards. Change users through [Store.Do] only.
	AuthStore() auth.AuthStore

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

// AuthStore is the users, roles and tokens; see [Server].
func (s *Replicated) AuthStore() auth.AuthStore {
	as := s.noUsers
	if m, err := s.informed(0); err == nil {
		// A member that just went down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { as = st.Auth() })
	}
	return as
}

// AuthStore is the users, roles and tokens.
func (b *bare) AuthStore() auth.AuthStore {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Auth()
}

// limits is what the configuration says of the state machine.
func (c *Config) limits() apply.Limits {
	l := apply.Limits{Quota: c.Quota, BcryptCost: c.BcryptCost, AuthToken: c.AuthToken}
	if c.Clock != nil {
		l.Now = c.Clock.Now
	}
	return l
}
