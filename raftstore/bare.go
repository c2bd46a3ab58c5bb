package raftstore

import (
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/mvcc"
)

// bare is the state machine without raft: a request is applied by the call
// that brings it.
type bare struct {
	mu       sync.Mutex
	kv       *mvcc.Store
	onCommit func(*Result)
	leases   int64 // how many lease IDs were given out
	closed   bool
}

// OpenBare gives a Store without raft, members or disk: always healthy, gone
// when closed. It is for tests, seeded sweeps and forks. done is called before
// Do returns; OnCommit's function must not call the store.
func OpenBare() Store { return &bare{kv: mvcc.New()} }

// Do applies the request.
func (b *bare) Do(req *pb.InternalRaftRequest, done func(*Result)) { done(b.apply(req)) }

func (b *bare) apply(req *pb.InternalRaftRequest) *Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &Result{Err: rpctypes.ErrGRPCStopped}
	}
	if g := req.LeaseGrant; g != nil && g.ID == 0 {
		b.leases++
		req = &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: firstLeaseID + b.leases, TTL: g.TTL}}
	}
	r := b.kv.Apply(0, req)
	res := &Result{Response: r.Response, Err: r.Err, Revision: r.Revision, Events: r.Events}
	if len(r.Events) > 0 && b.onCommit != nil {
		b.onCommit(res)
	}
	return res
}

// firstLeaseID makes lease IDs look like etcd's, without its randomness.
const firstLeaseID = 0x694d_0000_0000_0000

// OnCommit sets who is told of every change.
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
	return nil
}
