package main

import (
	"io"
	"os"

	"google.golang.org/grpc/grpclog"
)

// gRPC and its gateway write what clients do wrong to standard error, which is
// the explorer's screen. Whoever wants to read it asks for it as everywhere:
// GRPC_GO_LOG_SEVERITY_LEVEL=error.
func init() {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
}
