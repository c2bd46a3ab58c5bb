package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"kviz/raftstore/wire"
)

// Who connects to a member's process: whether that is welcome, and what it is for.

// accept takes connections until the process ends.
func (p *Process) accept() {
	config := p.cfg.Credentials.server()
	for {
		c, err := p.listener.Accept()
		if err != nil {
			if p.ctx.Err() == nil {
				err = fmt.Errorf("listen on %s: %w", p.Addr(), err)
				p.failed.Store(&err)
				p.stop()
			}
			return
		}
		l := &line{Conn: tls.Server(c, config)}
		if !p.keep(l) {
			l.Close()
			return
		}
		p.spawn("connection", func() {
			defer p.drop(l)
			p.serve(l)
		})
	}
}

func (p *Process) keep(l *line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.lines[l] = ""
	return true
}

func (p *Process) drop(l *line) {
	l.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lines, l)
}

// serve finds out what a connection is for and serves it to its end.
func (p *Process) serve(l *line) {
	var s *session
	h, from, err := l.accept(p.cfg.Name, func(h *hello, from string, driver bool) (err error) {
		s, err = p.admit(l, h, from, driver)
		return err
	})
	if err != nil {
		if h.Role == roleDrive && s != nil {
			p.end(s)
		}
		if from != "" {
			p.logf("member %s: %s at %v turned away: %v", p.cfg.Name, from, l.RemoteAddr(), err)
		} else {
			p.logf("member %s: %v turned away: %v", p.cfg.Name, l.RemoteAddr(), err)
		}
		return
	}
	switch h.Role {
	case roleRaft:
		p.serveRaft(l, from)
	case roleWatch:
		p.serveWatch(l)
	case roleDrive:
		p.drive(s, l)
	case roleFollow:
		p.follow(s, l, h.From)
	case rolePropose:
		p.propose(s, l)
	}
}

// admit says whether a connection is welcome.
func (p *Process) admit(l *line, h *hello, from string, driver bool) (*session, error) {
	switch h.Role {
	case roleRaft, roleWatch:
		if driver {
			return nil, errors.New("a driver does not speak for a member")
		}
		return nil, p.admitMember(l, h, from)
	case roleDrive, roleFollow, rolePropose:
		if !driver {
			return nil, errors.New("this needs a driver's certificate")
		}
		if h.Driver == "" {
			return nil, errors.New("a driver without a name")
		}
	default:
		return nil, fmt.Errorf("a connection for %q is not known here", h.Role)
	}
	if h.Role == roleDrive {
		return p.begin(l, h.Driver)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil || p.session.driver != h.Driver {
		return nil, errors.New("another driver has taken over")
	}
	return p.session, nil
}

// admitMember says whether another member's connection is welcome.
func (p *Process) admitMember(l *line, h *hello, from string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch mine := p.cluster(); {
	case slices.Contains(p.memory.Gone, from):
		return fmt.Errorf("member %s was taken out of the group", from)
	case h.Cluster != 0 && mine != 0 && h.Cluster != mine:
		return fmt.Errorf("member %s is of cluster %x, this one of %x", from, h.Cluster, mine)
	}
	p.lines[l] = from
	return nil
}

// cluster is the ID of the cluster that the member belongs to, 0 while it belongs to
// none. Call with mu held.
func (p *Process) cluster() uint64 {
	if p.member == nil {
		return 0
	}
	return p.memory.cluster()
}

// hello is the first frame to another member.
func (p *Process) hello(r role, to string) hello {
	p.mu.Lock()
	defer p.mu.Unlock()
	return hello{Role: r, To: to, Cluster: p.cluster()}
}

// serveRaft answers another member's requests, one after another.
func (p *Process) serveRaft(l *line, from string) {
	for {
		var r rpc
		if err := l.receive(&r, maxFrame); err != nil {
			return
		}
		command, err := r.command()
		if err == nil && (r.Message.From != from || r.Message.To != p.cfg.Name) {
			err = fmt.Errorf("a request from %s to %s on a connection of %s", r.Message.From, r.Message.To, from)
		}
		if err != nil {
			p.logf("member %s: %v", p.cfg.Name, err)
			return
		}
		var contents *body
		var reader io.Reader
		if r.Snapshot != nil {
			contents = &body{l: l}
			reader = contents
		}
		resp, err := p.network.Receive(r.Message, r.News, command, reader)
		if errors.Is(err, wire.ErrLost) {
			return // the sender waits until the member is back
		}
		if contents != nil && contents.finish() != nil {
			return
		}
		if l.send(newAnswer(resp, err)) != nil {
			return
		}
	}
}

// serveWatch tells another member of this one's health.
func (p *Process) serveWatch(l *line) {
	gone := make(chan struct{})
	p.spawn("end of a watch", func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, l)
	})
	defer func() { l.Close(); <-gone }()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		h, changed := p.health()
		if l.send(&h) != nil {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-gone:
			return
		case <-p.ctx.Done():
			return
		}
	}
}
