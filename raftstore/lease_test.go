package raftstore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// handClock is a clock that a test moves.
type handClock struct {
	mu     sync.Mutex
	now    time.Duration
	timers []*handTimer
}

type handTimer struct {
	at time.Duration
	fn func()
}

func (c *handClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, fn func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c.now + d, fn}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timers = slices.DeleteFunc(c.timers, func(x *handTimer) bool { return x == t })
	}
}

// wait moves the clock on, from timer to timer.
func (c *handClock) wait(d time.Duration) {
	end := c.Now() + d
	for {
		c.mu.Lock()
		slices.SortStableFunc(c.timers, func(a, b *handTimer) int { return int(a.at - b.at) })
		if len(c.timers) == 0 || c.timers[0].at > end {
			c.now = end
			c.mu.Unlock()
			return
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.now = max(c.now, t.at)
		c.mu.Unlock()
		t.fn()
	}
}

type leaseStore interface {
	raftstore.Store
	raftstore.Server
	raftstore.History
}

// eachStore runs a test on the bare store and on three members, with a clock that
// the test moves.
func eachStore(t *testing.T, cfg raftstore.Config, test func(t *testing.T, s leaseStore, clock *handClock)) {
	t.Run("bare", func(t *testing.T) {
		steady.Bubble(t, func(t *testing.T) {
			cfg, clock := cfg, &handClock{}
			cfg.Clock = clock
			s := raftstore.OpenBareWith(cfg)
			defer s.Close()
			test(t, s.(leaseStore), clock)
		})
	})
	t.Run("three members", func(t *testing.T) {
		steady.Bubble(t, func(t *testing.T) {
			cfg, clock := cfg, &handClock{}
			cfg.Clock, cfg.NoSync = clock, true
			test(t, open(t, cfg), clock)
		})
	})
}

func grant(t testing.TB, s raftstore.Store, ttl int64) int64 {
	t.Helper()
	r := call(s, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: ttl}})
	if r.Err != nil {
		t.Fatalf("grant: %v", r.Err)
	}
	return r.Response.(*pb.LeaseGrantResponse).ID
}

func putWithLease(t testing.TB, s raftstore.Store, key string, lease int64) {
	t.Helper()
	if r := call(s, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte("x"), Lease: lease}}); r.Err != nil {
		t.Fatalf("put %s: %v", key, r.Err)
	}
}

// left is how long the lease still has, when the store can say.
func left(t testing.TB, s raftstore.Server, id int64) (d time.Duration) {
	t.Helper()
	steady.Until(t, "the lease's remaining time", func() bool {
		l, _, ok, err := s.Remaining(id)
		d = l
		return ok && err == nil
	})
	return d
}

// A lease runs out by the clock, and its keys go in one revision that everybody is
// told of. A keep-alive starts its time anew.
func TestALeaseRunsOut(t *testing.T) {
	eachStore(t, raftstore.Config{}, func(t *testing.T, s leaseStore, clock *handClock) {
		ctx := context.Background()
		gone := make(chan *raftstore.Result, 10)
		s.OnCommit(func(r *raftstore.Result) {
			if r.Request.GetLeaseRevoke() != nil {
				gone <- r
			}
		})
		id := grant(t, s, 10)
		steady.Until(t, "a lessor", func() bool { _, err := s.Renew(ctx, id); return err == nil })
		putWithLease(t, s, "a", id)
		putWithLease(t, s, "b", id)
		clock.wait(9 * time.Second)
		if d := left(t, s, id); d != time.Second {
			t.Errorf("9 s after a renewal %v are left of 10 s", d)
		}
		if ttl, err := s.Renew(ctx, id); ttl != 10 || err != nil {
			t.Errorf("renewed: %d, %v", ttl, err)
		}
		clock.wait(9999 * time.Millisecond)
		if get(t, s, "a") != "x" {
			t.Error("the key is gone before its lease")
		}
		clock.wait(time.Millisecond)
		r := <-gone
		if len(r.Events) != 2 || r.Events[0].Kv.ModRevision != r.Events[1].Kv.ModRevision {
			t.Errorf("the end of the lease changed %v", r.Events)
		}
		if get(t, s, "a") != "" {
			t.Error("the lease ran out, its key is there")
		}
		if _, err := s.Renew(ctx, id); !errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
			t.Errorf("renewing a lease that is gone: %v", err)
		}
		if _, _, ok, err := s.Remaining(id); ok || err != nil {
			t.Errorf("a lease that is gone: %v, %v", ok, err)
		}
	})
}

// Revoking by hand ends it as well; a lease that a client revoked does not run out.
func TestARevokedLeaseDoesNotRunOut(t *testing.T) {
	eachStore(t, raftstore.Config{}, func(t *testing.T, s leaseStore, clock *handClock) {
		id := grant(t, s, 5)
		left(t, s, id)
		if r := call(s, &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: id}}); r.Err != nil {
			t.Fatal(r.Err)
		}
		s.OnCommit(func(*raftstore.Result) { t.Error("something ran out") })
		clock.wait(time.Minute)
		if _, err := s.Renew(context.Background(), id); !errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
			t.Errorf("renewing it: %v", err)
		}
	})
}

// The leader dies with a lease that has ten seconds left: the next gives it its full
// time again, and lets it run out then.
func TestLeasesSurviveFailover(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		clock := &handClock{}
		s := open(t, raftstore.Config{Clock: clock, NoSync: true})
		id := grant(t, s, 60)
		left(t, s, id)
		putWithLease(t, s, "a", id)
		clock.wait(50 * time.Second)
		old := s.Leader()
		if err := s.Crash(old); err != nil {
			t.Fatal(err)
		}
		steady.Until(t, "a lessor at a new leader", func() bool {
			l, _, ok, err := s.Remaining(id)
			return s.Leader() != "" && s.Leader() != old && ok && err == nil && l > 10*time.Second
		})
		if d := left(t, s, id); d < 60*time.Second || d > 62*time.Second {
			t.Errorf("the new leader gives the lease %v", d)
		}
		clock.wait(59 * time.Second)
		if get(t, s, "a") != "x" {
			t.Error("the key is gone before its lease")
		}
		clock.wait(3 * time.Second)
		steady.Until(t, "the key's end", func() bool { return get(t, s, "a") == "" })
	})
}

// A store that is opened again has its leases, with their full time.
func TestLeasesSurviveReopening(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		clock := &handClock{}
		s, err := raftstore.Open(raftstore.Config{Dir: dir, Clock: clock, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		id := grant(t, s, 30)
		putWithLease(t, s, "a", id)
		clock.wait(20 * time.Second)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, raftstore.Config{Dir: dir, Clock: clock, NoSync: true})
		steady.Until(t, "the lease", func() bool { l, _, ok, _ := again.Remaining(id); return ok && l >= 30*time.Second })
		clock.wait(40 * time.Second)
		steady.Until(t, "the key's end", func() bool { return get(t, again, "a") == "" })
	})
}

// By the store's own clock a lease of two seconds runs out after two seconds in which
// messages were not held.
func TestLeasesByTheStoresClock(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		const held = time.Minute
		s := open(t, raftstore.Config{NoSync: true})
		began := time.Now()
		id := grant(t, s, 2)
		putWithLease(t, s, "a", id)
		before := left(t, s, id)
		s.Hold(true)
		time.Sleep(held)
		if after := left(t, s, id); after != before {
			t.Errorf("while messages were held %v of the lease became %v", before, after)
		}
		s.Hold(false)
		steady.Until(t, "the key's end", func() bool { return get(t, s, "a") == "" })
		if took := time.Since(began) - held; took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("a lease of 2 s ran out after %v", took)
		}
	})
}

// A keep-alive of a lease that has run out, and whose revocation is not committed in
// time, ends with etcd's own timeout, not with one of a context that is not the caller's.
func TestAKeepAliveEndsWithEtcdsTimeout(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		clock := &handClock{}
		s := open(t, raftstore.Config{NoSync: true, Clock: clock, RequestTimeout: 300 * time.Millisecond})
		id := grant(t, s, 5)
		steady.Until(t, "its time runs", func() bool { _, err := s.Renew(t.Context(), id); return err == nil })
		s.Hold(true) // nothing is committed any more, and the leader stays
		clock.wait(time.Minute)
		if _, err := s.Renew(t.Context(), id); !errors.Is(err, rpctypes.ErrGRPCTimeout) {
			t.Errorf("the keep-alive ended with %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Renew(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("one whose caller is gone ended with %v", err)
		}
		s.Hold(false)
	})
}
