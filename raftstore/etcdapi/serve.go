// Package etcdapi is etcd's v3 gRPC face on a raftstore: what etcdctl, an API
// server or clientv3 talk to. One address a member, as in an etcd cluster.
//
// Answered are KV (without RangeStream), Watch, Lease, Cluster/MemberList and
// of Maintenance what the store can tell. Everything else is answered with
// Unimplemented and a sentence (missing.go).
//
// Simplified against etcd: plain TCP on 127.0.0.1 without authentication, so
// every program of this machine can read and write. A request enters at the
// store, not at the member whose address was called: only serializable reads,
// HashKV and Status are the member's own, and the address of a member that is
// cut off still takes writes; that of a member that is down answers nothing.
// Leases are kept and can be revoked, but no clock runs: none expires, a keep
// alive only says that the lease is there. Progress is told when asked for, not
// every ten minutes; watch responses are not fragmented. A watcher that asks
// for a leader (metadata hasleader) is refused when there is none, but not
// cancelled when the leader is lost.
//
// Start reading at [Serve], then face in face.go and watchStream in watch.go.
package etcdapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"kviz/raftstore"
)

// Config says where to serve.
type Config struct {
	// Port is the first member's; the others have the following ones. 0 takes
	// free ones. Only 127.0.0.1 is listened on.
	Port int

	// Listen, if set, is asked for each member's listener and for the address
	// that clients know it by, instead of a port on loopback.
	Listen func(member string) (l net.Listener, address string, err error)
	// Do, if set, carries requests to the store instead of [raftstore.Store.Do].
	// It waits for the end, and is called on the request's goroutine.
	Do func(ctx context.Context, member string, req *pb.InternalRaftRequest) *raftstore.Result
	// Unary and Stream, if set, are called around every call, before it is looked
	// at. member is whose address was called.
	Unary  func(member string) grpc.UnaryServerInterceptor
	Stream func(member string) grpc.StreamServerInterceptor
}

// Server is the running face of a store.
type Server struct {
	// Addr is the first member's address, 127.0.0.1:port.
	Addr string
	// Endpoints are all members' addresses, in order of the members' names.
	Endpoints []string

	cfg     Config
	store   raftstore.Store
	history raftstore.History
	raft    *raftstore.Replicated // nil on a bare store
	faces   []*face

	closing   chan struct{}
	closeOnce sync.Once
	running   sync.WaitGroup // servers, and receivers of streams
}

// bareName is the one member that a bare store shows.
const bareName = "mvcc"

// Serve answers etcd's clients until Close, which must come before the store's.
func Serve(store raftstore.Store, cfg Config) (*Server, error) {
	history, ok := store.(raftstore.History)
	if !ok {
		return nil, fmt.Errorf("serve etcd's API: a %T does not tell its history", store)
	}
	s := &Server{cfg: cfg, store: store, history: history, closing: make(chan struct{})}
	names := []string{bareName}
	if r, ok := store.(*raftstore.Replicated); ok {
		s.raft, names = r, r.IDs()
	}
	for i, name := range names {
		l, address, err := cfg.listen(name, i)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve etcd's API of member %s: %w", name, err), s.Close())
		}
		s.Endpoints = append(s.Endpoints, address)
		f := &face{server: s, member: name, id: raftstore.MemberID(name)}
		s.faces = append(s.faces, f)
		f.serve(l)
	}
	s.Addr = s.Endpoints[0]
	return s, nil
}

// listen opens the i-th member's address.
func (cfg Config) listen(member string, i int) (net.Listener, string, error) {
	if cfg.Listen != nil {
		return cfg.Listen(member)
	}
	port := 0
	if cfg.Port != 0 {
		port = cfg.Port + i
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, "", err
	}
	return l, l.Addr().String(), nil
}

// Close ends every connection and waits for every goroutine.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		for _, f := range s.faces {
			f.grpc.Stop()
		}
	})
	s.running.Wait()
	return nil
}

// Limits of etcd: --max-request-bytes, and what gRPC may add to it.
const (
	maxRequestBytes  = 1536 * 1024
	grpcOverhead     = 512 * 1024
	maxResponseBytes = 1<<31 - 1
)

func (f *face) serve(l net.Listener) {
	var (
		unary  []grpc.UnaryServerInterceptor
		stream []grpc.StreamServerInterceptor
	)
	if f.server.cfg.Unary != nil {
		unary = append(unary, f.server.cfg.Unary(f.member))
	}
	if f.server.cfg.Stream != nil {
		stream = append(stream, f.server.cfg.Stream(f.member))
	}
	unary, stream = append(unary, f.checkUnary), append(stream, f.checkStream)
	f.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes+grpcOverhead), grpc.MaxSendMsgSize(maxResponseBytes),
		grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...),
		grpc.UnknownServiceHandler(unknown), grpc.WaitForHandlers(true),
	)
	pb.RegisterKVServer(f.grpc, &kvServer{face: f})
	pb.RegisterWatchServer(f.grpc, &watchServer{face: f})
	pb.RegisterLeaseServer(f.grpc, &leaseServer{face: f})
	pb.RegisterClusterServer(f.grpc, &clusterServer{face: f})
	pb.RegisterMaintenanceServer(f.grpc, &maintenanceServer{face: f})
	f.server.running.Go(func() {
		// It ends with Stop; a listener that fails before has nobody to tell.
		_ = f.grpc.Serve(l)
	})
}
