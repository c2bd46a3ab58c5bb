package member

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/apply"
	"kviz/raftstore/lock"
	"kviz/raftstore/mvcc"
)

// Applied is one committed request that went through a member's state machine.
type Applied struct {
	Index, Term uint64
	Ticket      Ticket
	Outcome     Outcome
	Result      *mvcc.Result // set when Done

	// Request is what was applied, nil unless Done. It must not be changed.
	Request *pb.InternalRaftRequest
	// OverQuota says that it was applied although it exceeded the quota, and that
	// no NOSPACE alarm is raised yet: somebody should.
	OverQuota bool
}

// machine is the member's state machine: raft's FSM over apply. Raft calls
// ApplyBatch, Snapshot and Restore on one goroutine; readers may come from any.
type machine struct {
	inc     *incarnation
	mu      lock.Lock // guards state and session
	state   *apply.State
	session session
	applied progress // the last entry that reached the machine; raft keeps no-ops to itself
	upTo    uint64   // the entry that state and session are as of; guarded by mu
	number  uint64   // which incarnation's machine of this process it is
	rev     atomic.Int64
}

var machines atomic.Uint64

var _ raft.BatchingFSM = (*machine)(nil)

func newMachine(inc *incarnation) *machine {
	var limits apply.Limits
	if inc.m != nil {
		limits = inc.m.cfg.Limits
		limits.Shared = &inc.m.cfg.Requests.versions
	}
	mc := &machine{inc: inc, state: apply.New(limits), number: machines.Add(1)}
	mc.applied.init()
	mc.rev.Store(mc.state.KV.Revision())
	mc.state.Reached(mc.applied.reached)
	return mc
}

// Apply is ApplyBatch for one entry; raft asks for it but does not use it.
func (mc *machine) Apply(l *raft.Log) any { return mc.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies committed entries in log order.
func (mc *machine) ApplyBatch(logs []*raft.Log) []any {
	defer mc.contain()
	last := logs[len(logs)-1]
	if mc.inc.live.Load() {
		mc.inc.committed(max(mc.inc.raft.CommitIndex(), last.Index), mc.inc.raft.CurrentTerm())
	}
	m := mc.inc.m
	wanted := m.wanted()
	var began time.Time
	if wanted {
		began = time.Now()
	}
	batch, rev := mc.all(logs)
	if wanted {
		p := &Progress{Index: last.Index, Term: last.Term, Revision: rev, Took: time.Since(began)}
		p.DBSize, p.InUse = mc.sizes()
		m.emit(Event{Kind: KindApply, Progress: p})
	}
	if len(batch) > 0 {
		m.cfg.Applied(m.cfg.ID, batch)
	}
	mc.applied.set(last.Index)
	mc.inc.due(logs)
	return make([]any, len(logs))
}

func (mc *machine) all(logs []*raft.Log) (batch []Applied, revision int64) {
	batch = make([]Applied, 0, len(logs))
	mc.mu.Lock()
	defer mc.mu.Unlock()
	for _, l := range logs {
		if l.Type == raft.LogCommand {
			batch = append(batch, mc.one(l))
		}
	}
	mc.upTo = logs[len(logs)-1].Index
	mc.rev.Store(mc.state.KV.Revision())
	return batch, mc.state.KV.Revision()
}

func (mc *machine) one(l *raft.Log) Applied {
	a := Applied{Index: l.Index, Term: l.Term}
	ticket, err := ticketOf(l)
	if err != nil {
		panic(err) // only this program writes the log
	}
	a.Ticket = ticket
	if a.Outcome = mc.session.admit(ticket); a.Outcome != Done {
		return a
	}
	req, err := mc.inc.m.cfg.Requests.of(l)
	if err != nil {
		panic(err)
	}
	a.Request = req
	a.Result = mc.state.Apply(l.Index, req)
	a.OverQuota = a.Result.Err == rpctypes.ErrGRPCNoSpace && !mc.state.Capped()
	return a
}

// sizes are those of the database.
func (mc *machine) sizes() (size, inUse int64) {
	mc.mu.RLock()
	defer mc.mu.RUnlock()
	return mc.state.Size(), mc.state.SizeInUse()
}

// contain takes the member down when its state machine panics. The others
// have the same entry before them: they will go down too, each with the reason.
func (mc *machine) contain() {
	if p := recover(); p != nil {
		mc.inc.fail(fmt.Sprintf("its state machine panicked: %v\n%s", p, debug.Stack()))
		runtime.Goexit()
	}
}

// Range reads, without asking who does.
func (mc *machine) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) {
	mc.mu.RLock()
	defer mc.mu.RUnlock()
	return mc.state.KV.Range(req)
}

// Available reports whether the leader's database, as big as it is now, may
// take what the request adds.
func (r *Reader) Available(req *pb.InternalRaftRequest) bool {
	return r.inc.machine.state.Available(req)
}

// revision is the state's revision; it may be read at any moment, even while the
// member defragments.
func (mc *machine) revision() int64 { return mc.rev.Load() }

// Snapshot takes the state as it is now; writing it out comes later, beside
// the applying of further entries.
func (mc *machine) Snapshot() (raft.FSMSnapshot, error) {
	mc.mu.Lock()
	defer mc.mu.Unlock()
	return &frozenState{state: mc.state.Snapshot(), session: mc.session}, nil
}

// Restore replaces the state by a snapshot's.
func (mc *machine) Restore(r io.ReadCloser) error {
	err := mc.restore(r)
	if s := mc.inc.snapshots; err != nil && s != nil {
		s.damaged(fmt.Errorf("a snapshot in %s cannot be restored: %w", s.inc.m.cfg.Dir, err))
	}
	return err
}

func (mc *machine) restore(r io.ReadCloser) error {
	defer r.Close()
	var s session
	if err := s.readFrom(r); err != nil {
		return err
	}
	mc.mu.Lock()
	defer mc.mu.Unlock()
	if err := mc.state.Restore(r); err != nil {
		return err
	}
	mc.rev.Store(mc.state.KV.Revision())
	mc.session = s
	mc.upTo = mc.state.KV.AppliedIndex()
	mc.applied.set(mc.state.KV.AppliedIndex())
	return nil
}

type frozenState struct {
	state   *apply.Frozen
	session session
}

// Persist writes the state to the sink.
func (f *frozenState) Persist(sink raft.SnapshotSink) error {
	err := f.session.writeTo(sink)
	if err == nil {
		_, err = f.state.WriteTo(sink)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", errors.Join(err, sink.Cancel()))
	}
	return sink.Close()
}

// Release has nothing to give back: the state is copied on write.
func (f *frozenState) Release() {}
