package remote

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/member"
)

// Member is a member in another process, as its driver has it: it has the methods
// of member.Member. While there is no connection to its process it is down.
type Member struct {
	g     *Group
	id    string
	copy  *member.Mirror
	first *caller // made by Open
	about about   // what it said then

	slow atomic.Int64 // the faults that shall be, also after its process restarted
	full atomic.Bool

	noRoom atomic.Bool // its disk is full, and not on purpose
	pace   atomic.Int64

	up     atomic.Bool
	ready  chan struct{} // closed when the first standing has come
	lost   chan struct{} // closed when the first connection broke
	once   sync.Once
	unlost sync.Once

	mu       sync.Mutex
	addr     string
	c        *caller // nil while there is no connection
	greeted  bool    // it has told how things stand since the connection was made
	now      *standing
	at       time.Time // when now came
	why      string    // there is no connection
	outbox   *outbox
	emitting sync.Mutex // keeps the order of events
	applying sync.Mutex // held while the copy is brought forward
}

// about is the answer to a driver's first question.
type about struct {
	Now      standing
	Peers    map[string]string
	Cluster  uint64 // that it belongs to, 0 for none
	Prepared uint64 // that its new disk is for, 0 if it has none
}

func (g *Group) newMember(id, addr string) *Member {
	m := &Member{
		g: g, id: id, addr: addr, why: "there is no connection to its process yet",
		ready: make(chan struct{}), lost: make(chan struct{}),
	}
	m.copy = member.NewMirror(member.Config{ID: id, Requests: g.cfg.Requests, Limits: g.cfg.Limits})
	return m
}

// run keeps up the connections to the process until the group is closed.
func (m *Member) run(c *caller) {
	pause := 20 * time.Millisecond
	for m.g.ctx.Err() == nil {
		var err error
		if c == nil {
			f := m.g.again(m)
			c, err = f.c, f.err
		}
		if err == nil {
			began := time.Now()
			err = m.attend(c)
			m.gone(err)
			if time.Since(began) > time.Second {
				pause = 20 * time.Millisecond
			}
		} else {
			m.mu.Lock()
			m.why = noConnection(m.id, err).Error()
			m.mu.Unlock()
		}
		m.unlost.Do(func() { close(m.lost) })
		if errors.Is(err, errDismissed) {
			return
		}
		c = nil
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-m.g.ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// again connects to the process once more.
func (g *Group) again(m *Member) (f found) {
	l, name, err := dial(g.ctx, g.cfg.Credentials, m.Addr(), hello{Role: roleDrive, To: m.id, Driver: g.driver})
	if err != nil {
		return found{err: err}
	}
	f.c = newCaller(l)
	g.cfg.Go("replies from "+name, f.c.listen)
	g.cfg.Go("ping "+name, f.c.ping)
	ctx, cancel := context.WithTimeout(g.ctx, openTimeout)
	defer cancel()
	if f.about, f.err = call[none, about](ctx, f.c, verbAbout, none{}); f.err != nil {
		f.c.fail(f.err)
	}
	return f
}

// attend listens to the member until the connection breaks.
func (m *Member) attend(c *caller) error {
	defer c.fail(errNoConnection)
	stop := context.AfterFunc(m.g.ctx, func() { c.fail(context.Canceled) })
	defer stop()
	if err := m.prepare(c); err != nil {
		return err
	}
	h := hello{Role: rolePropose, To: m.id, Driver: m.g.driver}
	proposals, _, err := dial(m.g.ctx, m.g.cfg.Credentials, m.Addr(), h)
	if err != nil {
		return err
	}
	defer proposals.Close()
	h.Role, h.From = roleFollow, m.copy.Index()
	stream, _, err := dial(m.g.ctx, m.g.cfg.Credentials, m.Addr(), h)
	if err != nil {
		return err
	}
	defer stream.Close()
	// Whatever breaks takes everything along.
	over := context.AfterFunc(m.g.ctx, func() { stream.Close() })
	defer over()
	m.g.cfg.Go("end of the way to "+m.id, func() {
		<-c.gone
		stream.Close()
		proposals.Close()
	})
	out := newOutbox(proposals)
	defer out.end()
	m.g.cfg.Go("proposals to "+m.id, func() {
		out.run()
		c.fail(errNoConnection)
	})
	m.mu.Lock()
	m.c, m.outbox, m.greeted = c, out, false
	m.mu.Unlock()
	return m.listen(stream)
}

// prepare makes the process what this driver wants it to be: it may have been
// started again, or been away while faults were set.
func (m *Member) prepare(c *caller) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, openTimeout)
	defer cancel()
	a, err := call[none, about](ctx, c, verbAbout, none{})
	if err != nil {
		return err
	}
	gone := m.g.without()
	if slices.Contains(gone, m.id) {
		return m.dismiss(ctx, c, a.Now)
	}
	if err := m.join(ctx, c, a); err != nil {
		return err
	}
	for _, id := range gone {
		if _, err := call[string, none](ctx, c, verbForget, id); err != nil {
			return err
		}
	}
	if _, err := call[map[string]string, none](ctx, c, verbPeers, m.g.addrs()); err != nil {
		return err
	}
	for _, f := range m.g.linksOf(m.id, a.Now.Links) {
		if _, err := call[linkFault, none](ctx, c, verbLink, f); err != nil {
			return err
		}
	}
	m.g.mu.Lock()
	holding := m.g.holding
	m.g.mu.Unlock()
	if _, err := call[bool, none](ctx, c, verbHold, holding); err != nil {
		return err
	}
	if !a.Now.HasLog {
		return nil
	}
	if _, err := call[time.Duration, none](ctx, c, verbSlowDisk, time.Duration(m.slow.Load())); err != nil {
		return err
	}
	if _, err := call[int, none](ctx, c, verbPace, int(m.pace.Load())); err != nil {
		return err
	}
	_, err = call[bool, none](ctx, c, verbFillDisk, m.full.Load())
	return err
}

// errDismissed is why nobody looks for a member's process any more.
var errDismissed = errors.New("it was taken out of the group")

// dismiss tells a member that was away that the group goes on without it.
func (m *Member) dismiss(ctx context.Context, c *caller, now standing) error {
	if now.Status.Up {
		if _, err := call[string, none](ctx, c, verbStop, errDismissed.Error()); err != nil {
			return err
		}
	}
	if now.HasLog {
		if _, err := call[string, none](ctx, c, verbErase, errDismissed.Error()); err != nil {
			return err
		}
	}
	return errDismissed
}

// followSilence is after how long a silent member is considered gone: it sends its
// status many times a second.
const followSilence = watchSilence

// listen takes in what the member tells.
func (m *Member) listen(l *line) error {
	for {
		r := &report{}
		_ = l.SetReadDeadline(time.Now().Add(followSilence))
		if err := l.receive(r, maxFrame); err != nil {
			return err
		}
		if err := m.take(l, r); err != nil {
			return err
		}
	}
}

func (m *Member) take(l *line, r *report) error {
	for _, e := range r.Events {
		e.Member = m.id
		m.emit(e)
	}
	if r.Snapshot {
		_ = l.SetReadDeadline(time.Time{})
		contents := &body{l: l}
		m.applying.Lock()
		err := m.copy.Restore(contents, r.UpTo)
		m.applying.Unlock()
		if err != nil {
			return err
		}
		if err := contents.finish(); err != nil {
			return err
		}
		m.g.cfg.Restored(m, r.UpTo)
	}
	if err := m.applied(r.Applied, r.UpTo); err != nil {
		return err
	}
	if r.Now != nil {
		m.stand(r.Now)
	}
	return nil
}

// applied advances the copy to an entry, and reports it.
func (m *Member) applied(logs []raft.Log, upTo uint64) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	if upTo <= m.copy.Index() {
		return nil
	}
	batch, err := m.copy.Apply(logs, upTo)
	if err != nil {
		return err
	}
	if len(batch) > 0 {
		m.g.cfg.Applied(m.id, batch)
	}
	m.copy.Reached()
	return nil
}

// stand takes in how things stand.
func (m *Member) stand(now *standing) {
	m.mu.Lock()
	was, wasUp, greeted := m.now, m.up.Load(), m.greeted
	m.now, m.at, m.greeted = now, time.Now(), true
	m.mu.Unlock()
	m.up.Store(now.Status.Up)
	m.noRoom.Store(now.Status.NoRoom)
	if now.Status.Up && !greeted {
		// When it starts later, that is an event of its own.
		m.tell(member.KindUp, now.Status.State, "its process at "+m.Addr()+" can be reached")
	}
	m.once.Do(func() { close(m.ready) })
	if was == nil || wasUp != now.Status.Up || was.Status.Role != now.Status.Role || was.Status.Term != now.Status.Term || was.Incarnation != now.Incarnation {
		m.g.cfg.Changed()
	}
}

// gone notes that the connection broke.
func (m *Member) gone(err error) {
	why := "its process is gone"
	if !errors.Is(err, io.EOF) && !errors.Is(err, errNoConnection) {
		why += " or cannot be reached: " + err.Error()
	}
	m.mu.Lock()
	m.c, m.outbox, m.why = nil, nil, why
	now := m.now
	m.mu.Unlock()
	if !m.up.Swap(false) || m.g.ctx.Err() != nil {
		return
	}
	s := member.State{}
	if now != nil {
		s = now.Status.State
	}
	s.Role, s.Leader = "stopped", ""
	m.tell(member.KindDown, s, why)
	m.g.cfg.Changed()
}

// disconnect ends the connection.
func (m *Member) disconnect(err error) {
	if c := m.caller(); c != nil {
		c.fail(err)
	}
}

func (m *Member) caller() *caller {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.c
}

func (m *Member) emit(e member.Event) {
	if m.g.cfg.Emit == nil {
		return
	}
	m.emitting.Lock()
	defer m.emitting.Unlock()
	m.g.cfg.Emit(e)
}

func (m *Member) tell(k member.Kind, s member.State, reason string) {
	s.Reason = reason
	m.emit(member.Event{Kind: k, Member: m.id, Wall: time.Now(), State: &s})
}

// standing is the last report, and how long ago it came; nil if there is no connection.
func (m *Member) standing() (now *standing, age time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil || m.now == nil {
		return nil, 0
	}
	return m.now, time.Since(m.at)
}
