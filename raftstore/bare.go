package raftstore

import (
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/apply"
	"kviz/raftstore/lessor"
	"kviz/raftstore/mvcc"
)

// bare is the state machine without raft: a request is applied by the call
// that brings it.
type bare struct {
	mu       sync.Mutex
	state    *apply.State
	onCommit func(*Result)
	onUpkeep func(*Result)
	leases   int64 // how many lease IDs were given out
	closed   bool
	recent   recent
	lessor   *lessor.Lessor
}

// OpenBare gives a Store without raft, members or disk: always healthy, gone
// when closed. It is for tests, seeded sweeps and forks. done is called before
// Do returns; OnCommit's function must not call the store.
func OpenBare() Store { return OpenBareWith(Config{}) }

// OpenBareWith is [OpenBare] with the Quota, Clock, BcryptCost and AuthToken of
// a configuration; a wrong AuthToken panics.
func OpenBareWith(cfg Config) Store {
	b := &bare{state: apply.New(cfg.limits())}
	b.recent.reach(b.state.KV.Revision())
	clock := cfg.Clock
	if clock == nil {
		clock = lessor.Real()
	}
	b.lessor = lessor.New(clock, b.expire)
	b.lessor.Promote(nil, 0)
	return b
}

// Do applies the request.
func (b *bare) Do(req *pb.InternalRaftRequest, done func(*Result)) { done(b.apply(req)) }

func (b *bare) apply(req *pb.InternalRaftRequest) *Result {
	req, err := prepared(req, b.AuthStore, b.leaseID)
	if err != nil {
		return &Result{Err: err}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &Result{Err: rpctypes.ErrGRPCStopped}
	}
	if proto.Size(req) > MaxRequestBytes {
		return &Result{Err: rpctypes.ErrGRPCRequestTooLarge}
	}
	if req.Range != nil {
		resp, err := b.state.Range(req.Header, req.Range)
		if err != nil {
			return &Result{Err: err, Revision: b.state.KV.Revision(), Request: req}
		}
		return &Result{Response: resp, Revision: resp.Header.Revision, Request: req}
	}
	if !b.state.Available(req) {
		b.applyLocked(noSpace(bareName))
		return &Result{Err: rpctypes.ErrGRPCNoSpace, Revision: b.state.KV.Revision(), Request: req}
	}
	return b.applyLocked(req)
}

// applyLocked is apply for a request that nothing speaks against. Call with mu
// held.
func (b *bare) applyLocked(req *pb.InternalRaftRequest) *Result {
	r := b.state.Apply(0, req)
	if r.Err == nil {
		noteLease(b.lessor, req, r.Response)
	}
	res := &Result{Response: r.Response, Err: r.Err, Revision: r.Revision, Events: r.Events, Request: req}
	if len(r.Events) > 0 && b.onCommit != nil {
		b.onCommit(res)
	}
	if b.onUpkeep != nil && isUpkeep(res) {
		b.onUpkeep(res)
	}
	if len(r.Events) > 0 {
		b.recent.add(r.Revision, r.Events)
	}
	return res
}

// leaseID draws the ID of a lease that was requested without one.
func (b *bare) leaseID() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases++
	return firstLeaseID + b.leases
}

// firstLeaseID makes lease IDs look like etcd's, without its randomness.
const firstLeaseID = 0x694d_0000_0000_0000

// OnCommit sets the function that is called with every change.
func (b *bare) OnCommit(fn func(*Result)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onCommit = fn
}

// Healthy is always true.
func (b *bare) Healthy() bool { return true }

// Hold does nothing: there are no messages.
func (b *bare) Hold(bool) {}

// Close makes further requests fail.
func (b *bare) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.lessor.Stop()
	b.recent.end()
	return nil
}

// Changes gives the changes from a revision on; see [History].
func (b *bare) Changes(from int64) (Changes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return Changes{}, rpctypes.ErrGRPCStopped
	}
	c, ok := b.recent.since(from)
	if ok {
		return c, nil
	}
	err := c.read(b.state.KV, from)
	return c, err
}

// Revision is the store's revision.
func (b *bare) Revision() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.KV.Revision()
}

// CompactRevision is the oldest revision that can still be read, or -1.
func (b *bare) CompactRevision() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.KV.CompactRevision()
}

// Leases lists the granted leases by ID.
func (b *bare) Leases() ([]mvcc.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.KV.Leases(), nil
}

// Lease is a granted lease.
func (b *bare) Lease(id int64) (mvcc.Lease, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.state.KV.Lease(id)
	return l, ok, nil
}

// HashKV is the hash of the keys up to a revision (0: all).
func (b *bare) HashKV(_ string, rev int64) (KVHash, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return hashKV(b.state.KV, rev)
}

// Size is how many bytes the keys take, with their history.
func (b *bare) Size(string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.KV.Size(), nil
}
