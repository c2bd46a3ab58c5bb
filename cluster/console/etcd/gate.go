package etcd

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// gate is where an etcdctl of the console comes in. It is a process of its
// own and cannot be given a connection; but gRPC asks the proxy that its
// environment names to connect it with "a:2379", so the gate is such a proxy,
// on loopback, for whoever knows the command's secret. It hands the connection to
// the store's gRPC address of member a, whose every call passes unary or stream
// here, and through the kernel. The proxy listens while an etcdctl runs, and no longer.
type gate struct {
	kernel *command.Kernel
	store  Store
	server *etcdapi.Server
	done   sync.WaitGroup
	rand   *mathrand.Rand // for lease numbers; kernel's goroutine

	mu      sync.Mutex
	proxy   net.Listener    // while there are runs
	runs    map[string]*run // by secret
	members map[string]*memberListener
	conns   map[net.Conn]bool // that are not yet a member's
	closed  bool
}

// comeIn is the gate, made when it is first needed.
func (c *Clients) comeIn(k *command.Kernel) (*gate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil {
		return c.gate, nil
	}
	g := &gate{kernel: k, store: c.store, runs: map[string]*run{}, members: map[string]*memberListener{}, conns: map[net.Conn]bool{}}
	var err error
	g.server, err = c.store.Serve(etcdapi.Config{
		Listen: g.listen, Do: g.do,
		Unary:  func(member string) grpc.UnaryServerInterceptor { return unaryGate{g, member}.call },
		Stream: func(member string) grpc.StreamServerInterceptor { return streamGate{g, member}.call },
	})
	if err != nil {
		return nil, fmt.Errorf("etcdctl's way into the cluster: %w", err)
	}
	c.gate = g
	return g, nil
}

// Close ends what etcdctl needed. It comes before the store's own end.
func (c *Clients) Close() error {
	c.mu.Lock()
	g := c.gate
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	g.closed = true
	var err error
	if g.proxy != nil {
		err = g.proxy.Close()
		g.proxy = nil
	}
	for conn := range g.conns {
		conn.Close()
	}
	for _, d := range g.members { // an address that is just being opened is not the server's to close yet
		_ = d.Close() // always nil
	}
	g.mu.Unlock()
	err = errors.Join(err, g.server.Close())
	g.done.Wait()
	return err
}

// enter registers a run; leave ends its connections' right to come in.
func (g *gate) enter(r *run) (proxy string, leave func(), err error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return "", nil, err
	}
	r.secret = hex.EncodeToString(b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.open(); err != nil {
		return "", nil, fmt.Errorf("etcdctl's way into the cluster: %w", err)
	}
	g.runs[r.secret] = r
	return "http://kviz:" + r.secret + "@" + g.proxy.Addr().String(), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.runs, r.secret)
		if len(g.runs) == 0 && g.proxy != nil {
			_ = g.proxy.Close() // nobody comes in any more
			g.proxy = nil
		}
	}, nil
}

// open has the proxy listen. The gate's lock is held.
func (g *gate) open() error {
	if g.closed {
		return net.ErrClosed
	}
	if g.proxy != nil {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.proxy = l
	g.beside("etcdctl's way in", func() { g.accept(l) })
	return nil
}

// beside runs fn in a goroutine that Close waits for.
func (g *gate) beside(what string, fn func()) {
	g.done.Add(1)
	g.kernel.Beside(what, func() {
		defer g.done.Done()
		fn()
	})
}

func (g *gate) accept(proxy net.Listener) {
	for {
		conn, err := proxy.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			conn.Close()
			return
		}
		g.conns[conn] = true
		g.mu.Unlock()
		g.beside("an etcdctl comes in", func() {
			if err := g.connect(conn); err != nil {
				conn.Close()
			}
			g.mu.Lock()
			delete(g.conns, conn)
			g.mu.Unlock()
		})
	}
}

// connect reads "CONNECT a:2379" and makes the connection member a's.
func (g *gate) connect(conn net.Conn) error {
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	user, secret := "", ""
	if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(req.Header.Get("Proxy-Authorization"), "Basic ")); err == nil {
		user, secret, _ = strings.Cut(string(b), ":")
	}
	g.mu.Lock()
	run := g.runs[secret]
	g.mu.Unlock()
	if req.Method != http.MethodConnect || user != "kviz" || run == nil {
		_, err := fmt.Fprint(conn, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		return errors.Join(errors.New("somebody else"), err)
	}
	g.mu.Lock()
	l := g.members[strings.TrimSuffix(req.Host, ":2379")]
	g.mu.Unlock()
	if l == nil {
		_, err := fmt.Fprint(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return errors.Join(errors.New("no such member"), err)
	}
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return err
	}
	return l.put(&runConn{Conn: conn, in: in, run: run})
}

// listen gives a member its listener: etcdctl knows it as http://a:2379.
func (g *gate) listen(member string) (net.Listener, string, error) {
	d := &memberListener{member: member, conns: make(chan net.Conn), closed: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed { // a member that comes up while all ends
		return nil, "", net.ErrClosed
	}
	if old := g.members[member]; old != nil {
		_ = old.Close() // always nil
	}
	g.members[member] = d
	return d, member + ":2379", nil
}

// do carries a request to the store, through the kernel.
func (g *gate) do(ctx context.Context, _ string, req *pb.InternalRaftRequest) *raftstore.Result {
	run, err := runOf(ctx)
	if err != nil {
		return &raftstore.Result{Err: err}
	}
	res := &raftstore.Result{Request: req}
	err = run.serve("etcdctl", func(t *sim.Task) { res.Response, res.Err = g.store.Do(t, req) })
	if err != nil {
		return &raftstore.Result{Err: asGRPC(err)}
	}
	if res.Err != nil {
		return &raftstore.Result{Err: asGRPC(res.Err)}
	}
	if h := raftstore.HeaderOf(res.Response); h != nil {
		res.Revision = h.Revision
	}
	run.note(req, res.Response)
	return res
}

// asGRPC is an error as it goes over the wire.
func asGRPC(err error) error {
	var known rpctypes.EtcdError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return grpcstatus.Error(known.Code(), known.Error())
	}
	if _, ok := grpcstatus.FromError(err); ok {
		return err
	}
	return grpcstatus.Error(codes.Unknown, err.Error())
}
