package tuitest

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

func (t *Tape) role(member, role string, term uint64, leader string, causes ...trace.ID) trace.ID {
	return t.Emit(trace.CompMember, member, trace.MemberRole, trace.Ref{Kind: "Member", Name: member},
		&trace.MemberState{Member: member, Role: role, Term: term, Leader: leader, Last: t.index, Commit: t.index, Applied: t.index}, causes...)
}

// Members starts the members of the store.
func (t *Tape) Members(names ...string) *Tape {
	t.order = names
	for _, n := range names {
		t.up[n] = true
		t.Emit(trace.CompMember, n, trace.MemberUp, trace.Ref{Kind: "Member", Name: n}, &trace.MemberState{Member: n, Role: "follower", Reason: "first start"})
		t.role(n, "follower", 0, "")
	}
	return t
}

// Elect lets a member win an election with the votes of all that are up.
func (t *Tape) Elect(winner string) *Tape {
	t.term++
	t.After(180 * time.Millisecond)
	c := t.role(winner, "candidate", t.term-1, "") // pre-votes are asked for in the term before
	t.Emit(trace.CompMember, winner, trace.RaftVote, trace.Ref{}, &trace.RaftVoteRecord{Member: winner, Term: t.term, Candidate: winner}, c)
	last := c
	for _, n := range t.order {
		if n == winner {
			continue
		}
		t.serial++
		m := trace.RaftMessage{Serial: t.serial, RPC: "RequestVote", From: winner, To: n, Term: t.term}
		sent := t.Emit(trace.CompMember, winner, trace.RaftSend, trace.Ref{}, &m, c)
		t.After(time.Millisecond)
		if !t.up[n] {
			lost := m
			lost.Error = "peer is stopped"
			t.Emit(trace.CompMember, winner, trace.RaftLost, trace.Ref{}, &lost, sent)
			continue
		}
		got := t.Emit(trace.CompMember, n, trace.RaftDeliver, trace.Ref{}, &m, sent)
		v := t.Emit(trace.CompMember, n, trace.RaftVote, trace.Ref{}, &trace.RaftVoteRecord{Member: n, Term: t.term, Candidate: winner}, got)
		a := m
		a.Answer, a.OK, a.ReplyTerm = true, true, t.term
		last = t.Emit(trace.CompMember, winner, trace.RaftReply, trace.Ref{}, &a, v)
	}
	won := t.role(winner, "leader", t.term, winner, last)
	for _, n := range t.order {
		if n != winner && t.up[n] {
			t.role(n, "follower", t.term, winner, won)
		}
	}
	t.leader = winner
	t.propose("noop", 0, won)
	return t
}

// Down stops a member.
func (t *Tape) Down(member, reason string, causes ...trace.ID) *Tape {
	t.up[member] = false
	t.Emit(trace.CompMember, member, trace.MemberDown, trace.Ref{Kind: "Member", Name: member},
		&trace.MemberState{Member: member, Role: "stopped", Term: t.term, Last: t.index, Reason: reason}, causes...)
	return t
}

// propose replicates an entry: written by the leader, sent, written by the
// followers, answered, committed, applied. stop leaves it under way.
func (t *Tape) propose(kind string, size int, causes ...trace.ID) trace.ID {
	sent := t.half(kind, size, causes...)
	return t.settle(sent)
}

func (t *Tape) half(kind string, size int, causes ...trace.ID) map[string]trace.RaftMessage {
	t.index++
	e := []trace.RaftEntry{{Index: t.index, Term: t.term, Type: kind, Size: size}}
	w := t.Emit(trace.CompMember, t.leader, trace.RaftAppend, trace.Ref{}, &trace.RaftLog{Member: t.leader, Entries: e, First: t.index, Last: t.index}, causes...)
	sent := map[string]trace.RaftMessage{}
	for _, n := range t.order {
		if n == t.leader || !t.up[n] {
			continue
		}
		t.serial++
		m := trace.RaftMessage{
			Serial: t.serial, RPC: "AppendEntries", From: t.leader, To: n, Term: t.term, PrevLog: t.index - 1, PrevTerm: t.term,
			Commit: t.index - 1, Entries: e,
		}
		t.Emit(trace.CompMember, t.leader, trace.RaftSend, trace.Ref{}, &m, w)
		sent[n] = m
	}
	t.Emit(trace.CompMember, t.leader, trace.RaftDurable, trace.Ref{}, &trace.RaftLog{Member: t.leader, First: t.index, Last: t.index}, w)
	return sent
}

func (t *Tape) settle(sent map[string]trace.RaftMessage) trace.ID {
	var last trace.ID
	for _, n := range t.order {
		m, ok := sent[n]
		if !ok {
			continue
		}
		got := t.Emit(trace.CompMember, n, trace.RaftDeliver, trace.Ref{}, &m)
		w := t.Emit(trace.CompMember, n, trace.RaftAppend, trace.Ref{}, &trace.RaftLog{Member: n, Entries: m.Entries, First: t.index, Last: t.index}, got)
		d := t.Emit(trace.CompMember, n, trace.RaftDurable, trace.Ref{}, &trace.RaftLog{Member: n, First: t.index, Last: t.index}, w)
		a := m
		a.Answer, a.OK, a.Match, a.ReplyTerm = true, true, t.index, t.term
		last = t.Emit(trace.CompMember, t.leader, trace.RaftReply, trace.Ref{}, &a, d)
	}
	c := t.Emit(trace.CompMember, t.leader, trace.RaftCommit, trace.Ref{}, &trace.RaftProgress{Member: t.leader, Index: t.index, Term: t.term}, last)
	for _, n := range t.order {
		if !t.up[n] {
			continue
		}
		if n != t.leader {
			t.Emit(trace.CompMember, n, trace.RaftCommit, trace.Ref{}, &trace.RaftProgress{Member: n, Index: t.index, Term: t.term}, c)
		}
		t.Emit(trace.CompMember, n, trace.RaftApply, trace.Ref{}, &trace.RaftProgress{Member: n, Index: t.index, Term: t.term, Revision: t.rev + 1}, c)
	}
	return c
}

// Commit writes one object (nil deletes it) as one revision.
func (t *Tape) Commit(ref trace.Ref, resource string, o runtime.Object, causes ...trace.ID) trace.ID {
	key := "/registry/" + resource
	if ref.Namespace != "" {
		key += "/" + ref.Namespace
	}
	key += "/" + ref.Name
	if t.leader != "" {
		t.propose("command", 600, causes...)
	}
	t.rev++
	t.vers[key]++
	if t.made[key] == 0 {
		t.made[key] = t.rev
	}
	ch := trace.KeyChange{Key: key, CreateRevision: t.made[key], Version: t.vers[key], Size: 640, Object: ref, Value: trace.Obj(o), Deleted: o == nil}
	if o == nil {
		delete(t.made, key)
		delete(t.vers, key)
	}
	return t.Emit("store", "", trace.StoreCommit, ref, &trace.Commit{Revision: t.rev, Index: t.index, Changes: []trace.KeyChange{ch}}, causes...)
}
