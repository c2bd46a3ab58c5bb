package raftstore

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/lessor"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
)

// Clock is the time by which leases and tokens run out; see [lessor.Clock].
type Clock = lessor.Clock

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
// the member that has come furthest. It keeps the world from being told of further
// entries meanwhile, so that no lease is missed between the list and the first entry.
func (s *Replicated) promoteLessor(leader leadership) {
	s.front.Lock()
	defer s.front.Unlock()
	leases, err := s.Leases()
	if err != nil {
		return // whoever comes up will lead, and then this is done
	}
	grants := make([]lessor.Grant, len(leases))
	for i, l := range leases {
		grants[i] = lessor.Grant{ID: l.ID, TTL: l.TTL}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sameLeader(leader, s.leader) && !s.closed {
		s.lessor.Promote(grants, member.ElectionTimeout)
	}
}

// expireLease asks for the revocation of a lease that has run out.
func (s *Replicated) expireLease(id int64) {
	req := &pb.InternalRaftRequest{Header: AsRoot(s), LeaseRevoke: &pb.LeaseRevokeRequest{ID: id}}
	s.Do(req, func(r *Result) {
		if r.Err == nil {
			s.expired.Add(1)
		}
		if errors.Is(r.Err, rpctypes.ErrGRPCLeaseNotFound) {
			s.lessor.Revoked(id)
		}
	})
}

// noteLease tells the lessor of an applied entry.
func (s *Replicated) noteLease(id string, a *member.Applied) {
	g := a.Request.LeaseGrant
	if g == nil && a.Request.LeaseRevoke == nil {
		return
	}
	resp := a.Result.Response
	if a.OverQuota && g != nil { // it was granted all the same, if there is one now
		if m, err := s.member(id); err == nil {
			_ = m.View(func(kv *mvcc.Store) {
				if ttl, ok := kv.LeaseTTL(g.ID); ok {
					resp = &pb.LeaseGrantResponse{ID: g.ID, TTL: ttl}
				}
			})
		}
	}
	noteLease(s.lessor, a.Request, resp)
}

// Renew is a lease's keep-alive; see [Server]. While there is no leader it waits
// for one, as long as a request may take.
func (s *Replicated) Renew(caller context.Context, id int64) (ttl int64, err error) {
	ctx, cancel := context.WithTimeout(caller, s.cfg.RequestTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ttl, err := s.lessor.Renew(ctx, id)
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
		case <-s.closing:
			return 0, rpctypes.ErrGRPCStopped
		}
	}
}

// Remaining is how long a lease still has; see [Server].
func (s *Replicated) Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error) {
	left, ok = s.lessor.Remaining(id)
	if ok && left == lessor.Forever {
		return 0, l, false, rpctypes.ErrGRPCNoLeader
	}
	if !ok {
		return 0, l, false, nil
	}
	// The leader may be behind the member that told of the lease.
	for _, m := range s.group().members {
		if !ok || l.ID == id {
			break
		}
		// A member that is down has nothing to say.
		_ = m.View(func(kv *mvcc.Store) { l, _ = kv.Lease(id) })
	}
	return left, l, l.ID == id, nil
}

// storeClock is the store's own clock, which stands still while messages are
// held. Its one timer is served by leaseLoop, so that Close can wait for it.
type storeClock struct {
	s    *Replicated
	wake chan struct{}

	mu  sync.Mutex
	due time.Duration
	fn  func() // nil while no timer is set
	set int    // counts timers
}

func (c *storeClock) Now() time.Duration { return c.s.clock.now() }

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
func (c *storeClock) loop() {
	for {
		fn, left, any := c.take()
		if fn != nil {
			fn()
			continue
		}
		var due <-chan time.Time
		var timer *time.Timer
		if any && !c.s.clock.stopped() {
			timer = time.NewTimer(left)
			due = timer.C
		}
		select {
		case <-due:
		case <-c.wake:
		case <-c.s.closing:
			c.s.lessor.Stop()
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}
