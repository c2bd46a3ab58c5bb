package etcd

import (
	"context"
	"errors"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// unaryGate is around every call of one answer.
type unaryGate struct {
	g      *gate
	member string
}

func (u unaryGate) call(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	run, err := runOf(ctx)
	if err != nil {
		return nil, err
	}
	run.turns.await(ctx, u.member)
	if err := run.begin(u.member, info.FullMethod, req); err != nil {
		run.turns.end(u.member)
		u.answered(run, req, nil, asGRPC(err))
		return nil, asGRPC(err)
	}
	if r, ok := req.(*pb.LeaseGrantRequest); ok && r.ID == 0 {
		r.ID = u.g.leaseID()
	}
	resp, err := handle(ctx, req)
	if grpcstatus.Code(err) == codes.Unavailable && !errors.Is(rpctypes.Error(err), rpctypes.ErrUnhealthy) {
		// Nobody who could answer is reached: the client would ask again until its
		// time is over.
		resp, err = nil, asGRPC(run.expire())
	}
	if err != nil || info.FullMethod == "/etcdserverpb.Maintenance/Alarm" { // the last of a health check
		run.turns.end(u.member)
	}
	u.answered(run, req, resp, err)
	return resp, err
}

// leaseID draws a lease's number, which in etcd the member that is asked does,
// from the cluster's seed.
func (g *gate) leaseID() (id int64) {
	// A kernel that has stopped grants nothing.
	_ = g.kernel.Do(func() {
		if g.rand == nil {
			g.rand = g.kernel.Rand("etcdctl leases")
		}
		id = g.rand.Int64N(1<<62) + 1
	})
	return id
}

// begin puts the request into the trace and waits, where the member answers
// from what it has itself, until it has what is visible. A member that is down
// lets the command's time pass.
func (r *run) begin(member, method string, req any) error {
	called := &trace.EtcdCall{Method: strings.TrimPrefix(method, "/etcdserverpb."), Member: member, Key: keyOf(req)}
	up := r.store.Up(member)
	if !up {
		called.Error = "the member is down"
	}
	if !local(method, req) || !up {
		err := r.serve("etcdctl", func(t *sim.Task) { t.Emit(trace.Event{Kind: trace.EtcdRequest, Payload: called}) })
		if err != nil || up {
			return err
		}
		return r.expire()
	}
	return r.serve("etcdctl", func(t *sim.Task) {
		t.Emit(trace.Event{Kind: trace.EtcdRequest, Payload: called})
		r.store.Settle(t, member)
	})
}

// local reports whether a member answers from its own state.
func local(method string, req any) bool {
	if r, ok := req.(*pb.RangeRequest); ok {
		return r.Serializable
	}
	return strings.HasPrefix(method, "/etcdserverpb.Maintenance/") || method == "/etcdserverpb.KV/RangeStream"
}

// firstWritten is the first key that a transaction may write, whichever way it goes.
func firstWritten(r *pb.TxnRequest) string {
	for _, op := range append(append([]*pb.RequestOp{}, r.Success...), r.Failure...) {
		switch {
		case op.GetRequestPut() != nil:
			return string(op.GetRequestPut().Key)
		case op.GetRequestDeleteRange() != nil:
			return string(op.GetRequestDeleteRange().Key)
		case op.GetRequestTxn() != nil:
			if key := firstWritten(op.GetRequestTxn()); key != "" {
				return key
			}
		}
	}
	return ""
}

func keyOf(req any) string {
	switch r := req.(type) {
	case *pb.TxnRequest:
		if len(r.Compare) > 0 {
			return string(r.Compare[0].Key)
		}
		return firstWritten(r)
	case interface{ GetKey() []byte }:
		return strings.ToValidUTF8(string(r.GetKey()), "?")
	}
	return ""
}

// streamGate is around every stream.
type streamGate struct {
	g      *gate
	member string
}

func (s streamGate) call(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	run, err := runOf(stream.Context())
	if err != nil {
		return err
	}
	if err := run.begin(s.member, info.FullMethod, nil); err != nil {
		return asGRPC(err)
	}
	if info.FullMethod == "/etcdserverpb.Watch/Watch" {
		return newWatchGate(run, stream).serve(srv, handle)
	}
	return handle(srv, stream)
}
