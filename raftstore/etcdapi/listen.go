package etcdapi

import (
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

const maxResponseBytes = math.MaxInt32

// buffers is how many bytes a connection reads and writes at a time.
const buffers = 64 << 10

// serve answers on a listener. Call with mu held.
func (f *frontend) serve(l net.Listener) {
	f.shown.Store(0) // a process that starts has told nobody anything
	var cfg *tls.Config
	if f.server.cfg.TLS != nil {
		cfg = f.server.cfg.TLS.serverConfig()
	}
	split := newSplitter(cfg, l.Addr())
	open := &serving{
		listener: l, split: split, grpc: f.grpcServer(), done: make(chan struct{}),
		inside: &inside{queue: split.grpc},
	}
	f.register(open.grpc, open.inside)
	open.http = &http.Server{Handler: f.mux(open.inside), ReadHeaderTimeout: firstBytes}
	f.open.Store(open)
	// All three end when the frontend is shut; what they end with is that.
	f.server.begin("accept at "+f.addr, func() { split.accept(l) })
	f.server.begin("gRPC at "+f.addr, func() { _ = open.grpc.Serve(split.grpc) })
	f.server.begin("HTTP at "+f.addr, func() { _ = open.http.Serve(split.http) })
}

// grpcServer has etcd's limits.
//
// Mirrors etcd server/etcdserver/api/v3rpc/grpc.go Server and server/embed/etcd.go.
func (f *frontend) grpcServer() *grpc.Server {
	unary := []grpc.UnaryServerInterceptor{f.server.containUnary}
	stream := []grpc.StreamServerInterceptor{f.server.containStream}
	if f.server.cfg.Unary != nil {
		unary = append(unary, f.server.cfg.Unary(f.member))
	}
	if f.server.cfg.Stream != nil {
		stream = append(stream, f.server.cfg.Stream(f.member))
	}
	return grpc.NewServer(
		grpc.Creds(greeted{}), grpc.ForceServerCodecV2(newCodec(f.numbers)),
		grpc.MaxRecvMsgSize(f.server.cfg.MaxRequestBytes+grpcOverhead), grpc.MaxSendMsgSize(maxResponseBytes),
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.ChainUnaryInterceptor(append(unary, f.unary)...), grpc.ChainStreamInterceptor(append(stream, f.stream)...), grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(16), grpc.SharedWriteBuffer(true), grpc.ReadBufferSize(buffers), grpc.WriteBufferSize(buffers),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Hour, Timeout: 20 * time.Second}),
	)
}

func (f *frontend) register(g *grpc.Server, in *inside) {
	pb.RegisterKVServer(g, &kvServer{frontend: f})
	pb.RegisterWatchServer(g, &watchServer{frontend: f})
	pb.RegisterLeaseServer(g, &leaseServer{frontend: f})
	pb.RegisterClusterServer(g, &clusterServer{frontend: f})
	pb.RegisterMaintenanceServer(g, &maintenanceServer{frontend: f})
	pb.RegisterAuthServer(g, &authServer{frontend: f})
	v3lockpb.RegisterLockServer(g, lockServer{in: in})
	v3electionpb.RegisterElectionServer(g, electionServer{in: in})
	h := health.NewServer()
	h.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(g, h)
}
