package member

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// ErrNotLeader is returned for what only a leader can do.
var ErrNotLeader = errors.New("the member is not the leader, or cannot prove it")

// Reader is a member as the leader of one term.
type Reader struct {
	inc  *incarnation
	term uint64
}

// Term is the term in which the reader's member is leader.
func (r *Reader) Term() uint64 { return r.term }

// Member is the ID of the reader's member.
func (r *Reader) Member() string { return r.inc.m.cfg.ID }

// Same reports whether both are the same leadership.
func (r *Reader) Same(other *Reader) bool {
	return r != nil && other != nil && r.inc == other.inc && r.term == other.term
}

// Leader is the member's leadership, nil if it does not lead.
func (m *Member) Leader() *Reader {
	inc := m.running.Load()
	if inc == nil || inc.raft.State() != raft.Leader {
		return nil
	}
	return &Reader{inc: inc, term: inc.raft.CurrentTerm()}
}

func (r *Reader) leads() bool {
	return r.inc.raft.State() == raft.Leader && r.inc.raft.CurrentTerm() == r.term
}

// Propose gives the leader a command for its log. It waits while the leader's
// queue is full and reports whether the leader took it; what becomes of it then
// shows when it is applied.
//
// Raft's future is not waited for: one that is still queued when raft shuts
// down never resolves.
func (r *Reader) Propose(data []byte, t Ticket) bool {
	if !r.leads() {
		return false
	}
	r.inc.raft.ApplyLog(raft.Log{Data: data, Extensions: t.Bytes()}, 0)
	return true
}

// ReadIndex waits until the member's state machine holds everything that was
// committed when ReadIndex was called, and has proved that nobody else led
// then: after it, a Range from this member is linearizable.
//
// Mirrors etcd server/etcdserver/v3_server.go linearizableReadLoop and raft's
// ReadIndex (dissertation §6.4).
func (r *Reader) ReadIndex(ctx context.Context) error {
	if err := r.began(ctx); err != nil {
		return err
	}
	index := r.inc.raft.CommitIndex()
	if err := r.confirm(ctx); err != nil {
		return err
	}
	return r.inc.machine.caughtUp(ctx, r.inc.stopped, r.inc.disk.visible(index, r.inc.machine.applied.get()))
}

// began waits until an entry of the leader's own term is committed: before
// that the leader does not know how far its predecessor had committed.
func (r *Reader) began(ctx context.Context) error {
	d := r.inc.disk
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if !r.leads() {
			return ErrNotLeader
		}
		if d.noopTerm.Load() == r.term && r.inc.raft.CommitIndex() >= d.noop.Load() {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.inc.stopped:
			timer.Stop()
			return ErrNotLeader
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// confirm asks every other voter whether it still is in the leader's term,
// until a quorum has said so.
func (r *Reader) confirm(ctx context.Context) error {
	servers := r.inc.servers()
	answers := make(chan bool, len(servers))
	voters, yes, asked := 0, 0, 0
	for _, sv := range servers {
		if sv.Suffrage != raft.Voter {
			continue
		}
		voters++
		if id := string(sv.ID); id == r.inc.m.cfg.ID {
			yes++
		} else {
			asked++
			r.inc.m.cfg.Go("confirm of "+r.inc.m.cfg.ID, func() { answers <- r.inc.endpoint.Confirm(id, r.term) })
		}
	}
	for ; yes <= voters/2; asked-- {
		if asked == 0 {
			return ErrNotLeader
		}
		select {
		case ok := <-answers:
			if ok {
				yes++
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// visible is the last entry up to index that reaches the state machine: raft
// keeps no-ops to itself. Entries up to applied need not be looked at.
func (d *disk) visible(index, applied uint64) uint64 {
	for ; index > applied; index-- {
		var l raft.Log
		switch err := d.read(index, &l); {
		case errors.Is(err, raft.ErrLogNotFound):
			return applied // covered by a snapshot
		case err != nil:
			return index // who needs it waits for it, or for the end of the member
		}
		if l.Type == raft.LogCommand || l.Type == raft.LogConfiguration {
			return index
		}
	}
	return index
}

// caughtUp waits until the machine has applied the entry.
func (mc *machine) caughtUp(ctx context.Context, stopped <-chan struct{}, index uint64) error {
	for {
		grown := mc.applied.reached(index)
		if grown == nil {
			return nil
		}
		select {
		case <-grown:
		case <-stopped:
			return ErrNotLeader
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Range reads from the leader's state.
func (r *Reader) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) {
	return r.inc.machine.Range(req)
}

// Transfer asks raft to make another member the leader. Whether it did shows
// in the other's role.
func (r *Reader) Transfer(to string) {
	r.inc.raft.LeadershipTransferToServer(raft.ServerID(to), raft.ServerAddress(to))
}
