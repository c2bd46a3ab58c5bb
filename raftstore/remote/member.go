package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/wire"
)

// Member is a member in another process, as its driver has it: it has the methods
// of member.Member. While there is no connection to its process it is down.
type Member struct {
	g     *Group
	id    string
	copy  *member.Mirror
	first *caller // made by Open
	about about   // what it said then

	slow atomic.Int64 // the faults that shall be, also after its process started anew
	full atomic.Bool
	pace atomic.Int64

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
// started anew, or been away while faults were set.
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

// followSilence is after how long a member that tells nothing is taken for gone:
// it tells how things stand many times a second.
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

// applied brings the copy forward to an entry, and tells of it.
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

// standing is what was told last, and how long ago; nil if there is no connection.
func (m *Member) standing() (now *standing, age time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil || m.now == nil {
		return nil, 0
	}
	return m.now, time.Since(m.at)
}

// orderTimeout is how long an order may take that only sets something.
const orderTimeout = 3 * time.Second

// do gives an order that has no result.
func do1[A any](m *Member, verb string, args A) error {
	return do2(m, verb, args, orderTimeout)
}

func do2[A any](m *Member, verb string, args A, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, limit)
	defer cancel()
	c := m.caller()
	_, err := call[A, none](ctx, c, verb, args)
	return m.explain(c, err)
}

// explain says that the process cannot be reached, if that is why.
func (m *Member) explain(c *caller, err error) error {
	if err == nil {
		return nil
	}
	if c == nil {
		m.mu.Lock()
		why := m.why
		m.mu.Unlock()
		return fmt.Errorf("member %s: %s: %w", m.id, why, member.ErrDown)
	}
	select {
	case <-c.gone:
		return noConnection(m.id, err)
	default:
		return err
	}
}

// ID is the member's name.
func (m *Member) ID() string { return m.id }

// Addr is where its process listens.
func (m *Member) Addr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// Free reports whether the process answers and its member belongs to no group and
// never did.
func (m *Member) Free() bool {
	now, _ := m.standing()
	return now != nil && !now.HasLog && !now.Removed
}

// Up reports whether the member runs and its process can be reached.
func (m *Member) Up() bool { return m.up.Load() }

// HasLog reports whether the member belongs to a group already; also for one
// that cannot be reached now.
func (m *Member) HasLog() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil {
		return m.now.HasLog
	}
	return m.about.Now.HasLog || m.about.Now.Name == ""
}

// Reachable reports whether there is a connection to its process.
func (m *Member) Reachable() bool { return m.caller() != nil }

// Begin starts the member with a new disk, in a new group, or, without one, to
// join the group that a leader takes it into.
func (m *Member) Begin(group []member.Server, reason string) error {
	return m.begin(Start{Fresh: true, Group: group, Settings: m.g.cfg.Settings, Cluster: m.g.Cluster(), Reason: reason})
}

// Start starts the member again; see member.Member.
func (m *Member) Start(fresh bool, reason string) error {
	if fresh {
		return m.Begin(nil, reason)
	}
	return m.begin(Start{Reason: reason})
}

func (m *Member) begin(s Start) error {
	if err := do2(m, verbStart, s, 30*time.Second); err != nil {
		// What is to be said is said: a member that stays down says no more.
		_ = m.awaitReason()
		return err
	}
	return m.await(true)
}

// Stop ends the member in good order; its process stays.
func (m *Member) Stop(reason string) error {
	if err := do2(m, verbStop, reason, 30*time.Second); err != nil {
		return err
	}
	return m.await(false)
}

// Crash ends the member as a power cut does; its process stays.
func (m *Member) Crash(reason string) error {
	if err := do2(m, verbCrash, reason, 30*time.Second); err != nil {
		return err
	}
	return m.await(false)
}

// await waits until the member has told that it is up or down, so that who gave
// the order sees it done. It may have changed again meanwhile.
func (m *Member) await(up bool) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, orderTimeout)
	defer cancel()
	for m.up.Load() != up {
		c := m.caller()
		a, err := call[none, about](ctx, c, verbAbout, none{})
		if err != nil {
			return m.explain(c, err)
		}
		if a.Now.Status.Up != up {
			return nil
		}
		timer := time.NewTimer(time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// awaitReason waits until the member has told why it is down, as its process knows it.
func (m *Member) awaitReason() error {
	ctx, cancel := context.WithTimeout(m.g.ctx, orderTimeout)
	defer cancel()
	for {
		c := m.caller()
		a, err := call[none, about](ctx, c, verbAbout, none{})
		if err != nil {
			return m.explain(c, err)
		}
		if s := m.Status(); s.Up == a.Now.Status.Up && s.Reason == a.Now.Status.Reason {
			return nil
		}
		timer := time.NewTimer(time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Why is the reason why the member is down.
func (m *Member) Why() string { return m.Status().Reason }

// Status is what the member told last.
func (m *Member) Status() (s member.Status) {
	m.mu.Lock()
	if m.c == nil || m.now == nil {
		s.Role, s.Reason = "stopped", m.why
	} else {
		s = m.now.Status
	}
	m.mu.Unlock()
	s.SlowDisk, s.FullDisk = m.Disk()
	return s
}

// Revision is the member's, 0 while it is down.
func (m *Member) Revision() int64 {
	if now, _ := m.standing(); now != nil && now.Status.Up {
		return now.Status.Revision
	}
	return 0
}

// Glance is what the member told last of the group.
func (m *Member) Glance() member.Glance {
	now, _ := m.standing()
	if now == nil || !now.Status.Up {
		return member.Glance{}
	}
	s := now.Status
	return member.Glance{Up: true, Leads: s.Role == "leader", Leader: s.Leader, Term: s.Term}
}

// Erase deletes all that is on the disk of a member that is down. Its process
// stays, and belongs to no group any more. One that cannot be reached keeps what it
// has; the group does not listen to it any more.
func (m *Member) Erase(reason string) error {
	if !m.Reachable() {
		return nil
	}
	return do2(m, verbErase, reason, 30*time.Second)
}

// Defragment packs the member's database, in its process and in the copy.
func (m *Member) Defragment(func(inUse int64) (done <-chan struct{})) error {
	if err := do2(m, verbDefragment, none{}, time.Minute); err != nil {
		return err
	}
	m.copy.Defragment()
	return nil
}

// Report is for members of the driver's own process; this one's tells itself.
func (m *Member) Report(wire.Phase, wire.Message) {}

// Tail is the term and index of the last entry in the member's log.
func (m *Member) Tail() (term, index uint64) {
	if now, _ := m.standing(); now != nil {
		return now.TailTerm, now.TailIndex
	}
	return 0, 0
}

// BootTerm is the term that was on its disk when it was started.
func (m *Member) BootTerm() uint64 {
	if now, _ := m.standing(); now != nil {
		return now.BootTerm
	}
	return 0
}

// Ticket is the ticket of the last request that took effect, and the epoch begun
// last, as far as the copy goes.
func (m *Member) Ticket() (number, epoch uint64) { return m.copy.Ticket() }

// Servers is the group as the member knows it.
func (m *Member) Servers() []member.Server {
	if now, _ := m.standing(); now != nil {
		return now.Servers
	}
	return nil
}

// Campaign starts an election at once.
func (m *Member) Campaign() { _ = do1(m, verbCampaign, none{}) } // it may have gone down

// Snapshot makes the member take a snapshot now.
func (m *Member) Snapshot() error { return do2(m, verbSnapshot, none{}, time.Minute) }

// SlowDisk adds d to every write of the log and of votes.
func (m *Member) SlowDisk(d time.Duration) {
	m.slow.Store(int64(d))
	_ = do1(m, verbSlowDisk, d) // one that is away is told when it is back
}

// FillDisk makes the disk refuse writes (true) or take them again.
func (m *Member) FillDisk(full bool) {
	m.full.Store(full)
	_ = do1(m, verbFillDisk, full)
}

// SlowElections makes the member's elections slower; see member.Member.
func (m *Member) SlowElections(factor int) {
	m.pace.Store(int64(factor))
	_ = do1(m, verbPace, factor)
}

// Disk is the state of the disk.
func (m *Member) Disk() (slow time.Duration, full bool) {
	return time.Duration(m.slow.Load()), m.full.Load()
}

// Hold is done by [Network.Hold] for all members.
func (m *Member) Hold(bool) {}

// ReportFault tells of a fault of this member or of a link that starts at it.
func (m *Member) ReportFault(f member.Fault) {
	m.emit(member.Event{Kind: member.KindFault, Member: m.id, Wall: time.Now(), Fault: &f})
}

// ReportMembership tells that the member joined, was promoted or left.
func (m *Member) ReportMembership(c member.Membership) {
	m.emit(member.Event{Kind: member.KindMember, Member: m.id, Wall: time.Now(), Membership: &c})
}

// Range reads from the member's own state, in its process, however old that is.
func (m *Member) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) {
	b, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	c := m.caller()
	ctx, cancel := context.WithTimeout(m.g.ctx, 30*time.Second)
	defer cancel()
	got, err := call[[]byte, []byte](ctx, c, verbRange, b)
	if err != nil {
		return nil, m.explain(c, err)
	}
	resp := &pb.RangeResponse{}
	return resp, proto.Unmarshal(got, resp)
}

// HashKV is the hash of the keys in the member's process, up to a revision.
func (m *Member) HashKV(rev int64) (KVHash, error) {
	c := m.caller()
	ctx, cancel := context.WithTimeout(m.g.ctx, 30*time.Second)
	defer cancel()
	h, err := call[int64, KVHash](ctx, c, verbHashKV, rev)
	return h, m.explain(c, err)
}

// View lets fn look at the copy of the member's keys; see member.Member.
func (m *Member) View(fn func(kv *mvcc.Store)) error {
	return m.Inspect(func(st *apply.State) { fn(st.KV) })
}

// Inspected lets fn look at the copy of the member's keys, also while the member is
// down.
func (m *Member) Inspected(fn func(kv *mvcc.Store)) {
	m.copy.Inspect(func(st *apply.State) { fn(st.KV) })
}

// Inspect lets fn look at the copy of the member's state machine.
func (m *Member) Inspect(fn func(state *apply.State)) error {
	if !m.Up() {
		return fmt.Errorf("member %s: %w", m.id, member.ErrDown)
	}
	m.copy.Inspect(fn)
	return nil
}
