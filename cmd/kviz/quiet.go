package main

import (
	"flag"
	"io"
	"os"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// What libraries log of clients' mistakes goes to standard error, which is the
// explorer's screen: gRPC and its gateway, and Kubernetes' own code, which says
// the same again in what it returns. Whoever wants to read gRPC's asks for it as
// everywhere: GRPC_GO_LOG_SEVERITY_LEVEL=error.
func init() {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			panic(err) // klog has no such flag any more
		}
	}
	klog.SetOutput(io.Discard)
}
