// Package mvcc is the revisioned key-value state machine of etcd without
// anything around it: no raft, no disk, no goroutines, no clock but to say how long
// something took.
//
// A [Store] takes etcd's own requests ([Store.Apply]) and gives etcd v3.7's
// own answers. Every change makes a new revision and the old ones stay
// readable until they are compacted. The same requests in the same order give
// the same store, byte for byte ([Store.Hash]); that is all a replicated state
// machine needs.
//
// Simplified against etcd: values live in memory (a copy-on-write tree of
// revisions, so that [Store.Snapshot] costs nothing) instead of in bbolt;
// compaction removes at once instead of in batches; watchers are the caller's
// ([Result.Events] as they happen, [Store.Since] for the past); leases do not
// expire by themselves (the leader proposes a LeaseRevoke when a clock says so).
//
// Start reading at [Store.Apply], then writeTxn in write.go and keyIndex in
// key_index.go.
package mvcc

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"
)

// Store is the state machine. It is not safe for concurrent use: the caller
// serialises. What it returns is shared and must not be changed; the requests
// it is given are kept and must not be changed afterwards.
//
// Mirrors etcd server/storage/mvcc/kvstore.go store.
type Store struct {
	currentRev int64 // main revision of the newest transaction; 1 when nothing was written
	compactRev int64 // main revision of the last compaction; -1 when there was none
	applied    uint64

	index     tree[*keyIndex]      // by key, for ranges
	keys      map[string]*keyIndex // the same, for single keys
	revisions tree[version]        // by revision: what etcd keeps in its database
	leases    tree[*lease]         // by ID
	pages     layout               // of etcd's database, were there one
	counts    Counts
	shared    *Shared // nil unless it shares what it writes
}

// Result is how a request ended.
type Result struct {
	// Response is a *pb.RangeResponse, *pb.PutResponse, … whose header holds
	// the revision only; nil when Err is set.
	Response proto.Message
	// Err is etcd's own error for the case (rpctypes.ErrGRPC…).
	Err      error
	Revision int64 // the store's revision after the request
	// Events are the changes, in order. PrevKv is the key's state one revision
	// before, nil if it did not exist.
	Events []*mvccpb.Event
}

// New is an empty store at revision 1, as a new etcd is.
func New() *Store {
	return &Store{
		currentRev: 1,
		compactRev: -1,
		index:      newIndex(),
		keys:       map[string]*keyIndex{},
		revisions:  newRevisions(),
		leases:     newLeases(),
		pages:      newLayout(),
	}
}

// Revision is the store's current revision: 1 when nothing was ever written.
func (s *Store) Revision() int64 { return s.currentRev }

// CompactRevision is the revision of the last compaction, -1 if there was
// none. Reads and watches below it are refused.
func (s *Store) CompactRevision() int64 { return s.compactRev }

// AppliedIndex is the highest index given to [Store.Apply].
func (s *Store) AppliedIndex() uint64 { return s.applied }

// Advance notes that an entry was applied that is not the store's business.
func (s *Store) Advance(index uint64) { s.applied = max(s.applied, index) }

// Keys is how many keys exist now.
func (s *Store) Keys() int {
	n := 0
	s.index.Scan(func(ki *keyIndex) bool {
		if ki.live() != nil {
			n++
		}
		return true
	})
	return n
}

// Apply executes one request, which has exactly one of Range, Put,
// DeleteRange, Txn, Compaction, LeaseGrant, LeaseRevoke, LeaseCheckpoint set. index is the
// request's place in the replicated log (0 without one). A request that is
// refused changes nothing but the applied index.
//
// Mirrors etcd server/etcdserver/apply/uber_apply.go dispatch, with the checks of
// server/etcdserver/api/v3rpc/key.go in front, so that they apply to every way into
// the store.
func (s *Store) Apply(index uint64, req *pb.InternalRaftRequest) *Result {
	s.applied = max(s.applied, index)
	began := time.Now()
	res := &Result{}
	s.apply(req, res)
	res.Revision = s.currentRev
	s.counts.applied(operation(req), res.Err == nil, time.Since(began))
	return res
}

func (s *Store) apply(req *pb.InternalRaftRequest, res *Result) {
	switch {
	case req.Range != nil:
		set(res)(s.Range(req.Range))
	case req.Put != nil:
		set(res)(s.put(req.Put, res))
	case req.DeleteRange != nil:
		set(res)(s.deleteRange(req.DeleteRange, res))
	case req.Txn != nil:
		set(res)(s.txn(req.Txn, res))
	case req.Compaction != nil:
		set(res)(s.compact(req.Compaction))
	case req.LeaseGrant != nil:
		set(res)(s.leaseGrant(req.LeaseGrant))
	case req.LeaseRevoke != nil:
		set(res)(s.leaseRevoke(req.LeaseRevoke, res))
	case req.LeaseCheckpoint != nil:
		set(res)(s.leaseCheckpoint(req.LeaseCheckpoint))
	default:
		res.Err = rpctypes.ErrGRPCNotCapable
	}
}

// set files a response or an error; a typed nil must not become a Response.
func set(res *Result) func(resp proto.Message, err error) {
	return func(resp proto.Message, err error) {
		if err != nil {
			res.Err = err
			return
		}
		res.Response = resp
	}
}

func header(rev int64) *pb.ResponseHeader { return &pb.ResponseHeader{Revision: rev} }
