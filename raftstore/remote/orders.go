package remote

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/wire"
)

// What a [Member] has of member.Member's methods: orders to the process, and answers
// from what it told last or from the copy.

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

// Kill ends the member as kill -9 ends its process, which stays all the same.
func (m *Member) Kill(reason string) error {
	if err := do2(m, verbKill, reason, 30*time.Second); err != nil {
		return err
	}
	return m.await(false)
}

// await waits until the member has told that it is up or down, so that who gave
// the order sees it done. It may have changed again meanwhile.
func (m *Member) await(up bool) error {
	if m.up.Load() == up {
		return nil
	}
	return m.until(func(now member.Status) bool { return m.up.Load() == up || now.Up != up })
}

// awaitReason waits until the member has told why it is down, as its process knows it.
func (m *Member) awaitReason() error {
	return m.until(func(now member.Status) bool {
		told := m.Status()
		return told.Up == now.Up && told.Reason == now.Reason
	})
}

// until waits for something that the member tells, given its status in its process.
func (m *Member) until(ok func(now member.Status) bool) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, orderTimeout)
	defer cancel()
	for {
		c := m.caller()
		a, err := call[none, about](ctx, c, verbAbout, none{})
		if err != nil {
			return m.explain(c, err)
		}
		if ok(a.Now.Status) {
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

// Erase deletes everything on the disk of a member that is down. Its process stays,
// but no longer belongs to a group. One that cannot be reached keeps what it has; the
// group ignores it from then on.
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

// TimeOut has the member's election timeout run out; see member.Member.
func (m *Member) TimeOut() { _ = do1(m, verbTimeOut, none{}) } // it may have gone down

// Disk is the state of the disk.
func (m *Member) Disk() (slow time.Duration, full bool) {
	return time.Duration(m.slow.Load()), m.full.Load() || m.noRoom.Load()
}

// Hold is done by [Network.Hold] for all members.
func (m *Member) Hold(bool) {}

// ReportFault reports a fault of this member or of a link that starts at it.
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

// Change lets fn take a snapshot of the copy; see member.Member.
func (m *Member) Change(fn func(state *apply.State)) error {
	if !m.Up() {
		return fmt.Errorf("member %s: %w", m.id, member.ErrDown)
	}
	m.copy.Change(fn)
	return nil
}

// Inspect lets fn look at the copy of the member's state machine.
func (m *Member) Inspect(fn func(state *apply.State)) error {
	if !m.Up() {
		return fmt.Errorf("member %s: %w", m.id, member.ErrDown)
	}
	m.copy.Inspect(fn)
	return nil
}
