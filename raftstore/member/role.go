package member

import (
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/wire"
)

// observe is raft's observer. Raft calls the filter on its own goroutine at
// the moment of the change, which keeps events in order and lets the timing
// follow the role without a gap; nothing is ever sent on a channel.
func (inc *incarnation) observe(o *raft.Observation) bool {
	switch data := o.Data.(type) {
	case raft.RaftState:
		if data == raft.Shutdown {
			return false
		}
		inc.retime(data)
		inc.endpoint.Abandon()
		inc.m.emitState(KindRole, inc, "")
		inc.m.cfg.Changed()
	case raft.LeaderObservation:
		if data.LeaderID != "" {
			inc.m.emitState(KindRole, inc, "")
		}
	}
	return false
}

// termChanged is called when a new term is on disk, just before raft uses it.
func (inc *incarnation) termChanged(term uint64) {
	if !inc.live.Load() {
		return // raft writes its old term once more when it starts
	}
	inc.endpoint.Abandon()
	s := inc.state()
	s.Term, s.Leader = term, ""
	inc.m.emitRole(KindRole, s)
}

// state is what the member is now.
func (inc *incarnation) state() State {
	r := inc.raft
	_, leader := r.LeaderWithID()
	applied, commit := inc.machine.applied.get(), r.CommitIndex()
	if commit > applied && inc.disk.visible(commit, applied) == applied {
		applied = commit // nothing but no-ops between, which have nothing to apply
	}
	return State{
		Role: roleName(r.State()), Term: r.CurrentTerm(), Leader: string(leader),
		Last: r.LastIndex(), Commit: commit, Applied: applied,
	}
}

func roleName(s raft.RaftState) string {
	switch s {
	case raft.Leader:
		return "leader"
	case raft.Candidate:
		return "candidate"
	case raft.Shutdown:
		return "stopped"
	}
	return "follower"
}

func (m *Member) emitState(k Kind, inc *incarnation, reason string) {
	s := inc.state()
	s.Reason = reason
	m.emitRole(k, s)
}

// emitRole reports a state, unless it is the one reported last.
func (m *Member) emitRole(k Kind, s State) {
	if m.cfg.Emit == nil {
		return
	}
	m.emitting.Lock()
	defer m.emitting.Unlock()
	was := m.lastRole
	if k == KindRole && was.Role == s.Role && was.Term == s.Term && was.Leader == s.Leader {
		return
	}
	s.Stands = s.Role == "candidate" && s.Term > was.Term
	m.lastRole = s
	m.cfg.Emit(Event{Kind: k, Member: m.cfg.ID, Wall: time.Now(), State: &s})
}

// emit reports an event. Callers check wanted first, so that nothing is built in
// vain. emitting is what puts events in order, and guards nothing but what that takes
// (lastRole): so it is held while Emit runs, which must not block.
func (m *Member) emit(e Event) {
	m.emitting.Lock()
	defer m.emitting.Unlock()
	m.emitLocked(e)
}

// emitLocked is emit. Call with emitting held.
func (m *Member) emitLocked(e Event) {
	e.Member, e.Wall = m.cfg.ID, time.Now()
	m.cfg.Emit(e)
}

func (m *Member) wanted() bool { return m.cfg.Emit != nil }

// Report reports a message whose sender or receiver is this member.
func (m *Member) Report(p wire.Phase, msg wire.Message) {
	if !m.wanted() {
		return
	}
	if inc := m.running.Load(); inc != nil && p == wire.Sent {
		inc.committed(msg.Commit, msg.Term)
	}
	if p == wire.Sent && msg.RPC == wire.InstallSnapshot {
		m.emit(Event{Kind: KindSnapshot, Snapshot: &Snapshot{Index: msg.PrevLog, Term: msg.PrevTerm, What: "sent"}})
	}
	m.emit(Event{Kind: phaseKinds[p], Message: &msg})
}

var phaseKinds = [...]Kind{wire.Sent: KindSend, wire.Delivered: KindDeliver, wire.Replied: KindReply, wire.Lost: KindLost}

// ReportFault reports a fault of this member or of a link that starts at it.
func (m *Member) ReportFault(f Fault) {
	if m.wanted() {
		m.emit(Event{Kind: KindFault, Fault: &f})
	}
}

// committed tells that the commit index moved. Raft has no hook for it: it is
// seen when the machine gets entries or when the leader sends it on, on several
// goroutines at once.
func (inc *incarnation) committed(index, term uint64) {
	m := inc.m
	if !m.wanted() || index <= inc.commit.Load() {
		return
	}
	m.emitting.Lock()
	defer m.emitting.Unlock()
	if index > inc.commit.Load() { // else a higher one was reported meanwhile
		inc.commit.Store(index)
		m.emitLocked(Event{Kind: KindCommit, Progress: &Progress{Index: index, Term: term}})
	}
}
