// Package lessor watches the clock for leases. The state machine grants and revokes
// them, but cannot expire them, because members' clocks differ. The leader's lessor
// does that: it proposes a LeaseRevoke, which goes through the log like any other.
//
// Mirrors etcd server/lease/lessor.go. Simplified: the leases themselves and their
// keys are the state machine's (mvcc); remaining TTLs are not checkpointed, nor does
// etcd do so by default, so a new leader gives every lease its full TTL again. There
// is no loop that looks twice a second: one timer is set to when the next lease runs
// out.
//
// Start reading at [Lessor].
package lessor

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Limits of what the lessor asks for.
const (
	// RevokeRate is how many leases run out in a second at most.
	RevokeRate = 1000
	// window and perWindow are how etcd keeps to it.
	window    = 500 * time.Millisecond
	perWindow = RevokeRate / 2
	// retry is after how long a revocation that has not been applied is requested again.
	retry = 3 * time.Second
)

// Forever is what remains of a lease while nobody watches the clock.
const Forever = time.Duration(math.MaxInt64)

// Grant is a lease that the state machine has.
type Grant struct{ ID, TTL int64 } // TTL in seconds

// Lessor knows when leases run out. All methods may be called from any goroutine.
type Lessor struct {
	clock  Clock
	revoke func(id int64)

	mu      sync.Mutex
	leases  map[int64]*item
	queue   queue         // empty while not primary
	demoted chan struct{} // closed when this one stops being primary; nil while it is not
	stopped bool

	stop func()        // takes the timer back; nil when none is set
	due  time.Duration // when the timer fires

	began time.Duration // of the window in which revocations are counted
	asked int           // so many were asked for in it
}

// New is a lessor that is not primary. revoke asks for a lease's revocation; it is
// called without locks and may call the lessor. Whoever applies requests tells
// [Lessor.Granted] and [Lessor.Revoked].
func New(clock Clock, revoke func(id int64)) *Lessor {
	return &Lessor{clock: clock, revoke: revoke, leases: map[int64]*item{}, began: -window}
}

// Granted notes a lease that was granted, or that has another time to live.
func (le *Lessor) Granted(g Grant) {
	le.mu.Lock()
	defer le.mu.Unlock()
	it := le.leases[g.ID]
	if it == nil {
		it = &item{id: g.ID, gone: make(chan struct{}), place: -1}
		le.leases[g.ID] = it
	}
	it.ttl = g.TTL
	if le.primary() {
		le.refresh(it, 0)
		le.arm()
	}
}

// Revoked notes that a lease is gone.
func (le *Lessor) Revoked(id int64) {
	le.mu.Lock()
	defer le.mu.Unlock()
	if it := le.leases[id]; it != nil {
		le.drop(it)
	}
}

func (le *Lessor) drop(it *item) {
	delete(le.leases, it.id)
	le.queue.remove(it)
	close(it.gone)
}

func (le *Lessor) primary() bool { return le.demoted != nil }

// Promote makes the lessor primary: a member has become leader. Every lease
// gets its full time from now on, and extend more, because keep-alives may not
// have found a leader for a while. leases are those of the state machine: one that
// the lessor does not know is added.
func (le *Lessor) Promote(leases []Grant, extend time.Duration) {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.stopped {
		return
	}
	if !le.primary() {
		le.demoted = make(chan struct{})
	}
	for _, g := range leases {
		it := le.leases[g.ID]
		if it == nil {
			it = &item{id: g.ID, gone: make(chan struct{}), place: -1}
			le.leases[g.ID] = it
		}
		it.ttl = g.TTL
	}
	for _, it := range le.leases {
		le.refresh(it, extend)
	}
	if len(le.leases) >= RevokeRate {
		le.spread(extend)
	}
	le.arm()
}

// spread extends leases where more would expire in a second than are allowed to.
func (le *Lessor) spread(extend time.Duration) {
	const target = 3 * RevokeRate / 4 // leave room for those that run out by themselves
	now := le.clock.Now()
	all := slices.SortedFunc(slices.Values(le.queue.items), (*item).compare)
	base := all[0].expiry - now
	next := base + time.Second
	expires := 0
	for _, it := range all {
		remaining := it.expiry - now
		if remaining > next {
			base, next, expires = remaining, remaining+time.Second, 1
			continue
		}
		if expires++; expires <= target {
			continue
		}
		delay := time.Duration(float64(time.Second)*(float64(expires)/target)) - (remaining - base)
		next = base + delay
		le.refresh(it, extend+delay)
	}
}

// Demote stops watching the clock: there is no leader, or it is another
// process's.
func (le *Lessor) Demote() {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.demote()
}

func (le *Lessor) demote() {
	if !le.primary() {
		return
	}
	close(le.demoted)
	le.demoted = nil
	le.queue.clear()
	le.disarm()
}

// Forget drops every lease: the state machine was replaced by another. The next
// Promote brings what that one has.
func (le *Lessor) Forget() {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.demote()
	for _, it := range le.leases {
		le.drop(it)
	}
}

// Stop ends the lessor for good.
func (le *Lessor) Stop() {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.demote()
	le.stopped = true
}

// Renew gives a lease its full time from now on and tells how long that is, in
// seconds. A lease that has run out is waited for: it is about to be revoked.
// rpctypes.ErrGRPCLeaseNotFound says that there is no such lease, ErrGRPCNoLeader
// that nobody watches the clock.
func (le *Lessor) Renew(ctx context.Context, id int64) (ttl int64, err error) {
	le.mu.Lock()
	demoted, it := le.demoted, le.leases[id]
	if demoted == nil {
		le.mu.Unlock()
		return 0, rpctypes.ErrGRPCNoLeader
	}
	if it != nil && it.expiry > le.clock.Now() {
		defer le.mu.Unlock()
		le.refresh(it, 0)
		le.arm() // a promotion may have given it more
		return it.ttl, nil
	}
	le.mu.Unlock()
	if it == nil {
		return 0, rpctypes.ErrGRPCLeaseNotFound
	}
	le.fire()
	select {
	case <-it.gone:
		return 0, rpctypes.ErrGRPCLeaseNotFound
	case <-demoted:
		return 0, rpctypes.ErrGRPCNoLeader
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Remaining is how long a lease still has: less than nothing if it has run out
// and is about to be revoked, [Forever] while nobody watches the clock.
func (le *Lessor) Remaining(id int64) (left time.Duration, ok bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	it := le.leases[id]
	switch {
	case it == nil:
		return 0, false
	case !le.primary():
		return Forever, true
	}
	return it.expiry - le.clock.Now(), true
}

// Expired reports whether the lease has expired: then it was the lessor that
// requested its revocation.
func (le *Lessor) Expired(id int64) bool {
	left, ok := le.Remaining(id)
	return ok && left <= 0
}

// refresh gives the lease its full TTL again. Call with mu held, while primary.
func (le *Lessor) refresh(it *item, extend time.Duration) {
	it.expiry = le.clock.Now() + extend + time.Duration(it.ttl)*time.Second
	it.next = it.expiry
	le.queue.put(it)
}

// arm sets the timer to when the next lease runs out, if it would be later
// otherwise. One that fires too early looks again.
func (le *Lessor) arm() {
	it := le.queue.first()
	if it == nil || le.stopped {
		return
	}
	now, at := le.clock.Now(), it.next
	if le.asked >= perWindow {
		at = max(at, le.began+window)
	}
	if le.stop != nil && le.due <= at {
		return
	}
	le.disarm()
	le.due = at
	le.stop = le.clock.AfterFunc(max(0, at-now), le.fire)
}

func (le *Lessor) disarm() {
	if le.stop != nil {
		le.stop()
		le.stop = nil
	}
}

// fire is the timer: it asks for the revocation of what has run out, in order of
// time, then ID.
func (le *Lessor) fire() {
	for _, id := range le.expire() {
		le.revoke(id)
	}
}

func (le *Lessor) expire() (ids []int64) {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.disarm()
	now := le.clock.Now()
	if now >= le.began+window {
		le.began, le.asked = now, 0
	}
	for it := le.queue.first(); it != nil && it.next <= now && le.asked < perWindow; it = le.queue.first() {
		ids = append(ids, it.id)
		le.asked++
		it.next = now + retry
		le.queue.put(it)
	}
	le.arm()
	return ids
}

// compare orders leases by when they are looked at, then by ID.
func (it *item) compare(o *item) int {
	return cmp.Or(cmp.Compare(it.next, o.next), cmp.Compare(it.id, o.id))
}
