package etcdapi

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
)

// waiter is a caller that waits for a request's end.
type waiter struct{ result chan *raftstore.Result }

func newWaiter() any { return &waiter{make(chan *raftstore.Result, 1)} }

// requestTimeout is how long a member that is cut off lets a request wait:
// etcd's 5 s and two election timeouts of 1 s.
const requestTimeout = 7 * time.Second

// change takes a request that goes through the log. Its header names the user: the
// state machine decides what that user may do.
//
// Mirrors etcd server/etcdserver/v3_server.go processInternalRaftRequestOnce.
func (f *frontend) change(ctx context.Context, req *pb.InternalRaftRequest) (proto.Message, error) {
	if f.tooManyRequests() {
		return nil, errTooMany
	}
	if req.Authenticate == nil {
		who, err := f.nameOf(ctx)
		if err != nil {
			return nil, err
		}
		req.Header = who
	}
	if f.tooLarge(req) {
		return nil, rpctypes.ErrGRPCRequestTooLarge
	}
	r, err := f.ask(ctx, req, "MsgProp")
	if err != nil {
		f.numbers.ProposalFailed.Inc()
		return nil, err
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Response, nil
}

// tooLarge looks closely only at what could be too large.
func (f *frontend) tooLarge(req *pb.InternalRaftRequest) bool {
	most := f.server.cfg.MaxRequestBytes
	const frame = 256 // more than the other fields of a Put and the header can take
	if p := req.Put; p != nil && req.Header == nil && len(p.Key)+len(p.Value)+frame < most {
		return false
	}
	return proto.Size(req)+frameOfHeader > most
}

// frameOfHeader is what the number of a request takes in the log.
const frameOfHeader = 16

// ask gives a request to the store, through this member: while the member
// cannot reach the leader it waits, and its answer waits too. A caller that
// gives up does not take its request back.
func (f *frontend) ask(ctx context.Context, req *pb.InternalRaftRequest, what string) (*raftstore.Result, error) {
	open := f.open.Load()
	if open == nil {
		return nil, rpctypes.ErrGRPCStopped
	}
	if do := f.server.cfg.Do; do != nil {
		return f.askBy(ctx, do, req, what)
	}
	var deadline time.Time
	if !f.reaches() {
		deadline = time.Now().Add(requestTimeout)
		if err := f.awaitLeader(ctx, open, deadline); err != nil {
			return nil, err
		}
	}
	f.forwarded(req, what)
	w := f.server.waiters.Get().(*waiter)
	f.server.store.Do(req, func(r *raftstore.Result) { w.result <- r })
	var r *raftstore.Result
	select {
	case r = <-w.result:
		f.server.waiters.Put(w)
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-open.done:
		return nil, rpctypes.ErrGRPCStopped
	}
	if r.Err == nil && !f.reaches() {
		// It was cut off meanwhile: it does not get to know.
		if deadline.IsZero() {
			deadline = time.Now().Add(requestTimeout)
		}
		if err := f.awaitLeader(ctx, open, deadline); err != nil {
			return nil, err
		}
	}
	if h := raftstore.HeaderOf(r.Response); h != nil {
		f.stamp(h)
	}
	return r, nil
}

// forwarded tells that this member passes a request on to the leader.
func (f *frontend) forwarded(req *pb.InternalRaftRequest, what string) {
	if f.server.group != nil {
		f.server.group.Forwarded(f.member, what, len(req.GetPut().GetValue()))
	}
}

// askBy gives the request to somebody else than the store.
func (f *frontend) askBy(ctx context.Context, do func(context.Context, string, *pb.InternalRaftRequest) *raftstore.Result, req *pb.InternalRaftRequest, what string) (*raftstore.Result, error) {
	if !f.reaches() {
		return nil, f.outOfReach()
	}
	f.forwarded(req, what)
	r := do(ctx, f.member, req)
	if h := raftstore.HeaderOf(r.Response); h != nil {
		f.stamp(h)
	}
	return r, nil
}

// outOfReach is what a member says that could not reach the leader in time.
//
// Mirrors etcd server/etcdserver/server.go parseProposeCtxErr.
func (f *frontend) outOfReach() error {
	if f.leader() != "" {
		return rpctypes.ErrGRPCTimeoutDueToConnectionLost
	}
	return rpctypes.ErrGRPCTimeout
}

// awaitLeader waits until the member reaches the leader, and says at the
// deadline that it does not.
func (f *frontend) awaitLeader(ctx context.Context, open *serving, deadline time.Time) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !f.reaches() {
		select {
		case now := <-look.C:
			if now.Before(deadline) {
				continue
			}
			return f.outOfReach()
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-open.done:
			return rpctypes.ErrGRPCStopped
		}
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// barrier waits until the store has proved that everything that was answered
// before is in the leader's state, and gives its revision: etcd's
// linearizableReadNotify.
func (f *frontend) barrier(ctx context.Context) (int64, error) {
	for tries := 0; ; tries++ {
		r, err := f.ask(ctx, &pb.InternalRaftRequest{Header: f.root(), Range: &pb.RangeRequest{Key: []byte{0}, CountOnly: true}}, "MsgReadIndex")
		if err == nil {
			err = r.Err
		}
		if late := errors.Is(err, rpctypes.ErrGRPCUserEmpty) || errors.Is(err, rpctypes.ErrGRPCAuthOldRevision); late && tries < 5 {
			f.settle(ctx) // the leader has users that this member has not heard of yet
			continue
		}
		if err != nil {
			return 0, f.notRead(err)
		}
		return r.Revision, nil
	}
}

// settle waits until the member has applied what the leader has, as it would have in
// etcd after a moment, for a second at most: an idle leader announces its commits
// late. A member that is cut off or slow answers from what it has.
func (f *frontend) settle(ctx context.Context) {
	g := f.server.group
	if g == nil {
		return
	}
	leader, ok := f.server.status(g.Leader())
	if !ok {
		return
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(time.Second); time.Now().Before(end) && f.reaches(); {
		if own, ok := f.server.status(f.member); !ok || own.Applied >= leader.Applied {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// asTimeout is how a read ends that was not answered in time: etcd has one
// error for it.
func asTimeout(err error) error {
	if err == rpctypes.ErrGRPCTimeoutDueToConnectionLost {
		return rpctypes.ErrGRPCTimeout
	}
	return err
}

// answer gives the store's answer its type.
func answer[T any](resp any, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return resp.(T), nil
}
