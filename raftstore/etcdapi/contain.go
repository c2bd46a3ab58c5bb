package etcdapi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// begin runs fn in a goroutine that Close waits for.
func (s *Server) begin(what string, fn func()) {
	s.running.Go(func() { s.cfg.Contain(what, fn) })
}

// errPanicked answers a call whose handler panicked; [Config.Contain] decides what else comes of it.
var errPanicked = status.Error(codes.Internal, "etcdserver: the handler of this call panicked")

func (s *Server) containUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	err = errPanicked
	s.cfg.Contain(info.FullMethod, func() { resp, err = handle(ctx, req) })
	return resp, err
}

func (s *Server) containStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	err := errPanicked
	s.cfg.Contain(info.FullMethod, func() { err = handle(srv, stream) })
	return err
}
