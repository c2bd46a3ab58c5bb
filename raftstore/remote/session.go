package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kviz/raftstore/member"
)

// session is a driver that is connected. There is one at a time: a second one is
// refused as long as the first is there.
type session struct {
	driver string
	from   string
	since  time.Time
	line   *line // roleDrive's; the session ends with it
	gone   chan struct{}

	mu     sync.Mutex
	others []*line // the session's other connections
	ended  bool
	sends  sync.Mutex // replies go one at a time
	asked  map[uint64]context.CancelFunc
}

// driverSilence is after how long a driver that says nothing is taken for gone:
// it says something every second.
const driverSilence = 10 * time.Second

// begin admits a driver. The same driver, on a new connection, takes the place
// of its old one, which broke.
func (p *Process) begin(l *line, driver string) (*session, error) {
	p.mu.Lock()
	old := p.session
	if old != nil && old.driver != driver {
		p.mu.Unlock()
		return nil, fmt.Errorf("member %s is driven by another kviz, at %s since %s", p.cfg.Name, old.from, old.since.Format(time.TimeOnly))
	}
	s := &session{
		driver: driver, from: l.RemoteAddr().String(), since: time.Now(), line: l,
		gone: make(chan struct{}), asked: map[uint64]context.CancelFunc{},
	}
	p.session = s
	p.mu.Unlock()
	if old != nil {
		old.end()
	}
	return s, nil
}

// end lets the member go on by itself.
func (p *Process) end(s *session) {
	s.end()
	p.mu.Lock()
	last := p.session == s
	if last {
		p.session = nil
	}
	p.mu.Unlock()
	if !last {
		return
	}
	p.holdAll(false)
	p.dropSeed(nil)
	// Nobody carries any more what the other candidate's process knows.
	_, _ = p.arrange(context.Background(), nil)
	p.logf("member %s: the driver at %s is gone", p.cfg.Name, s.from)
}

// attach makes a connection end with the session.
func (s *session) attach(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.others = append(s.others, l)
	return true
}

func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	close(s.gone)
	s.line.Close()
	for _, l := range s.others {
		l.Close()
	}
	for _, cancel := range s.asked {
		cancel()
	}
}

// drive takes the driver's orders until it goes away.
func (p *Process) drive(s *session, l *line) {
	defer p.end(s)
	p.logf("member %s: driven by the kviz at %s", p.cfg.Name, s.from)
	for {
		var o order
		_ = l.SetReadDeadline(time.Now().Add(driverSilence))
		if err := l.receive(&o, maxFrame); err != nil {
			return
		}
		switch o.Verb {
		case verbPing:
		case verbCancel:
			s.mu.Lock()
			if cancel := s.asked[o.ID]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		default:
			ctx, ok := s.ask(o.ID)
			if !ok {
				return
			}
			p.spawn("order "+o.Verb, func() {
				s.answer(o.ID, p.obey(ctx, &o))
			})
		}
	}
}

// ask begins an order.
func (s *session) ask(id uint64) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.asked[id] = cancel
	return ctx, true
}

func (s *session) answer(id uint64, r *reply) {
	s.mu.Lock()
	if cancel := s.asked[id]; cancel != nil {
		cancel()
		delete(s.asked, id)
	}
	s.mu.Unlock()
	s.sends.Lock()
	defer s.sends.Unlock()
	r.ID = id
	// A broken connection shows where it is read.
	if err := s.line.send(r); errors.Is(err, errFrame) {
		_ = s.line.send(&reply{ID: id, Failure: failureOf(err)})
	}
}

// obey carries out an order.
func (p *Process) obey(ctx context.Context, o *order) *reply {
	v := verbs[o.Verb]
	if v == nil {
		return &reply{Failure: failureOf(fmt.Errorf("member %s knows no order %q", p.cfg.Name, o.Verb))}
	}
	result, err := v(p, ctx, o.Args)
	if err != nil {
		return &reply{Failure: failureOf(err)}
	}
	return &reply{Result: result}
}

// propose takes the driver's proposals. It waits where raft's queue is full, and
// so the connection does, and the driver.
func (p *Process) propose(s *session, l *line) {
	if !s.attach(l) {
		return
	}
	var (
		leads *member.Reader
		last  *member.Member
	)
	for {
		var batch []proposal
		if err := l.receive(&batch, maxFrame); err != nil {
			return
		}
		for _, o := range batch {
			m := p.current()
			if m == nil {
				continue
			}
			if leads == nil || m != last || leads.Term() != o.Term {
				leads, last = m.Leader(), m
			}
			// Who is not the leader of that term any more loses the proposal; the
			// driver gives it to the next leader.
			if leads == nil || leads.Term() != o.Term || !leads.Propose(o.Data, o.Ticket) {
				leads = nil
			}
		}
	}
}
