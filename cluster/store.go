package cluster

import (
	"fmt"
	"sync"

	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// openStore opens the store that the configuration asks for.
func (c *Cluster) openStore() error {
	if c.cfg.Bare {
		c.store = raftstore.OpenBare()
		return nil
	}
	lane := &raftLane{c: c}
	r, err := raftstore.Open(raftstore.Config{
		Members: c.cfg.Members, Dir: c.cfg.DataDir, NoSync: c.cfg.NoSync,
		Seed: c.cfg.Seed, Events: lane.take,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	c.raft, c.store = r, r
	return nil
}

// raftLane carries what members report, on their own goroutines and in real
// time, into the trace. The kernel takes it in between two steps of its own, so
// a control-plane event never waits for it.
type raftLane struct {
	c       *Cluster
	mu      sync.Mutex
	waiting []raftstore.Event
	posted  bool
}

func (l *raftLane) take(e raftstore.Event) {
	l.mu.Lock()
	l.waiting = append(l.waiting, e)
	first := !l.posted
	l.posted = true
	l.mu.Unlock()
	if first {
		l.c.k.PostControl(l.flush)
	}
}

func (l *raftLane) flush() {
	l.mu.Lock()
	events := l.waiting
	l.waiting, l.posted = nil, false
	l.mu.Unlock()
	for _, e := range events {
		if t, ok := traceEvent(e); ok {
			l.c.k.Emit(t)
		}
	}
}

// traceEvent is a member's event as the trace has it.
func traceEvent(e raftstore.Event) (trace.Event, bool) {
	t := trace.Event{Lane: trace.Lane{Component: trace.CompMember, Instance: e.Member}, Kind: trace.Kind(e.Kind)}
	switch {
	case e.State != nil:
		s := e.State
		t.Payload = &trace.MemberState{
			Member: e.Member, Role: s.Role, Term: s.Term, Leader: s.Leader, Last: s.Last,
			Commit: s.Commit, Applied: s.Applied, Reason: s.Reason,
		}
	case e.Message != nil:
		t.Payload = traceMessage(e.Message)
	case e.Log != nil:
		t.Payload = &trace.RaftLog{Member: e.Member, Entries: traceEntries(e.Log.Entries), First: e.Log.First, Last: e.Log.Last, Error: e.Log.Error}
	case e.Vote != nil:
		t.Payload = &trace.RaftVoteRecord{Member: e.Member, Term: e.Vote.Term, Candidate: e.Vote.Candidate}
	case e.Progress != nil:
		t.Payload = &trace.RaftProgress{Member: e.Member, Index: e.Progress.Index, Term: e.Progress.Term, Revision: e.Progress.Revision}
	case e.Snapshot != nil:
		t.Payload = &trace.RaftSnapshotInfo{Member: e.Member, Index: e.Snapshot.Index, Term: e.Snapshot.Term, What: e.Snapshot.What}
	case e.Kind == member.KindFault:
		return t, false // the fault's own event, in the control-plane lane, tells it
	}
	return t, true
}

func traceMessage(m *wire.Message) *trace.RaftMessage {
	return &trace.RaftMessage{
		Serial: m.Serial, RPC: m.RPC, From: m.From, To: m.To, Term: m.Term, PrevLog: m.PrevLog, PrevTerm: m.PrevTerm,
		Commit: m.Commit, Entries: traceEntries(m.Entries), Answer: m.Answer, OK: m.OK, ReplyTerm: m.ReplyTerm, Match: m.Match, Error: m.Error,
	}
}

func traceEntries(entries []wire.Entry) []trace.RaftEntry {
	if len(entries) == 0 {
		return nil
	}
	out := make([]trace.RaftEntry, len(entries))
	for i, e := range entries {
		out[i] = trace.RaftEntry{Index: e.Index, Term: e.Term, Type: e.Type, Size: e.Size}
	}
	return out
}
