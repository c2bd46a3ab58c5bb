package door_test

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// network is one in memory, for bubbles: a socket would stop their time.
type network struct {
	calls chan net.Conn
	once  sync.Once
	ended chan struct{}
	addr  net.Addr
}

func newNetwork() *network {
	return &network{calls: make(chan net.Conn), ended: make(chan struct{}), addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2222}}
}

func (n *network) Addr() net.Addr { return n.addr }
func (n *network) Close() error   { n.once.Do(func() { close(n.ended) }); return nil }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.calls:
		return c, nil
	case <-n.ended:
		return nil, net.ErrClosed
	}
}

// dial connects from an address.
func (n *network) dial(from string) (net.Conn, error) {
	a, b := newLane(), newLane()
	ours := &wire{in: a, out: b, remote: n.addr}
	theirs := &wire{in: b, out: a, remote: &net.TCPAddr{IP: net.ParseIP(from), Port: 40000}}
	select {
	case n.calls <- theirs:
		return ours, nil
	case <-n.ended:
		return nil, net.ErrClosed
	}
}

// wire is one end of a connection.
type wire struct {
	in, out *lane
	remote  net.Addr
}

func (w *wire) Read(p []byte) (int, error)  { return w.in.read(p) }
func (w *wire) Write(p []byte) (int, error) { return w.out.write(p) }
func (w *wire) CloseWrite() error           { w.out.finish(); return nil }
func (w *wire) LocalAddr() net.Addr         { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr        { return w.remote }

func (w *wire) Close() error {
	w.in.break_()
	w.out.break_()
	return nil
}

func (w *wire) SetDeadline(t time.Time) error {
	w.in.until(&w.in.reading, t)
	w.out.until(&w.out.writing, t)
	return nil
}
func (w *wire) SetReadDeadline(t time.Time) error  { w.in.until(&w.in.reading, t); return nil }
func (w *wire) SetWriteDeadline(t time.Time) error { w.out.until(&w.out.writing, t); return nil }

// lane is one direction, with as much room as a small socket buffer.
type lane struct {
	mu       sync.Mutex
	changed  *sync.Cond
	held     []byte
	finished bool // by the writer
	broken   bool
	reading  deadline
	writing  deadline
}

// deadline is that of one end.
type deadline struct {
	passed bool
	timer  *time.Timer
}

const laneRoom = 32 << 10

func newLane() *lane {
	l := &lane{}
	l.changed = sync.NewCond(&l.mu)
	return l
}

func (l *lane) read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case len(l.held) > 0:
			n := copy(p, l.held)
			l.held = l.held[n:]
			l.changed.Broadcast()
			return n, nil
		case l.finished || l.broken:
			return 0, io.EOF
		}
		l.changed.Wait()
	}
}

func (l *lane) write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := 0; ; l.changed.Wait() {
		switch {
		case l.writing.passed:
			return n, os.ErrDeadlineExceeded
		case l.broken || l.finished:
			return n, io.ErrClosedPipe
		}
		k := min(len(p)-n, laneRoom-len(l.held))
		l.held = append(l.held, p[n:n+k]...)
		l.changed.Broadcast()
		if n += k; n == len(p) {
			return n, nil
		}
	}
}

func (l *lane) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.changed.Broadcast()
}

func (l *lane) finish() { l.set(func() { l.finished = true }) }
func (l *lane) break_() { l.set(func() { l.broken = true }) }

func (l *lane) until(d *deadline, t time.Time) {
	l.set(func() {
		if d.timer != nil {
			d.timer.Stop()
		}
		if d.passed = false; !t.IsZero() {
			d.timer = time.AfterFunc(time.Until(t), func() { l.set(func() { d.passed = true }) })
		}
	})
}
