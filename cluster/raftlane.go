package cluster

import (
	"slices"
	"sync"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// raftLane carries what members report, on their own goroutines and in real
// time, into the trace. The kernel takes it in between two steps of its own, so
// a control-plane event never waits for it.
type raftLane struct {
	k       *sim.Kernel
	served  *memberEndpoints
	mu      sync.Mutex
	waiting []raftstore.Event
	posted  bool

	// What follows is the kernel's. When a member began to write which entries
	// is remembered until it knows them committed.
	began     map[string][]written
	committed map[string]uint64
	// What was done to a member on purpose, which its next stops and start come from, and
	// the start that its roles come from until it knows a leader.
	purposes map[string][]trace.ID
	starts   map[string]trace.ID
}

func newRaftLane(k *sim.Kernel, served *memberEndpoints) *raftLane {
	return &raftLane{k: k, served: served, began: map[string][]written{}, committed: map[string]uint64{}, purposes: map[string][]trace.ID{}, starts: map[string]trace.ID{}}
}

// mostWritten is how many writes of one member are remembered until it knows them
// committed: one that reaches no leader knows of none.
const mostWritten = 4096

// written is entries that a member began to write.
type written struct {
	last uint64
	at   time.Time
}

func (l *raftLane) take(e raftstore.Event) {
	l.mu.Lock()
	l.waiting = append(l.waiting, e)
	first := !l.posted
	l.posted = true
	l.mu.Unlock()
	if first {
		l.k.PostControl(l.flush)
	}
}

func (l *raftLane) flush() {
	l.mu.Lock()
	events := l.waiting
	l.waiting, l.posted = nil, false
	l.mu.Unlock()
	for _, e := range events {
		t, ok := traceEvent(e)
		if !ok {
			continue
		}
		l.measure(e, t.Payload)
		t.Causes = l.causes(e)
		id := l.k.Emit(t)
		if e.Kind == member.KindUp {
			l.starts[e.Member] = id
		}
		if e.Kind == member.KindUp || t.Kind == trace.MemberLeft {
			l.served.member(e.Member, t.Kind != trace.MemberLeft)
		}
	}
}

// purpose notes what stops or starts a member: a fault, or the command that has just begun
// to do one. It is called on the kernel's goroutine, before flush has what the member says
// of it.
func (l *raftLane) purpose(member string, why []trace.ID) { l.purposes[member] = why }

// causes are those of a member's own event: of its stop and its start what was done to it,
// of its roles the start, until it knows a leader again.
func (l *raftLane) causes(e raftstore.Event) (causes []trace.ID) {
	switch e.Kind {
	case member.KindDown:
		delete(l.starts, e.Member)
		return l.purposes[e.Member]
	case member.KindUp:
		causes = l.purposes[e.Member]
		delete(l.purposes, e.Member)
	case member.KindRole:
		if start := l.starts[e.Member]; !start.IsZero() {
			causes = []trace.ID{start}
		}
		if e.State != nil && e.State.Leader != "" {
			delete(l.starts, e.Member)
		}
	}
	return causes
}

// measure fills in how long a commit took in real time: from the moment at
// which the member began to write the entry.
func (l *raftLane) measure(e raftstore.Event, payload any) {
	switch e.Kind {
	case member.KindAppend:
		if list := l.began[e.Member]; len(list) < mostWritten {
			l.began[e.Member] = append(list, written{e.Log.Last, e.Wall})
		}
	case member.KindCommit:
		p := payload.(*trace.RaftProgress)
		list, done := l.began[e.Member], 0
		for done < len(list) && list[done].last <= e.Progress.Index {
			done++
		}
		if done > 0 {
			p.Took = max(e.Wall.Sub(list[done-1].at), 1) // a clock may not have moved meanwhile, but it was measured
		}
		if was := l.committed[e.Member]; was > 0 && was < e.Progress.Index {
			p.Entries = int(e.Progress.Index - was)
		}
		l.committed[e.Member], l.began[e.Member] = e.Progress.Index, list[done:]
	case member.KindUp, member.KindDown, member.KindTruncate:
		delete(l.began, e.Member)
		delete(l.committed, e.Member)
	}
}

// traceEvent is a member's event as the trace has it.
func traceEvent(e raftstore.Event) (trace.Event, bool) {
	t := trace.Event{Lane: trace.Lane{Component: trace.CompMember, Instance: e.Member}, Kind: trace.Kind(e.Kind)}
	switch {
	case e.Membership != nil:
		return membershipEvent(t, e)
	case e.State != nil:
		s := e.State
		t.Payload = &trace.MemberState{
			Member: e.Member, Role: s.Role, Term: s.Term, Leader: s.Leader, Last: s.Last,
			Commit: s.Commit, Applied: s.Applied, Reason: s.Reason, Recovered: s.Recovered, Stands: s.Stands,
		}
	case e.Message != nil:
		t.Payload = traceMessage(e.Message)
	case e.Log != nil:
		t.Payload = &trace.RaftLog{Member: e.Member, Entries: traceEntries(e.Log.Entries), First: e.Log.First, Last: e.Log.Last, Error: e.Log.Error, Took: e.Log.Took}
	case e.Vote != nil:
		t.Payload = &trace.RaftVoteRecord{Member: e.Member, Term: e.Vote.Term, Candidate: e.Vote.Candidate}
	case e.Timeout != nil:
		w := e.Timeout
		t.Payload = &trace.RaftPatience{Member: e.Member, Leader: w.Leader, Left: w.Left, AtLeast: w.AtLeast, AtMost: w.AtMost, Factor: w.Factor}
	case e.Progress != nil:
		p := e.Progress
		t.Payload = &trace.RaftProgress{
			Member: e.Member, Index: p.Index, Term: p.Term, Revision: p.Revision, Took: p.Took, DBSize: p.DBSize, DBInUse: p.InUse,
		}
	case e.Defrag != nil:
		d := e.Defrag
		t.Payload = &trace.Defrag{Member: e.Member, Done: d.Done, Before: d.Before, After: d.After, Took: d.Took, Error: d.Error}
	case e.Backup != nil:
		t.Payload = &trace.Backup{Member: e.Member, Revision: e.Backup.Revision, Keys: e.Backup.Keys, Size: e.Backup.Size}
	case e.Read != nil:
		r := e.Read
		t.Payload = &trace.ReadRound{Member: e.Member, Term: r.Term, Index: r.Index, Reads: r.Reads, Took: r.Took, Error: r.Error}
	case e.Snapshot != nil:
		t.Payload = &trace.RaftSnapshotInfo{Member: e.Member, Index: e.Snapshot.Index, Term: e.Snapshot.Term, What: e.Snapshot.What}
	case e.Room != nil:
		t.Payload = &trace.DiskRoom{Member: e.Member, Full: e.Room.Full, Error: e.Room.Error}
	case e.Kind == member.KindFault:
		return t, false // the fault's own event, in the control-plane lane, tells it
	}
	return t, true
}

// membershipEvent tells of a change of the group.
func membershipEvent(t trace.Event, e raftstore.Event) (trace.Event, bool) {
	m := e.Membership
	switch m.What {
	case "joined":
		t.Kind = trace.MemberJoined
	case "promoted":
		t.Kind = trace.MemberPromoted
	case "left":
		t.Kind = trace.MemberLeft
	default:
		return t, false // another address of a member changes nothing that is shown
	}
	all := append(slices.Clone(m.Voters), m.Learners...)
	slices.Sort(all)
	t.Payload = &trace.Membership{Member: e.Member, Learner: m.Learner && m.What != "promoted", Members: all, Voters: len(m.Voters)}
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
