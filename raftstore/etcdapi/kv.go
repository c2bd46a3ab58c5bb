package etcdapi

import (
	"context"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/mvcc"
)

// kvServer is etcd's KV service.
//
// Mirrors etcd server/etcdserver/api/v3rpc/key.go and server/etcdserver/v3_server.go.
type kvServer struct {
	pb.UnimplementedKVServer
	*frontend
}

// Range reads. A serializable one is answered by the member that is asked,
// however old its state is.
func (k *kvServer) Range(ctx context.Context, r *pb.RangeRequest) (resp *pb.RangeResponse, err error) {
	if err := mvcc.CheckRange(r); err != nil {
		return nil, err
	}
	k.numbers.Ranges.Inc()
	began := time.Now()
	defer func() { k.ranged(began, err) }()
	if !k.users().IsAuthEnabled() {
		return k.read(ctx, nil, r)
	}
	who, err := k.nameOf(ctx)
	if err != nil {
		return nil, err
	}
	resp, err = k.read(ctx, who, r)
	// Who may not read it gets that error, whatever the answer would have been.
	if refused := k.mayRead(ctx, r.Key, r.RangeEnd); refused != nil && !isTimeout(err) {
		return nil, refused
	}
	return resp, err
}

// ranged counts a range that is over.
func (f *frontend) ranged(began time.Time, err error) {
	f.numbers.RangeSeconds.WithLabelValues(strconv.FormatBool(err == nil)).Observe(time.Since(began).Seconds())
}

func (f *frontend) read(ctx context.Context, who *pb.RequestHeader, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if r.Serializable {
		return f.local(ctx, who, r)
	}
	res, err := f.ask(ctx, &pb.InternalRaftRequest{Header: who, Range: r}, "MsgReadIndex")
	if err != nil {
		return nil, f.notRead(err)
	}
	return answer[*pb.RangeResponse](res.Response, res.Err)
}

// notRead counts a linearizable read that had no answer, and says why.
func (f *frontend) notRead(err error) error {
	f.numbers.FailedRead.Inc()
	if err = asTimeout(err); err == rpctypes.ErrGRPCTimeout {
		f.numbers.SlowReadIndex.Inc()
	}
	return err
}

// local reads from the member's own state. If the member has returned more than it
// has applied, because an answer went through it early, the leader reads for it.
func (f *frontend) local(ctx context.Context, who *pb.RequestHeader, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	g := f.server.group
	if g == nil || g.RevisionAt(f.member) < f.shown.Load() && g.Reaches(f.member) {
		own := &pb.RangeRequest{
			Key: r.Key, RangeEnd: r.RangeEnd, Limit: r.Limit, Revision: r.Revision, SortOrder: r.SortOrder, SortTarget: r.SortTarget,
			Serializable: true, KeysOnly: r.KeysOnly, CountOnly: r.CountOnly, MinModRevision: r.MinModRevision, MaxModRevision: r.MaxModRevision,
			MinCreateRevision: r.MinCreateRevision, MaxCreateRevision: r.MaxCreateRevision,
		}
		res, err := f.ask(ctx, &pb.InternalRaftRequest{Header: who, Range: own}, "MsgReadIndex")
		if err != nil {
			return nil, err
		}
		return answer[*pb.RangeResponse](res.Response, res.Err)
	}
	resp, err := g.RangeAt(f.member, r)
	if err == nil {
		f.stamp(resp.Header)
	}
	return resp, err
}

func isTimeout(err error) bool {
	return err == rpctypes.ErrGRPCTimeout || err == rpctypes.ErrGRPCStopped
}

// Put writes one key.
func (k *kvServer) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if err := k.room(ctx, costOfPut(r)); err != nil {
		return nil, err
	}
	if err := mvcc.CheckPut(r); err != nil {
		return nil, err
	}
	return answer[*pb.PutResponse](k.change(ctx, &pb.InternalRaftRequest{Put: r}))
}

// DeleteRange deletes.
func (k *kvServer) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := mvcc.CheckDelete(r); err != nil {
		return nil, err
	}
	return answer[*pb.DeleteRangeResponse](k.change(ctx, &pb.InternalRaftRequest{DeleteRange: r}))
}

// Txn runs a transaction. One that only reads does not go through the log, and
// not to the leader if all it reads is serializable.
func (k *kvServer) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := k.room(ctx, costOfTxn(r)); err != nil {
		return nil, err
	}
	if len(r.Compare) > k.server.cfg.MaxTxnOps || len(r.Success) > k.server.cfg.MaxTxnOps || len(r.Failure) > k.server.cfg.MaxTxnOps {
		return nil, rpctypes.ErrGRPCTooManyOps
	}
	if err := mvcc.CheckTxn(r); err != nil {
		return nil, err
	}
	k.numbers.Txns.Inc()
	if mvcc.ReadOnly(r) && k.server.group != nil {
		return k.readTxn(ctx, r)
	}
	return answer[*pb.TxnResponse](k.change(ctx, &pb.InternalRaftRequest{Txn: r}))
}

// readTxn answers a transaction that only reads, from the member's own state if
// all it reads is serializable, else from that of one that is fresh enough.
func (k *kvServer) readTxn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	at, g := k.member, k.server.group
	if least := k.shown.Load(); !serializable(r) || g.RevisionAt(at) < least && g.Reaches(at) {
		rev, err := k.barrier(ctx)
		if err != nil {
			return nil, err
		}
		if at, err = k.fresh(ctx, rev); err != nil {
			return nil, err
		}
	}
	if err := k.permitted(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error { return mayReadTxn(users, info, r) }); err != nil {
		return nil, err
	}
	resp, err := g.ReadTxnAt(at, r)
	if err == nil {
		k.stamp(resp.Header)
	}
	return resp, err
}

// fresh is a member that has applied a revision: this one, or the leader.
func (f *frontend) fresh(ctx context.Context, rev int64) (string, error) {
	for {
		for _, id := range [...]string{f.member, f.server.group.Leader()} {
			if id != "" && f.server.group.RevisionAt(id) >= rev {
				return id, nil
			}
		}
		// The leader that proved the revision is gone; another barrier finds the next.
		again, err := f.barrier(ctx)
		if err != nil {
			return "", err
		}
		rev = max(rev, again)
	}
}

// serializable reports whether all that a transaction reads is serializable.
//
// Mirrors etcd server/etcdserver/txn/txn.go IsTxnSerializable.
func serializable(r *pb.TxnRequest) bool {
	for _, ops := range [2][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			if rr := op.GetRequestRange(); rr == nil || !rr.Serializable {
				return false
			}
		}
	}
	return true
}

// mayReadTxn asks for every key that a reading transaction compares or reads.
//
// Mirrors etcd server/etcdserver/apply/auth.go CheckTxnAuth.
func mayReadTxn(users auth.AuthStore, info *auth.AuthInfo, r *pb.TxnRequest) error {
	for _, c := range r.Compare {
		if err := users.IsRangePermitted(info, c.Key, c.RangeEnd); err != nil {
			return err
		}
	}
	for _, ops := range [2][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			rr := op.GetRequestRange()
			if err := users.IsRangePermitted(info, rr.Key, rr.RangeEnd); err != nil {
				return err
			}
		}
	}
	return nil
}

// Compact throws history away. It is always physical: when the answer comes,
// the history is gone.
func (k *kvServer) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := k.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	return answer[*pb.CompactionResponse](k.change(ctx, &pb.InternalRaftRequest{Compaction: r}))
}
