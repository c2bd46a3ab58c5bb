package rehearsal

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Line is a student's end of a connection, as lines are: it may be slow, and a student may stop reading.
type Line struct {
	net.Conn
	rate   atomic.Int64 // bytes a second; 0: as they come
	newest atomic.Int64 // when the newest bytes arrived, in nanoseconds
	deaf   chan struct{}
	closed chan struct{}
	stop   sync.Once
	end    sync.Once
}

// NewLine makes a line of a connection.
func NewLine(conn net.Conn) *Line {
	return &Line{Conn: conn, deaf: make(chan struct{}), closed: make(chan struct{})}
}

// Slow has the line carry so many bytes a second from now on.
func (l *Line) Slow(bytesPerSecond int) { l.rate.Store(int64(bytesPerSecond)) }

// Deafen has nothing be read any more: what is sent fills the buffers on the way.
func (l *Line) Deafen() { l.stop.Do(func() { close(l.deaf) }) }

// Arrived is when the newest bytes arrived.
func (l *Line) Arrived() time.Time { return time.Unix(0, l.newest.Load()) }

// share is into how many pieces a second a slow line cuts what it carries.
const share = 10

// Read implements [net.Conn].
func (l *Line) Read(p []byte) (int, error) {
	select {
	case <-l.deaf:
		<-l.closed
		return 0, io.EOF
	default:
	}
	if rate := int(l.rate.Load()); rate > 0 {
		p = p[:min(len(p), max(rate/share, 1))]
		pause := time.NewTimer(time.Second / share)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-l.closed:
			return 0, io.EOF
		}
	}
	n, err := l.Conn.Read(p)
	l.newest.Store(time.Now().UnixNano())
	return n, err
}

// Close implements [net.Conn].
func (l *Line) Close() error {
	l.end.Do(func() { close(l.closed) })
	return l.Conn.Close()
}
