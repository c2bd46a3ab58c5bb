// Package etcdapi is etcd's v3 API on a raftstore: what etcdctl, an API server
// or clientv3 talk to. One address a member, as in an etcd cluster; each serves
// etcd's gRPC services and, over plain HTTP on the same port, /metrics,
// /health, /livez, /readyz, /version and the JSON gateway /v3/.
//
// Served are KV, Watch, Lease, Cluster, Maintenance, Auth, Health, and the lock
// and election services, with the requests, answers, error codes and texts of
// etcd v3.7. The addresses follow the group: one opens when a member joins or
// starts, and closes when it leaves or goes down, as the process of a real one
// would.
//
// A request enters at the member whose address was called. A follower passes it
// on to the leader; one that cannot reach the leader answers serializable reads
// from its own state and lets everything else time out; a learner refuses what
// etcd's learners refuse.
//
// Different from etcd: only loopback is listened on. A follower answers a write as
// soon as any member has applied it, not only once it has done so itself; it never
// goes back behind what it has already returned (frontend.shown). A serializable read
// that would have to is answered by the leader. A downgrade has no older program to
// continue with. There are no logs and no tracing; DESIGN.md has the whole list.
//
// Start reading at [Serve], then frontend in frontend.go, ask.go for a request's way,
// and watchStream in watch.go.
package etcdapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
)

// Config says where and how to serve.
type Config struct {
	// Port is the first member's; the others have the following ones, and so
	// have members that join later. 0 takes free ones. Only 127.0.0.1 is
	// listened on.
	Port int
	// TLS protects every address and demands client certificates; nil is plain TCP.
	TLS *TLS
	// Metrics are the members' numbers; pass one that gets the store's events. nil makes
	// one that has only what can be read from the store.
	Metrics *metrics.Set
	// WatchProgressInterval is how often a watcher that asks for it is sent how
	// far it is; 0 is etcd's ten minutes.
	WatchProgressInterval time.Duration
	// MaxRequestBytes and MaxTxnOps are etcd's --max-request-bytes and
	// --max-txn-ops; 0 is 1.5 MiB and 128. A Txn of more than 128 operations is
	// refused by the store whatever is allowed here.
	MaxRequestBytes int
	MaxTxnOps       int

	// Listen, if set, returns each member's listener and the address under which clients
	// know it, instead of a port on loopback. Such an address stays open while the
	// member is down.
	Listen func(member string) (l net.Listener, address string, err error)
	// Do, if set, carries requests to the store instead of [raftstore.Store.Do]. It
	// waits for the outcome, and is called on the request's goroutine. It is not called
	// for a member that cannot reach the leader: that times out at once, and whoever set
	// Do lets the time pass.
	Do func(ctx context.Context, member string, req *pb.InternalRaftRequest) *raftstore.Result
	// Unary and Stream, if set, are called around every call, before it is looked
	// at. member is whose address was called.
	Unary  func(member string) grpc.UnaryServerInterceptor
	Stream func(member string) grpc.StreamServerInterceptor
	// Contain, if set, runs a part of the server's work in the calling goroutine and
	// takes care of a panic in it: the call is answered with an error, and the server goes on
	// unless Contain ends the process. Without it a panic ends the process as any other does.
	Contain func(what string, fn func())

	open func(network, address string) (net.Listener, error) // net.Listen, except in tests
}

// Server serves that API.
type Server struct {
	// Addr is the first member's address, 127.0.0.1:port.
	Addr string
	// Endpoints are the members' addresses when the server began, in order of
	// the members' names; [Server.Addresses] are those of now.
	Endpoints []string

	cfg     Config
	store   backend
	group   group // nil on a bare store
	metrics *metrics.Set
	events  eventCache
	waiters sync.Pool // of *waiter; a channel must not go from one bubble of synctest to another

	mu        sync.Mutex
	frontends []*frontend // in order of joining
	nextPort  int
	listener  func() // told when addresses came or went

	poke      chan struct{}
	closing   chan struct{}
	closeOnce sync.Once
	stop      func()
	running   sync.WaitGroup // every goroutine
}

// Address is where one member is served.
type Address struct {
	Member   string
	ID       uint64
	Addr     string // 127.0.0.1:port, the same as long as the member is in the group
	URL      string // with http:// or https://
	Open     bool   // something listens: the member runs
	Learner  bool
	PeerURLs []string
}

// BareName is the one member that a bare store shows.
const BareName = "mvcc"

// Serve answers etcd's clients until Close, which must come before the store's.
func Serve(store raftstore.Store, cfg Config) (*Server, error) {
	b, ok := store.(backend)
	if !ok {
		return nil, fmt.Errorf("serve etcd's API: a %T does not tell its history", store)
	}
	cfg.complete()
	s := &Server{
		cfg: cfg, store: b, metrics: cfg.Metrics, nextPort: cfg.Port,
		poke: make(chan struct{}, 1), closing: make(chan struct{}), stop: func() {},
	}
	s.waiters.New = newWaiter
	if g, ok := store.(group); ok {
		s.group = g
	}
	if err := s.follow(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, a := range s.Addresses() {
		s.Endpoints = append(s.Endpoints, a.Addr)
	}
	s.Addr = s.Endpoints[0]
	if s.group != nil {
		s.stop = s.group.OnChange(s.wake)
		if m, ok := store.(membership); ok {
			m.OnMembers(s.wake)
		}
		s.begin("follow the members", s.followLoop)
	}
	return s, nil
}

// wake has the loop look whether the group changed.
func (s *Server) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

func (c *Config) complete() {
	if c.Metrics == nil {
		c.Metrics = metrics.New()
	}
	if c.Contain == nil {
		c.Contain = func(_ string, fn func()) { fn() }
	}
	if c.open == nil {
		c.open = net.Listen
	}
	if c.WatchProgressInterval == 0 {
		c.WatchProgressInterval = 10 * time.Minute
	}
	c.WatchProgressInterval = max(c.WatchProgressInterval, 100*time.Millisecond)
	if c.MaxRequestBytes == 0 {
		c.MaxRequestBytes = 1536 * 1024
	}
	if c.MaxTxnOps == 0 {
		c.MaxTxnOps = 128
	}
}

// Close ends every connection and waits for every goroutine.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.stop()
		close(s.closing)
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.running.Wait()
	}()
	for {
		s.mu.Lock()
		frontends := slices.Clone(s.frontends)
		s.mu.Unlock()
		for _, f := range frontends {
			f.close()
		}
		select {
		case <-ended:
			return nil
		case <-time.After(10 * time.Millisecond): // a member that joined just now may have been given its address since
		}
	}
}

// Addresses are where the members are served now, in order of joining.
func (s *Server) Addresses() []Address {
	learners, peers := s.attributes()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Address, len(s.frontends))
	for i, f := range s.frontends {
		list[i] = Address{
			Member: f.member, ID: f.id, Addr: f.addr, URL: s.scheme() + f.addr, Open: f.isOpen(),
			Learner: learners[f.member], PeerURLs: peers[f.member],
		}
	}
	return list
}

// OnAddresses sets a function to call, on any goroutine, after an address came, went,
// opened or closed.
func (s *Server) OnAddresses(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = fn
}

// Metrics are the members' numbers.
func (s *Server) Metrics() *metrics.Set { return s.metrics }

func (s *Server) scheme() string {
	if s.cfg.TLS != nil {
		return "https://"
	}
	return "http://"
}

func (s *Server) frontend(id uint64) *frontend {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.frontends {
		if f.id == id {
			return f
		}
	}
	return nil
}
