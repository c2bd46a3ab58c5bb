// Package raftstore is a small etcd: a revisioned key-value store replicated
// by hashicorp/raft over one to nine members, in one process or each in its own,
// every step of which can be watched, held, stepped and broken.
//
// It takes etcd's own requests (etcdserverpb), so its log holds what etcd's log
// holds. It imports nothing from the rest of kviz; anyone could use it. Package mvcc
// is the state machine without raft, member is one raft node, wire the transport
// between members, and remote connects members that are processes of their own. Start
// reading at [Store].
package raftstore

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Store is what a cluster needs of a store: the replicated one ([Open]) and
// the bare state machine without raft ([OpenBare]) both are one. All methods
// may be called from any goroutine.
type Store interface {
	// Do starts a request and returns at once; only where a password is to be hashed
	// or checked it takes the time of that, about 60 ms at etcd's cost. done is called
	// exactly once, from any goroutine (it may be before Do returns). Requests that change
	// the store take effect in the order of the calls. A Range is linearizable
	// unless it asks to be serializable.
	//
	// The request has exactly one of Range, Put, DeleteRange, Txn, Compaction,
	// LeaseGrant, LeaseRevoke set.
	Do(req *pb.InternalRaftRequest, done func(*Result))

	// OnCommit sets the function that is called with every request that changed keys, exactly
	// once and in revision order, no later than the first member applies it and
	// before done is called for it. fn must not block. Set it before the first Do.
	OnCommit(fn func(*Result))

	// Healthy reports whether the store can answer now: there is a leader, and
	// it reaches a quorum.
	Healthy() bool

	// Hold holds (true) or releases (false) the messages between members, except those
	// that keep the leader in place.
	Hold(bool)

	// Close stops every member and leaves no goroutine behind.
	Close() error
}

// Result is how a request ended.
type Result struct {
	// Response is a *pb.RangeResponse, *pb.PutResponse, … with its header
	// filled in; nil when Err is set.
	Response proto.Message
	// Err is etcd's own error for the case (rpctypes), such as
	// rpctypes.ErrGRPCFutureRev, ErrGRPCCompacted, ErrGRPCTimeout.
	Err error

	Index    uint64          // raft log index; 0 without raft
	Revision int64           // the store's revision after the request
	Events   []*mvccpb.Event // what changed, in order; with PrevKv

	// Request is the very request that Do was given, so that who asked can be
	// told also of a write that was given up and took effect later; nil for one
	// from before the store was opened.
	Request *pb.InternalRaftRequest
}
