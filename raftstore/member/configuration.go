package member

import (
	"context"
	"errors"

	"github.com/hashicorp/raft"
)

// Server is one member as raft's configuration has it.
type Server struct {
	ID string
	// Learner is raft's nonvoter: it gets the log, but neither votes nor counts.
	Learner bool
	// Address is where the others find it. In one process that is its ID.
	Address string
}

func (s Server) raft() raft.Server {
	sv := raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Address)}
	if s.Learner {
		sv.Suffrage = raft.Nonvoter
	}
	return sv
}

// servers is raft's latest configuration, committed or not: the one that counts
// for raft itself. It must not be changed.
func (inc *incarnation) servers() []raft.Server {
	return inc.raft.GetConfiguration().Configuration().Servers
}

// Servers is the group as the member knows it, nil if it is down or has not
// learned of it yet.
func (m *Member) Servers() []Server {
	inc := m.running.Load()
	if inc == nil {
		return nil
	}
	return inc.group()
}

func (inc *incarnation) group() (list []Server) {
	for _, sv := range inc.servers() {
		list = append(list, Server{ID: string(sv.ID), Learner: sv.Suffrage != raft.Voter, Address: string(sv.Address)})
	}
	return list
}

// Servers is the group as the leader has it.
func (r *Reader) Servers() []Server { return r.inc.group() }

// Set adds a member to the group, makes a learner a voter, or changes an
// address. It returns when that is committed, or why it is not; after
// [ErrLeaderLost] nobody knows.
func (r *Reader) Set(s Server) error {
	if !r.leads() {
		return ErrNotLeader
	}
	sv := s.raft()
	if s.Learner {
		return r.inc.outcomeOf(r.inc.raft.AddNonvoter(sv.ID, sv.Address, 0, 0))
	}
	return r.inc.outcomeOf(r.inc.raft.AddVoter(sv.ID, sv.Address, 0, 0))
}

// Remove takes a member out of the group; see [Reader.Set]. A leader that
// removes itself gives up its leadership when that is committed.
func (r *Reader) Remove(id string) error {
	if !r.leads() {
		return ErrNotLeader
	}
	return r.inc.outcomeOf(r.inc.raft.RemoveServer(raft.ServerID(id), 0, 0))
}

// ErrLeaderLost is returned for a change whose outcome is unknown, because its leader
// was lost.
var ErrLeaderLost = errors.New("the leader was lost while the change was under way")

// outcome says what raft's errors mean for a change.
func outcome(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		return ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return ErrLeaderLost
	}
	return err
}

// Settled reports whether the group as the leader has it is committed.
func (r *Reader) Settled() bool {
	return r.inc.disk.groupIndex.Load() <= r.inc.raft.CommitIndex()
}

// Last is the last index in the leader's log.
func (r *Reader) Last() uint64 { return r.inc.raft.LastIndex() }

// Began waits until an entry of the leader's own term is committed: from then on its
// view of the group is final.
func (r *Reader) Began(ctx context.Context) error { return r.began(ctx) }

// ReportMembership tells that the member joined, was promoted or left.
func (m *Member) ReportMembership(c Membership) {
	if m.wanted() {
		m.emit(Event{Kind: KindMember, Membership: &c})
	}
}
