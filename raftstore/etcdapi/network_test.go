package etcdapi_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// network is the test's own: its connections are in memory, so that what waits for them
// waits where a bubble sees it.
type network struct {
	mu    sync.Mutex
	last  int // the last port that was free
	ports map[string]*bufconn.Listener
}

// machine is the network of the machine, for tests in real time.
var machine *network

func newNetwork() *network { return &network{last: 20_000, ports: map[string]*bufconn.Listener{}} }

func (n *network) listen(kind, address string) (net.Listener, error) {
	if n == machine {
		return net.Listen(kind, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if number == 0 {
		n.last++
		number = n.last
	}
	p := &openPort{Listener: bufconn.Listen(64 << 10), on: n, addr: &net.TCPAddr{IP: net.ParseIP(host), Port: number}}
	if n.ports[p.addr.String()] != nil {
		return nil, &net.OpError{Op: "listen", Net: kind, Addr: p.addr, Err: syscall.EADDRINUSE}
	}
	n.ports[p.addr.String()] = p.Listener
	return p, nil
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	if n == machine {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	n.mu.Lock()
	l := n.ports[address]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return l.DialContext(ctx)
}

func (n *network) dialTCP(ctx context.Context, _, address string) (net.Conn, error) {
	return n.dial(ctx, address)
}

func (n *network) connect(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(n.dial))
}

type openPort struct {
	*bufconn.Listener
	on   *network
	addr *net.TCPAddr
}

func (p *openPort) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, net.ErrClosed // the only way in which it ends
	}
	return c, nil
}

func (p *openPort) Close() error {
	p.on.mu.Lock()
	delete(p.on.ports, p.addr.String())
	p.on.mu.Unlock()
	return p.Listener.Close()
}

func (p *openPort) Addr() net.Addr { return p.addr }
