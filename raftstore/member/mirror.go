package member

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
)

// ErrCompacted is returned for entries that the log does not hold any more: a
// snapshot covers them.
var ErrCompacted = errors.New("the log does not reach back so far")

// Incarnation tells one start of the member from another of the same process; 0
// while it is down.
func (m *Member) Incarnation() uint64 {
	inc := m.running.Load()
	if inc == nil {
		return 0
	}
	return inc.machine.number
}

// Committed reads the commands among the entries from one index to another, both
// included, which the machine must have applied; it stops after about limit bytes.
// next is the index to go on with.
func (m *Member) Committed(from, to uint64, limit int) (logs []raft.Log, next uint64, err error) {
	inc := m.running.Load()
	if inc == nil {
		return nil, from, fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	size := 0
	for next = from; next <= to && size < limit; next++ {
		var l raft.Log
		err := inc.disk.read(next, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			return nil, from, ErrCompacted
		}
		if err != nil {
			return nil, from, fmt.Errorf("member %s: %w", m.cfg.ID, err)
		}
		if l.Type == raft.LogCommand {
			logs = append(logs, l)
			size += len(l.Data) + entryOverhead
		}
	}
	return logs, next, nil
}

// Frozen is a member's state as of one entry.
type Frozen struct{ frozenState }

// WriteState writes the state for [Mirror.Restore].
func (f *Frozen) WriteState(w io.Writer) error {
	if err := f.session.writeTo(w); err != nil {
		return err
	}
	_, err := f.state.WriteTo(w)
	return err
}

// Freeze takes the member's state as it is now, and the index it is as of.
func (m *Member) Freeze() (f *Frozen, index uint64, err error) {
	inc := m.running.Load()
	if inc == nil {
		return nil, 0, fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	mc := inc.machine
	mc.mu.Lock()
	defer mc.mu.Unlock()
	return &Frozen{frozenState{state: mc.state.Snapshot(), session: mc.session}}, mc.upTo, nil
}

// Mirror is a copy of the state machine of a member in another process. It is
// brought forward with the same entries in the same order, so it holds the same.
// Apply and Restore are one goroutine's.
type Mirror struct {
	m       *Member
	machine atomic.Pointer[machine]
}

// NewMirror is an empty copy. Of the configuration it uses ID, Limits and Requests.
func NewMirror(cfg Config) *Mirror {
	mi := &Mirror{m: &Member{cfg: cfg}}
	mi.machine.Store(newMachine(&incarnation{m: mi.m}))
	return mi
}

// Index is the entry that the copy is as of.
func (mi *Mirror) Index() uint64 {
	mc := mi.machine.Load()
	mc.mu.RLock()
	defer mc.mu.RUnlock()
	return mc.upTo
}

// Ticket is the ticket of the last request that took effect, and the epoch begun
// last.
func (mi *Mirror) Ticket() (number, epoch uint64) {
	mc := mi.machine.Load()
	mc.mu.RLock()
	defer mc.mu.RUnlock()
	return mc.session.last, mc.session.epoch
}

// Apply brings the copy forward to an entry, with the commands up to there. It
// fails if one of them cannot be read.
func (mi *Mirror) Apply(logs []raft.Log, upTo uint64) (batch []Applied, err error) {
	mc := mi.machine.Load()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the copy of member %s: %v", mi.m.cfg.ID, p)
		}
	}()
	list := make([]*raft.Log, 0, len(logs))
	for i := range logs {
		if logs[i].Index > mc.upTo {
			list = append(list, &logs[i])
		}
	}
	if len(list) > 0 {
		batch, _ = mc.all(list)
	}
	mc.mu.Lock()
	mc.upTo = max(mc.upTo, upTo)
	mc.mu.Unlock()
	return batch, nil
}

// Reached says that what Apply returned has been delivered: from now on waiters for
// the entry continue.
func (mi *Mirror) Reached() {
	mc := mi.machine.Load()
	mc.applied.set(mc.upTo)
}

// Restore replaces the copy by what [Frozen.WriteState] wrote, as of an index.
func (mi *Mirror) Restore(r io.Reader, index uint64) error {
	mc := newMachine(&incarnation{m: mi.m})
	if err := mc.Restore(io.NopCloser(r)); err != nil {
		return fmt.Errorf("the copy of member %s: %w", mi.m.cfg.ID, err)
	}
	mc.upTo = index
	mc.applied.set(index)
	mi.machine.Store(mc)
	return nil
}

// Defragment packs the copy's database.
func (mi *Mirror) Defragment() {
	mc := mi.machine.Load()
	mc.mu.Lock()
	defer mc.mu.Unlock()
	mc.state.Defragment()
}

// Range reads from the copy.
func (mi *Mirror) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) {
	return mi.machine.Load().Range(req)
}

// Change lets fn take a snapshot of the copy; see [Member.Change].
func (mi *Mirror) Change(fn func(state *apply.State)) {
	mc := mi.machine.Load()
	mc.mu.Lock()
	defer mc.mu.Unlock()
	fn(mc.state)
}

// Inspect lets fn look at the copy; see [Member.Inspect].
func (mi *Mirror) Inspect(fn func(state *apply.State)) {
	mc := mi.machine.Load()
	mc.mu.RLock()
	defer mc.mu.RUnlock()
	fn(mc.state)
}
