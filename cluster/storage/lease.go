package storage

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/sim"
	"kviz/raftstore"
)

// lease is a lease of the store that this client has seen granted.
type lease struct {
	ttl      time.Duration
	deadline time.Duration // if it is never kept alive
	purpose  string
}

// Clock is virtual time as the store's lessor sees it. While a grant is in flight it
// stands still at the moment of the request: members apply it at some moment of real
// time, and the lease must expire at the same moment of virtual time in every run.
type Clock struct {
	k *sim.Kernel
	c *Client

	mu   sync.Mutex
	pins int
	at   time.Duration
}

// NewClock makes the clock for a store that is about to be opened.
func NewClock(k *sim.Kernel) *Clock { return &Clock{k: k} }

// Use connects the clock with the client of its store.
func (c *Client) Use(clock *Clock) { c.clock, clock.c = clock, c }

// Now is the virtual time since the start.
func (x *Clock) Now() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pins > 0 {
		return x.at
	}
	return x.k.Moment()
}

func (x *Clock) pin() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pins == 0 {
		x.at = x.k.Moment()
	}
	x.pins++
}

func (x *Clock) unpin() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pins--
}

// AfterFunc calls fn on the kernel's goroutine when d has passed.
func (x *Clock) AfterFunc(d time.Duration, fn func()) (stop func()) {
	at := x.Now() + d
	var timer *sim.Timer
	stopped := false // on the kernel's goroutine, as timer
	x.k.Post(func() {
		if !stopped {
			timer = x.k.After(at-x.k.Elapsed(), func() { x.fire(fn) })
		}
	})
	return func() {
		x.k.Post(func() {
			stopped = true
			if timer != nil {
				timer.Cancel()
			}
		})
	}
}

func (x *Clock) fire(fn func()) {
	if x.c == nil {
		fn()
		return
	}
	x.c.expire(fn)
}

// awaited are leases of which the lessor has just proposed the end.
type awaited struct {
	ids      []int64
	revision int64
	done     func()
}

// settle notes the end of a lease that is waited for; with mu held.
func (c *Client) settle(r arrival) {
	if !r.upkeep || r.Request.LeaseRevoke == nil {
		return
	}
	for i := 0; i < len(c.awaited); i++ {
		a := c.awaited[i]
		at := slices.Index(a.ids, r.Request.LeaseRevoke.ID)
		if at < 0 {
			continue
		}
		a.ids = slices.Delete(a.ids, at, at+1)
		a.revision = r.Revision
		if len(a.ids) == 0 {
			c.awaited = slices.Delete(c.awaited, i, i+1)
			i--
			a.done()
		}
	}
}

// expire lets the lessor do what it does at the end of a lease, and waits for
// what it proposed as for a write of this client: so keys disappear at the same
// moment of virtual time in every run.
func (c *Client) expire(fn func()) {
	now := c.k.Elapsed()
	var due []int64
	for id, l := range c.leases {
		if l.deadline <= now && c.over(id) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	if len(due) == 0 {
		fn()
		return
	}
	a := &awaited{ids: due}
	c.writing++
	c.due = max(now+c.drawn(c.cost.Write), c.due)
	c.k.Operate(c.due-now, c.cost.Timeout, func(done func()) {
		a.done = done
		c.mu.Lock()
		c.awaited = append(c.awaited, a)
		c.mu.Unlock()
		fn()
	}, func(timedOut bool) {
		c.writing--
		c.mu.Lock()
		c.awaited = slices.DeleteFunc(c.awaited, func(o *awaited) bool { return o == a })
		c.mu.Unlock()
		if !timedOut {
			c.show(a.revision)
		}
		if c.writing == 0 {
			c.show(newest)
		}
	})
}

// over reports whether the lessor that decides has no time left for a lease: it
// may have been kept alive, or a new leader has given it its full time again.
func (c *Client) over(id int64) bool {
	r, ok := c.store.(raftstore.LeaseTiming)
	if !ok {
		return false
	}
	left, _, ok, err := r.Remaining(id)
	return err == nil && ok && left <= 0
}

// Leases gives out leases for keys with a time to live, one lease for many keys
// that end at about the same time (apiserver pkg/storage/etcd3/lease_manager.go).
type Leases struct {
	c       *Conn
	purpose string
	busy    bool // a grant is under way
	freed   sim.Cond
	id      int64
	expires time.Duration
	keys    int
}

// NewLeases makes the lease manager of an API server for one kind of object.
func (x *Conn) NewLeases(purpose string) *Leases { return &Leases{c: x, purpose: purpose} }

const (
	leaseReuse        = 60 * time.Second // for so long a lease is given to further keys
	leaseReusePercent = 0.05             // of its time to live, if that is less
	leaseMaxKeys      = 1000
)

// Get is a lease for a key that shall live for ttl.
func (l *Leases) Get(t *sim.Task, ttl time.Duration) (int64, error) {
	for l.busy {
		l.freed.Wait(t)
	}
	now := t.Elapsed()
	reuse := min(time.Duration(math.Round(leaseReusePercent*ttl.Seconds()))*time.Second, leaseReuse)
	l.keys++
	if l.id != 0 && now+ttl < l.expires && now+ttl+reuse > l.expires && l.keys <= leaseMaxKeys {
		return l.id, nil
	}
	l.busy = true
	defer func() { // also where the task is killed
		l.busy = false
		l.freed.Broadcast()
	}()
	for {
		// The server that is asked draws the number before it proposes (etcd
		// server/etcdserver/v3_server.go LeaseGrant).
		id := l.c.leaseRand.Int64()
		l.c.granting = l.purpose
		_, err := l.c.Do(t, "lease grant", &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: id, TTL: int64((ttl + reuse) / time.Second)}})
		switch {
		case errors.Is(err, rpctypes.ErrLeaseExist): // from a run before, which drew the same
			continue
		case err != nil:
			return 0, err
		}
		l.id, l.expires, l.keys = id, now+ttl+reuse, 1
		return id, nil
	}
}
