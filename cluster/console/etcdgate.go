package console

import (
	"bufio"
	"bytes"
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
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// etcdGate is where an etcdctl of the console comes in. It is a process of its
// own and cannot be given a connection; but gRPC asks the proxy that its
// environment names to connect it with "a:2379", so the gate is such a proxy,
// on loopback, for who knows the command's secret. It hands the connection to
// the store's gRPC address of member a, whose every call passes unary or stream
// here, and through the kernel.
type etcdGate struct {
	c      *Console
	proxy  net.Listener
	server *etcdapi.Server
	done   sync.WaitGroup
	rand   *mathrand.Rand // for lease numbers; kernel's goroutine

	mu      sync.Mutex
	runs    map[string]*etcdRun // by secret
	members map[string]*memberListener
	conns   map[net.Conn]bool // that are not yet a member's
	closed  bool
}

// gate is the console's gate, made when it is first needed.
func (c *Console) gate() (*etcdGate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.etcd != nil {
		return c.etcd, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("etcdctl's way into the cluster: %w", err)
	}
	g := &etcdGate{c: c, proxy: l, runs: map[string]*etcdRun{}, members: map[string]*memberListener{}, conns: map[net.Conn]bool{}}
	g.server, err = c.cfg.Etcd.Serve(etcdapi.Config{
		Listen: g.listen, Do: g.do,
		Unary:  func(member string) grpc.UnaryServerInterceptor { return unaryGate{g, member}.call },
		Stream: func(member string) grpc.StreamServerInterceptor { return streamGate{g, member}.call },
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcdctl's way into the cluster: %w", err), l.Close())
	}
	g.beside("etcdctl's way in", g.accept)
	c.etcd = g
	return g, nil
}

// CloseEtcd ends what etcdctl needed. It comes before the store's own end.
func (c *Console) CloseEtcd() error {
	c.mu.Lock()
	g := c.etcd
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	g.closed = true
	for conn := range g.conns {
		conn.Close()
	}
	for _, d := range g.members { // an address that is just being opened is not the server's to close yet
		_ = d.Close() // always nil
	}
	g.mu.Unlock()
	err := errors.Join(g.proxy.Close(), g.server.Close())
	g.done.Wait()
	return err
}

// enter registers a run; leave ends its connections' right to come in.
func (g *etcdGate) enter(r *etcdRun) (proxy string, leave func(), err error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return "", nil, err
	}
	r.secret = hex.EncodeToString(b)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs[r.secret] = r
	return "http://kviz:" + r.secret + "@" + g.proxy.Addr().String(), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.runs, r.secret)
	}, nil
}

// beside runs fn in a goroutine that CloseEtcd waits for.
func (g *etcdGate) beside(what string, fn func()) {
	g.done.Add(1)
	g.c.cfg.Kernel.Beside(what, func() {
		defer g.done.Done()
		fn()
	})
}

func (g *etcdGate) accept() {
	for {
		conn, err := g.proxy.Accept()
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
func (g *etcdGate) connect(conn net.Conn) error {
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
func (g *etcdGate) listen(member string) (net.Listener, string, error) {
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

// memberListener is the listener of one member.
type memberListener struct {
	member string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (d *memberListener) put(c net.Conn) error {
	select {
	case d.conns <- c:
		return nil
	case <-d.closed:
		return net.ErrClosed
	}
}

// Accept waits for the next connection.
func (d *memberListener) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (d *memberListener) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr is the member's name.
func (d *memberListener) Addr() net.Addr { return memberAddr{d.member, nil} }

// memberAddr is an address at a member; that of a connection's other end says
// whose it is.
type memberAddr struct {
	name string
	run  *etcdRun
}

func (a memberAddr) Network() string { return "kviz" }
func (a memberAddr) String() string  { return a.name }

// runConn is a connection of a run.
type runConn struct {
	net.Conn
	in  *bufio.Reader // has what came behind the CONNECT
	run *etcdRun
}

func (c *runConn) Read(p []byte) (int, error) { return c.in.Read(p) }
func (c *runConn) RemoteAddr() net.Addr       { return memberAddr{"etcdctl", c.run} }

// runOf is whose call it is.
func runOf(ctx context.Context) (*etcdRun, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(memberAddr); ok && a.run != nil {
			return a.run, nil
		}
	}
	return nil, grpcstatus.Error(codes.PermissionDenied, "kviz: this is the console's own way in")
}

// do carries a request to the store, through the kernel.
func (g *etcdGate) do(ctx context.Context, _ string, req *pb.InternalRaftRequest) *raftstore.Result {
	run, err := runOf(ctx)
	if err != nil {
		return &raftstore.Result{Err: err}
	}
	res := &raftstore.Result{Request: req}
	err = run.serve("etcdctl", func(t *sim.Task) { res.Response, res.Err = g.c.cfg.Etcd.Do(t, req) })
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

// note remembers writes to keys that are the API server's.
func (r *etcdRun) note(req *pb.InternalRaftRequest, response any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keysWritten(req, response) {
		if bytes.HasPrefix(key, []byte("/registry/")) {
			r.wrote = append(r.wrote, string(key))
		}
	}
}

// keysWritten are the keys that a request has changed, by what the store answered: a
// transaction carries out one of its branches only, and a delete may find nothing.
func keysWritten(req *pb.InternalRaftRequest, response any) (keys [][]byte) {
	switch {
	case req.Put != nil:
		return [][]byte{req.Put.Key}
	case req.DeleteRange != nil:
		if r, ok := response.(*pb.DeleteRangeResponse); ok && r.GetDeleted() > 0 {
			return [][]byte{req.DeleteRange.Key}
		}
	case req.Txn != nil:
		r, ok := response.(*pb.TxnResponse)
		if !ok {
			return nil
		}
		branch := req.Txn.Failure
		if r.Succeeded {
			branch = req.Txn.Success
		}
		for i, op := range branch[:min(len(branch), len(r.Responses))] {
			inner := &pb.InternalRaftRequest{Put: op.GetRequestPut(), DeleteRange: op.GetRequestDeleteRange(), Txn: op.GetRequestTxn()}
			var answered any
			switch {
			case inner.DeleteRange != nil:
				answered = r.Responses[i].GetResponseDeleteRange()
			case inner.Txn != nil:
				answered = r.Responses[i].GetResponseTxn()
			}
			keys = append(keys, keysWritten(inner, answered)...)
		}
	}
	return keys
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

// unaryGate is around every call of one answer.
type unaryGate struct {
	g      *etcdGate
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
	if grpcstatus.Code(err) == codes.Unavailable {
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
func (g *etcdGate) leaseID() (id int64) {
	// A kernel that has stopped grants nothing.
	_ = g.c.cfg.Kernel.Do(func() {
		if g.rand == nil {
			g.rand = g.c.cfg.Kernel.Rand("etcdctl leases")
		}
		id = g.rand.Int64N(1<<62) + 1
	})
	return id
}

// begin puts the request into the trace and waits, where the member answers
// from what it has itself, until it has what is visible. A member that is down
// lets the command's time pass.
func (r *etcdRun) begin(member, method string, req any) error {
	called := &trace.EtcdCall{Method: strings.TrimPrefix(method, "/etcdserverpb."), Member: member, Key: keyOf(req)}
	up := r.c.cfg.Etcd.Up(member)
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
		r.c.cfg.Etcd.Settle(t, member)
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
	g      *etcdGate
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
