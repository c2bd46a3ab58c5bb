package remote

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/wire"
)

// peer is another member as this process reaches it. While it runs and can be
// reached it has an endpoint on this process's network.
//
// Requests go on connections of their own, one at a time on each, so that an
// append that waits for a slow disk, or a snapshot, keeps no heartbeat waiting. If
// one breaks, all of them and the endpoint go, and what was under way waits, as
// for a member that went down.
type peer struct {
	p    *Process
	name string
	stop context.CancelFunc // it is no member any more

	mu       sync.Mutex
	addr     string
	moved    chan struct{} // closed when the address changed
	watch    *line
	endpoint *wire.Endpoint
	started  uint64 // the incarnation that the endpoint is of
	idle     []*line
	lines    map[*line]bool
	room     chan struct{} // closed when its full disk has room again; nil when it is not full
	closed   bool
}

const maxIdle = 4

// run keeps up the connection that tells of the peer's health.
func (r *peer) run(ctx context.Context) {
	for pause := 20 * time.Millisecond; ctx.Err() == nil; {
		r.mu.Lock()
		addr, moved := r.addr, r.moved
		r.mu.Unlock()
		began := time.Now()
		if addr != "" {
			r.attend(ctx, addr)
		}
		if time.Since(began) > watchEvery {
			pause = 20 * time.Millisecond
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-moved:
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, time.Second)
	}
	r.leave(true)
}

// attend listens to the peer until it falls silent.
func (r *peer) attend(ctx context.Context, addr string) {
	l, _, err := dial(ctx, r.p.cfg.Credentials, addr, r.p.hello(roleWatch, r.name))
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	r.mu.Lock()
	r.watch = l
	r.mu.Unlock()
	defer r.leave(false)
	for {
		var h health
		_ = l.SetReadDeadline(time.Now().Add(watchSilence))
		if err := l.receive(&h, maxHello); err != nil {
			return
		}
		r.note(h)
	}
}

// note takes in what the peer says of itself.
func (r *peer) note(h health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case h.Full && r.room == nil:
		r.room = make(chan struct{})
	case !h.Full && r.room != nil:
		close(r.room)
		r.room = nil
	}
	if r.endpoint != nil && r.started != h.Incarnation {
		r.detach()
	}
	if r.endpoint == nil && h.Incarnation != 0 && !r.closed {
		r.started = h.Incarnation
		e := r.p.network.AttachRemote(r.name, func(e *wire.Endpoint, m wire.Message, news bool, call raft.RPC) {
			r.p.spawn("request to "+r.name, func() { r.ask(e, m, news, call) })
		})
		e.SetRoom(r.hasRoom)
		r.endpoint = e
	}
}

func (r *peer) hasRoom() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.room
}

// detach ends what is under way to an incarnation that is gone. Call with mu held.
func (r *peer) detach() {
	r.endpoint.Close()
	r.endpoint = nil
	for l := range r.lines {
		l.Close()
	}
	r.lines, r.idle = map[*line]bool{}, nil
}

// leave takes the peer off the network until it is heard of again.
func (r *peer) leave(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = r.closed || closed
	r.watch = nil
	if r.endpoint != nil {
		r.detach()
	}
}

// broken is called when a request to an incarnation got lost on the way.
func (r *peer) broken(e *wire.Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endpoint != e {
		return
	}
	r.detach()
	if r.watch != nil {
		r.watch.Close()
	}
}

// move gives the peer another address.
func (r *peer) move(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.addr == addr {
		return
	}
	r.addr = addr
	close(r.moved)
	r.moved = make(chan struct{})
	if r.watch != nil {
		r.watch.Close()
	}
}

// ask sends a request and hands its answer to raft.
func (r *peer) ask(e *wire.Endpoint, m wire.Message, news bool, call raft.RPC) {
	resp, err := r.exchange(e, m, news, call)
	if err != nil {
		if !errors.Is(err, errBody) {
			r.broken(e) // wire sees to the call
			return
		}
		call.Respond(nil, err)
		return
	}
	if resp.Error != "" {
		call.Respond(nil, errors.New(resp.Error))
		return
	}
	call.Respond(resp.value(), nil)
}

// errBody is wrapped by the failure to read what a request should carry.
var errBody = errors.New("the snapshot cannot be read")

func (r *peer) exchange(e *wire.Endpoint, m wire.Message, news bool, call raft.RPC) (*answer, error) {
	l, err := r.take(e)
	if err != nil {
		return nil, err
	}
	resp := &answer{}
	err = l.send(newRPC(m, news, call.Command))
	if err == nil && call.Reader != nil {
		err = l.sendBody(call.Reader)
	}
	if err == nil {
		err = l.receive(resp, maxFrame)
	}
	r.giveBack(l, err == nil)
	return resp, err
}

// take is a connection for one request to an incarnation.
func (r *peer) take(e *wire.Endpoint) (*line, error) {
	r.mu.Lock()
	if r.endpoint != e {
		r.mu.Unlock()
		return nil, wire.ErrLost
	}
	if n := len(r.idle); n > 0 {
		l := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return l, nil
	}
	addr := r.addr
	r.mu.Unlock()
	l, _, err := dial(r.p.ctx, r.p.cfg.Credentials, addr, r.p.hello(roleRaft, r.name))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endpoint != e {
		l.Close()
		return nil, wire.ErrLost
	}
	r.lines[l] = true
	return l, nil
}

func (r *peer) giveBack(l *line, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if whole && r.lines[l] && len(r.idle) < maxIdle {
		r.idle = append(r.idle, l)
		return
	}
	delete(r.lines, l)
	l.Close()
}

// sendBody sends a snapshot's contents: chunks, of which the last is empty.
func (l *line) sendBody(body io.Reader) error {
	chunk := make([]byte, bodyChunk)
	for {
		n, err := io.ReadFull(body, chunk)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return errors.Join(errBody, err)
		}
		part := chunk[:n]
		if sendErr := l.send(&part); sendErr != nil || n == 0 {
			return sendErr
		}
	}
}

const bodyChunk = 256 << 10

// body reads what sendBody sent.
type body struct {
	l    *line
	rest []byte
	err  error
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		b.rest = nil
		if b.err = b.l.receive(&b.rest, 2*bodyChunk); b.err == nil && len(b.rest) == 0 {
			b.err = io.EOF
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// finish reads what nobody wanted, so that the connection can be used again.
func (b *body) finish() error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	return nil
}
