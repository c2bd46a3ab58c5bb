package etcdapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// splitter takes a port's connections and gives those that speak HTTP/2 to
// gRPC, the others to the plain HTTP server: by ALPN where there is TLS, else by
// the first bytes.
type splitter struct {
	tls  *tls.Config // nil: plain TCP
	grpc *queue
	http *queue

	mu      sync.Mutex
	pending map[net.Conn]struct{} // whose first bytes are not there yet
	closed  bool
	running sync.WaitGroup
}

// firstBytes is how long a client may take to say what it speaks.
const firstBytes = 10 * time.Second

func newSplitter(cfg *tls.Config, addr net.Addr) *splitter {
	return &splitter{tls: cfg, grpc: newQueue(addr), http: newQueue(addr), pending: map[net.Conn]struct{}{}}
}

// accept takes connections until the listener is closed.
func (s *splitter) accept(l net.Listener) {
	defer s.running.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(5 * time.Millisecond) // too many files are open; it may get better
			continue
		}
		s.running.Go(func() { s.sort(conn) })
	}
}

func (s *splitter) sort(conn net.Conn) {
	if !s.remember(conn) {
		_ = conn.Close()
		return
	}
	spoken, grpc, err := s.recognise(conn)
	s.forget(conn)
	if err != nil {
		_ = conn.Close() // there is no answer to send: it speaks neither
		return
	}
	to := s.http
	if grpc {
		to = s.grpc
	}
	to.put(spoken)
}

func (s *splitter) recognise(conn net.Conn) (spoken net.Conn, grpc bool, err error) {
	deadline := time.Now().Add(firstBytes)
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, false, err
	}
	if s.tls != nil {
		secure := tls.Server(conn, s.tls)
		if err := secure.Handshake(); err != nil {
			return nil, false, err
		}
		return secure, secure.ConnectionState().NegotiatedProtocol == "h2", conn.SetDeadline(time.Time{})
	}
	// HTTP/2 begins with "PRI * HTTP/2.0"; no method of HTTP/1.1 is called PRI.
	var first [3]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return nil, false, err
	}
	return &begun{Conn: conn, first: first[:]}, string(first[:]) == "PRI", conn.SetDeadline(time.Time{})
}

// remember notes a connection that is being sorted, so that close ends it.
func (s *splitter) remember(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.pending[conn] = struct{}{}
	}
	return !s.closed
}

func (s *splitter) forget(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, conn)
}

func (s *splitter) close() {
	s.mu.Lock()
	s.closed = true
	for conn := range s.pending {
		_ = conn.Close() // that it was closed before is as well
	}
	s.mu.Unlock()
	_ = s.grpc.Close()
	_ = s.http.Close()
}

// begun is a connection whose first bytes have already been read.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// queue is a listener whose connections are put in.
type queue struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newQueue(addr net.Addr) *queue {
	return &queue{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *queue) put(conn net.Conn) {
	select {
	case q.conns <- conn:
	case <-q.closed:
		_ = conn.Close()
	}
}

// Accept waits for a connection.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the queue.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr is the port's.
func (q *queue) Addr() net.Addr { return q.addr }

// greeted is gRPC's view of connections whose handshake is over.
type greeted struct{}

var errServerOnly = errors.New("these credentials are for servers")

func (greeted) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errServerOnly
}

func (greeted) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return conn, nil, nil
	}
	info := credentials.TLSInfo{State: secure.ConnectionState()}
	info.SecurityLevel = credentials.PrivacyAndIntegrity
	return conn, info, nil
}

func (greeted) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (g greeted) Clone() credentials.TransportCredentials { return g }
func (greeted) OverrideServerName(string) error           { return errServerOnly }
