package etcdapi

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
)

// face is one member's address.
type face struct {
	server *Server
	member string
	id     uint64
	grpc   *grpc.Server
}

// up reports whether the member runs.
func (f *face) up() bool {
	if f.server.raft == nil {
		return true
	}
	_, up := f.server.raft.TermAt(f.member)
	return up
}

// check refuses what cannot be answered at all.
//
// Mirrors etcd server/etcdserver/api/v3rpc/interceptor.go.
func (f *face) check(ctx context.Context, method string) error {
	if why, ok := missing[method]; ok {
		return status.Error(codes.Unimplemented, why)
	}
	if !f.up() {
		return rpctypes.ErrGRPCStopped
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok && f.server.raft != nil && f.server.raft.Leader() == "" {
		if v := md.Get(rpctypes.MetadataRequireLeaderKey); len(v) > 0 && v[0] == rpctypes.MetadataHasLeader {
			return rpctypes.ErrGRPCNoLeader
		}
	}
	return nil
}

func (f *face) checkUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := f.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	resp, err := handle(ctx, req)
	return resp, asStatus(err)
}

func (f *face) checkStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := f.check(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return asStatus(handle(srv, stream))
}

// asStatus gives an error without a gRPC code that of a member that cannot
// answer now: such errors tell that members are down.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}

// do asks the store. A caller that gives up does not take its request back.
func (f *face) do(ctx context.Context, req *pb.InternalRaftRequest) (proto.Message, error) {
	if req.Range == nil && proto.Size(req) > maxRequestBytes {
		return nil, rpctypes.ErrGRPCRequestTooLarge
	}
	results := make(chan *raftstore.Result, 1)
	if do := f.server.cfg.Do; do != nil {
		results <- do(ctx, f.member, req)
	} else {
		f.server.store.Do(req, func(r *raftstore.Result) { results <- r })
	}
	select {
	case r := <-results:
		if r.Err != nil {
			return nil, r.Err
		}
		if h, ok := r.Response.(interface{ GetHeader() *pb.ResponseHeader }); ok {
			f.stamp(h.GetHeader())
		}
		return r.Response, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-f.server.closing:
		return nil, rpctypes.ErrGRPCStopped
	}
}

// stamp makes an answer this member's: in etcd the member that was asked
// answers, whoever leads.
func (f *face) stamp(h *pb.ResponseHeader) {
	if h != nil {
		h.ClusterId, h.MemberId = raftstore.ClusterID, f.id
	}
}

func (f *face) header(rev int64) *pb.ResponseHeader {
	h := &pb.ResponseHeader{Revision: rev}
	f.stamp(h)
	if f.server.raft != nil {
		h.RaftTerm, _ = f.server.raft.TermAt(f.member)
	}
	return h
}

// barrier waits until the leader's state holds everything that was committed
// before: etcd's linearizableReadNotify.
func (f *face) barrier(ctx context.Context) error {
	_, err := f.do(ctx, &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte{0}, CountOnly: true}})
	return err
}
