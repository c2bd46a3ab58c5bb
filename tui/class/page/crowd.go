package page

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// strangers is how many connections may be open that hear of no changes. A whole class may come from one address, so it is one
// address's too.
const strangers = 100

// sendBuffer is how much the system keeps for a browser that does not read: beyond it a write waits, and is given up.
const sendBuffer = 64 << 10

// crowd is a listener whose connections are bounded. Where there are too many, the oldest makes room of those from the address
// with the most: a flood so costs the one who makes it.
type crowd struct {
	net.Listener
	mu   sync.Mutex
	open map[*guest]struct{}
}

func newCrowd(l net.Listener) *crowd { return &crowd{Listener: l, open: map[*guest]struct{}{}} }

// guest is one connection.
type guest struct {
	net.Conn
	of     *crowd
	addr   string // without the port
	since  time.Time
	seated atomic.Bool // it hears of changes; those are bounded by their number
}

// guestKey is where the context of a request keeps its guest.
type guestKey struct{}

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	g := &guest{Conn: conn, of: c, addr: host(conn.RemoteAddr().String()), since: time.Now()}
	c.mu.Lock()
	c.open[g] = struct{}{}
	oldest := c.tooMany()
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return g, nil
}

// Close implements [net.Conn].
func (g *guest) Close() error {
	g.of.mu.Lock()
	delete(g.of.open, g)
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// tooMany is the connection that makes room for the others, or nil.
func (c *crowd) tooMany() *guest {
	from, all := map[string][]*guest{}, 0
	for g := range c.open {
		if !g.seated.Load() {
			from[g.addr] = append(from[g.addr], g)
			all++
		}
	}
	if all <= strangers {
		return nil
	}
	var most []*guest
	for _, of := range from {
		if len(of) > len(most) {
			most = of
		}
	}
	return slices.MinFunc(most, func(a, b *guest) int { return a.since.Compare(b.since) })
}

// host is an address without its port.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}
