package raftstore

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/wire"
)

// Glance is what a member knows of the group; see [member.Glance].
type Glance = member.Glance

// Glance tells what a member knows of the group now. It is cheap enough to be
// asked at every request.
func (s *Replicated) Glance(id string) Glance {
	m, err := s.membership.member(id)
	if err != nil {
		return Glance{}
	}
	return m.Glance()
}

// Reaches reports whether a request that enters at a member gets to the leader
// and its answer back: the member leads, or follows the leader and no link
// between them is cut. While there is no leader, and every link is sound, it
// says yes: the request then waits for the election.
//
// In etcd a member passes what it is asked on to the leader (raft's MsgProp and
// MsgReadIndex) and answers when it has itself applied the entry.
func (s *Replicated) Reaches(id string) bool {
	m, err := s.membership.member(id)
	if err != nil || !m.Up() {
		return false
	}
	if s.network.Whole() {
		return true
	}
	leader := s.Leader()
	if leader == "" || leader == id {
		return leader == id
	}
	return m.Glance().Leader == leader && !s.network.Faults(id, leader).Cut && !s.network.Faults(leader, id).Cut
}

// RevisionAt is the revision of a member's own state, 0 if it is down.
func (s *Replicated) RevisionAt(id string) int64 {
	m, err := s.membership.member(id)
	if err != nil {
		return 0
	}
	return m.Revision()
}

// AuthAt is the users, roles and tokens as a member that reaches the leader
// has to know them, or as one that is cut off last did; see [Server].
func (s *Replicated) AuthAt(id string) auth.AuthStore {
	if g := s.Glance(id); g.Up && !g.Leads && g.Leader != "" && s.Reaches(id) {
		id = g.Leader
	}
	as := s.noUsers
	if m, err := s.membership.member(id); err == nil {
		// A member that is down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { as = st.Auth() })
	}
	return as
}

// ViewAt lets fn look at a member's own state; see [member.Member.View].
func (s *Replicated) ViewAt(id string, fn func(kv *mvcc.Store)) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	return m.View(fn)
}

// ReadTxnAt runs a transaction that only reads against one member's own state,
// however old that is.
func (s *Replicated) ReadTxnAt(id string, r *pb.TxnRequest) (resp *pb.TxnResponse, err error) {
	m, err := s.membership.member(id)
	if err != nil {
		return nil, err
	}
	if downErr := m.View(func(kv *mvcc.Store) { resp, err = kv.ReadTxn(r) }); downErr != nil {
		return nil, downErr
	}
	if err == nil {
		s.fillHeader(resp.Header, id, m.Glance().Term)
	}
	return resp, err
}

// Forwarded tells the world that a member passed a request on to the leader.
// what is raft's name for it: MsgProp for a write, MsgReadIndex for a read.
func (s *Replicated) Forwarded(id, what string, size int) {
	if s.cfg.Events == nil {
		return
	}
	g, leader := s.Glance(id), s.Leader()
	if !g.Up || leader == "" || leader == id {
		return
	}
	m := &wire.Message{RPC: what, From: id, To: leader, Term: g.Term}
	if size > 0 {
		m.Entries = []wire.Entry{{Type: "command", Size: size}}
	}
	s.cfg.Events(Event{Kind: member.KindForward, Member: id, Wall: time.Now(), Message: m})
}
