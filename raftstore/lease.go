package raftstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/lessor"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
)

// Clock is the time by which leases and tokens run out; see [lessor.Clock].
type Clock = lessor.Clock

// leases is when leases of the replicated store run out: the lessor, and the clock that
// it goes by. Its lock is the lessor's own, and the clock's.
type leases struct {
	store   leasing
	lessor  *lessor.Lessor
	own     *storeClock // nil if Config.Clock is the clock
	timeout time.Duration
	closing chan struct{}
	expired atomic.Int64
}

// leasing is what leases need of the store that holds them.
type leasing interface {
	Do(req *pb.InternalRaftRequest, done func(*Result))
	AuthStore() auth.AuthStore
	// Leases are those of the member that has come furthest.
	Leases() ([]mvcc.Lease, error)
	// granted is the TTL of a lease, as a member has it.
	granted(id string, lease int64) (ttl int64, ok bool)
	// leaseAt is a lease, as the first member has it that has heard of it.
	leaseAt(lease int64) (mvcc.Lease, bool)
}

func newLeases(store leasing, c *clock, given Clock, timeout time.Duration, closing chan struct{}) *leases {
	l := &leases{store: store, timeout: timeout, closing: closing}
	if given == nil {
		l.own = &storeClock{clock: c, wake: make(chan struct{}, 1)}
		given = l.own
	}
	l.lessor = lessor.New(given, l.expire)
	return l
}

// serve is the goroutine that serves the store's own clock, if that is the leases'.
func (l *leases) serve(spawn func(string, func())) {
	if l.own != nil {
		spawn("leases", func() { l.own.loop(l.closing, l.lessor.Stop) })
	}
}

// demote has no lease run out: there is no leader that counts their time.
func (l *leases) demote() { l.lessor.Demote() }

// wake checks the clock again: it is running again.
func (l *leases) wake() {
	if l.own != nil {
		poke(l.own.wake)
	}
}

// Expired is how many leases have run out since the store was opened.
func (l *leases) Expired() int64 { return l.expired.Load() }

// noteLease tells the lessor of an applied request.
func noteLease(le *lessor.Lessor, req *pb.InternalRaftRequest, resp proto.Message) {
	switch r := resp.(type) {
	case *pb.LeaseGrantResponse:
		le.Granted(lessor.Grant{ID: r.ID, TTL: r.TTL})
	case *pb.LeaseRevokeResponse:
		le.Revoked(req.LeaseRevoke.ID)
	}
}

// Renew is a lease's keep-alive; see [Server].
func (b *bare) Renew(ctx context.Context, id int64) (ttl int64, err error) {
	return b.lessor.Renew(ctx, id)
}

// Remaining is how long a lease still has; see [Server].
func (b *bare) Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error) {
	left, _ = b.lessor.Remaining(id)
	l, ok, err = b.Lease(id)
	return left, l, ok, err
}

// expire revokes a lease that has run out.
func (b *bare) expire(id int64) {
	r := b.apply(&pb.InternalRaftRequest{Header: AsRoot(b), LeaseRevoke: &pb.LeaseRevokeRequest{ID: id}})
	if errors.Is(r.Err, rpctypes.ErrGRPCLeaseNotFound) {
		b.lessor.Revoked(id)
	}
}

// promoteLessor makes the lessor watch the clock for a new leader, with the leases of
// the member that has come furthest. It holds back the delivery of further
// entries meanwhile, so that no lease is missed between the list and the first entry.
func (s *Replicated) promoteLessor(leader leadership) {
	s.front.Lock()
	defer s.front.Unlock()
	if grants, err := s.leases.grants(); err == nil { // else: whoever comes up will lead, and then this is done
		s.order.still(leader, func() { s.leases.lessor.Promote(grants, member.ElectionTimeout) })
	}
}

// grants are the leases that there are.
func (l *leases) grants() ([]lessor.Grant, error) {
	all, err := l.store.Leases()
	grants := make([]lessor.Grant, len(all))
	for i, x := range all {
		grants[i] = lessor.Grant{ID: x.ID, TTL: x.TTL}
	}
	return grants, err
}

// expire asks for the revocation of a lease that has run out.
func (l *leases) expire(id int64) {
	req := &pb.InternalRaftRequest{Header: AsRoot(l.store), LeaseRevoke: &pb.LeaseRevokeRequest{ID: id}}
	l.store.Do(req, func(r *Result) {
		if r.Err == nil {
			l.expired.Add(1)
		}
		if errors.Is(r.Err, rpctypes.ErrGRPCLeaseNotFound) {
			l.lessor.Revoked(id)
		}
	})
}

// note tells the lessor of an entry that a member has applied.
func (l *leases) note(id string, a *member.Applied) {
	g := a.Request.LeaseGrant
	if g == nil && a.Request.LeaseRevoke == nil {
		return
	}
	resp := a.Result.Response
	if a.OverQuota && g != nil { // it was granted all the same, if there is one now
		if ttl, ok := l.store.granted(id, g.ID); ok {
			resp = &pb.LeaseGrantResponse{ID: g.ID, TTL: ttl}
		}
	}
	noteLease(l.lessor, a.Request, resp)
}

// Renew is a lease's keep-alive; see [Server]. While there is no leader it waits
// for one, as long as a request may take.
func (l *leases) Renew(caller context.Context, id int64) (ttl int64, err error) {
	ctx, cancel := context.WithTimeout(caller, l.timeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ttl, err := l.lessor.Renew(ctx, id)
		if errors.Is(err, context.DeadlineExceeded) && caller.Err() == nil {
			return 0, rpctypes.ErrGRPCTimeout // the store's own time is over, as v3_server.go LeaseRenew says it
		}
		if !errors.Is(err, rpctypes.ErrGRPCNoLeader) {
			return ttl, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, err
		case <-l.closing:
			return 0, rpctypes.ErrGRPCStopped
		}
	}
}

// Remaining is how long a lease still has; see [Server].
func (l *leases) Remaining(id int64) (left time.Duration, lease mvcc.Lease, ok bool, err error) {
	left, ok = l.lessor.Remaining(id)
	if ok && left == lessor.Forever {
		return 0, lease, false, rpctypes.ErrGRPCNoLeader
	}
	if !ok {
		return 0, lease, false, nil
	}
	lease, ok = l.store.leaseAt(id)
	return left, lease, ok, nil
}

// granted is the TTL of a lease, as a member has it.
func (s *Replicated) granted(id string, lease int64) (ttl int64, ok bool) {
	if m, err := s.membership.member(id); err == nil {
		// A member that is down has nothing to say.
		_ = m.View(func(kv *mvcc.Store) { ttl, ok = kv.LeaseTTL(lease) })
	}
	return ttl, ok
}

// leaseAt is a lease as on the first member that knows it: the leader may be behind the
// member that reported it.
func (s *Replicated) leaseAt(lease int64) (l mvcc.Lease, ok bool) {
	for _, m := range s.membership.group().members {
		// A member that is down has nothing to say.
		_ = m.View(func(kv *mvcc.Store) { l, ok = kv.Lease(lease) })
		if ok {
			break
		}
	}
	return l, ok
}

// storeClock is the store's own clock, which stands still while messages are
// held. Its one timer is served by its loop, so that Close can wait for it.
type storeClock struct {
	clock *clock
	wake  chan struct{}

	mu  sync.Mutex
	due time.Duration
	fn  func() // nil while no timer is set
	set int    // counts timers
}

func (c *storeClock) Now() time.Duration { return c.clock.now() }

func (c *storeClock) AfterFunc(d time.Duration, fn func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set++
	c.due, c.fn = c.Now()+d, fn
	mine := c.set
	poke(c.wake)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.set == mine {
			c.fn = nil
		}
	}
}

// take gives the timer's function if it is due, else how long it still has; any
// is false if no timer is set.
func (c *storeClock) take() (fn func(), left time.Duration, any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fn == nil {
		return nil, 0, false
	}
	if left = c.due - c.Now(); left > 0 {
		return nil, left, true
	}
	fn, c.fn = c.fn, nil
	return fn, 0, true
}

// loop is the goroutine that serves the timer. It sleeps while there is none, and
// while the clock stands still.
func (c *storeClock) loop(closing chan struct{}, end func()) {
	for {
		fn, left, any := c.take()
		if fn != nil {
			fn()
			continue
		}
		var due <-chan time.Time
		var timer *time.Timer
		if any && !c.clock.stopped() {
			timer = c.clock.timer(left)
			due = timer.C
		}
		select {
		case <-due:
		case <-c.wake:
		case <-closing:
			end()
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}
