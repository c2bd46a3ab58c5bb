package etcd

import (
	"bufio"
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
)

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
	run  *run
}

func (a memberAddr) Network() string { return "kviz" }
func (a memberAddr) String() string  { return a.name }

// runConn is a connection of a run.
type runConn struct {
	net.Conn
	in  *bufio.Reader // has what came behind the CONNECT
	run *run
}

func (c *runConn) Read(p []byte) (int, error) { return c.in.Read(p) }
func (c *runConn) RemoteAddr() net.Addr       { return memberAddr{"etcdctl", c.run} }

// runOf is whose call it is.
func runOf(ctx context.Context) (*run, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(memberAddr); ok && a.run != nil {
			return a.run, nil
		}
	}
	return nil, grpcstatus.Error(codes.PermissionDenied, "kviz: this is the console's own way in")
}
