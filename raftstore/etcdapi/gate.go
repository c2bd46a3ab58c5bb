package etcdapi

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// gate is what every call passes: it refuses what the member cannot answer at
// all, counts, and gives errors their code.
//
// Mirrors etcd server/etcdserver/api/v3rpc/interceptor.go.
func (f *frontend) gate(ctx context.Context, kind string, supportsLearner bool) (insists bool, err error) {
	if !f.up() {
		return false, rpctypes.ErrGRPCStopped
	}
	if !supportsLearner && f.learner() {
		return false, rpctypes.ErrGRPCNotSupportedForLearner
	}
	version := "unknown"
	if v := metadata.ValueFromIncomingContext(ctx, rpctypes.MetadataClientAPIVersionKey); len(v) > 0 {
		version = v[0]
	}
	if !utf8.ValidString(version) {
		return false, rpctypes.ErrGRPCInvalidClientAPIVersion
	}
	f.calls.client(f.numbers, kind, version).Inc()
	if v := metadata.ValueFromIncomingContext(ctx, rpctypes.MetadataRequireLeaderKey); len(v) > 0 && v[0] == rpctypes.MetadataHasLeader {
		if f.leader() == "" {
			return false, rpctypes.ErrGRPCNoLeader
		}
		return true, nil
	}
	return false, nil
}

// forLearner reports whether a learner answers the request.
//
// Mirrors etcd server/etcdserver/api/v3rpc/util.go isRPCSupportedForLearner.
func forLearner(req any) bool {
	switch r := req.(type) {
	case *pb.StatusRequest:
		return true
	case *pb.RangeRequest:
		return r.Serializable
	}
	return false
}

const snapshotMethod = "/etcdserverpb.Maintenance/Snapshot"

func (f *frontend) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	call, began := f.calls.of(f.numbers, "unary", info.FullMethod), time.Now()
	call.started.Inc()
	call.received.Inc()
	if _, err = f.gate(ctx, "unary", forLearner(req)); err == nil {
		resp, err = handle(ctx, req)
	}
	err = asStatus(err)
	call.end(err, began)
	if err != nil {
		return nil, err
	}
	call.sent.Inc()
	return resp, nil
}

func (f *frontend) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	call := f.calls.of(f.numbers, streamKind(info), info.FullMethod)
	call.started.Inc()
	stream = counted{stream, call}
	insists, err := f.gate(stream.Context(), "stream", info.FullMethod == snapshotMethod)
	if err == nil && insists {
		ctx := newLeaderContext(stream.Context())
		stream = leaderStream{stream, ctx}
		f.streams.add(ctx)
		defer f.streams.remove(ctx)
	}
	if err == nil {
		err = handle(srv, stream)
	}
	err = asStatus(err)
	call.end(err, time.Time{})
	return err
}

// leaderContext ends with an error of its own when the leader is lost.
type leaderContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

func newLeaderContext(parent context.Context) *leaderContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &leaderContext{ctx, cancel}
}

// Err is why the context ended.
func (c *leaderContext) Err() error {
	if cause := context.Cause(c.Context); cause == rpctypes.ErrGRPCNoLeader {
		return cause
	}
	return c.Context.Err()
}

type leaderStream struct {
	grpc.ServerStream
	ctx *leaderContext
}

func (s leaderStream) Context() context.Context { return s.ctx }

// streams are the streams that insist on a leader.
type streams struct {
	mu  sync.Mutex
	set map[*leaderContext]struct{}
}

func (s *streams) add(ctx *leaderContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[*leaderContext]struct{}{}
	}
	s.set[ctx] = struct{}{}
}

func (s *streams) remove(ctx *leaderContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, ctx)
	ctx.cancel(nil)
}

// cancelAll ends them because there is no leader.
func (s *streams) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx := range s.set {
		ctx.cancel(rpctypes.ErrGRPCNoLeader)
	}
	s.set = nil
}
