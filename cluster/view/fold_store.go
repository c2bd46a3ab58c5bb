package view

import (
	"kviz/cluster/trace"
)

const (
	logWindow  = 256
	maxCommits = 256
	maxEnded   = 64
	maxFlight  = 4096

	preVote = "RequestPreVote"
)

func init() {
	on(trace.MemberRole, memberRole)
	on(trace.MemberUp, memberUp)
	on(trace.MemberDown, memberDown)
	on(trace.RaftSend, raftSend)
	on(trace.RaftDeliver, raftDeliver)
	on(trace.RaftReply, raftReply)
	on(trace.RaftLost, raftLost)
	on(trace.RaftAppend, raftAppend)
	on(trace.RaftDurable, raftDurable)
	on(trace.RaftTruncate, raftTruncate)
	on(trace.RaftVote, raftVote)
	on(trace.RaftTimeout, raftTimeout)
	on(trace.RaftCommit, raftCommit)
	on(trace.RaftApply, raftApply)
	on(trace.RaftSnapshot, raftSnapshot)
	on(trace.StoreCommit, storeCommit)
	on(trace.StoreRefused, func(b *Builder, e *trace.Event, p *trace.StoreError) {
		b.s.Store.Refused = recent(b.s.Store.Refused, Refusal{*p, e.ID, e.At}, 32)
		b.s.Store.Failed++
	})
	on(trace.StoreCompact, func(b *Builder, e *trace.Event, p *trace.Compaction) {
		b.s.Store.Compacted = p.Revision
		b.s.Store.CompactedBy = e.ID
	})
}

func (b *Builder) member(name string) *Member {
	m := edit(b, b.s.Store.members, name)
	if m.Name == "" {
		m.Name, m.Up = name, true
	}
	return m
}

func memberRole(b *Builder, e *trace.Event, p *trace.MemberState) {
	m := b.member(p.Member)
	wasLeader := m.Role == "leader"
	if p.Role == "candidate" && (m.Role != "candidate" || m.Term != p.Term) {
		m.Votes = nil
	}
	b.term(e, p.Term)
	b.memberState(m, e, p)
	m.Up = p.Role != "stopped"
	s := &b.s.Store
	switch {
	case p.Role == "leader":
		if !wasLeader || s.Leader != p.Member {
			s.Elections++
			m.Peers = nil
			b.otherPeers(m)
		}
		s.Leader = p.Member
		b.won(p)
	case s.Leader == p.Member:
		s.Leader = ""
	}
}

// otherPeers starts the new leader's knowledge of the others: it knows
// nothing of them, and will first offer them what follows its own last entry.
func (b *Builder) otherPeers(m *Member) {
	b.s.Store.members.all(func(name string, _ *Member) bool {
		if name != m.Name {
			m.Peers = append(m.Peers, Peer{Name: name, Next: m.Last + 1})
		}
		return true
	})
}

func (b *Builder) memberState(m *Member, e *trace.Event, p *trace.MemberState) {
	if m.Role != p.Role || m.Term != p.Term {
		m.Since, m.Event = e.At, e.ID
	}
	m.Role, m.Term, m.Leader = p.Role, p.Term, p.Leader
	if m.Role != "follower" {
		m.Timeout = nil
	}
	if p.Last > 0 {
		m.Last = p.Last
	}
	m.Durable = max(min(m.Durable, m.Last), m.Commit)
	m.Commit, m.Applied = max(m.Commit, p.Commit), max(m.Applied, p.Applied)
	b.s.Store.Term = max(b.s.Store.Term, p.Term)
}

func memberUp(b *Builder, e *trace.Event, p *trace.MemberState) {
	m := b.member(p.Member)
	m.Role = ""
	b.memberState(m, e, p)
	m.Up, m.Reason, m.DiskError = true, p.Reason, ""
	m.FullDisk = nil // it says so again when its disk refuses a write
	m.Last = max(p.Last, m.Last*b2u(p.Last == 0))
	m.Durable = m.Last // what it read back is on disk
	if m.Role == "" || m.Role == "stopped" {
		m.Role = "follower"
	}
}

func memberDown(b *Builder, e *trace.Event, p *trace.MemberState) {
	m := b.member(p.Member)
	m.Up, m.Role, m.Leader, m.Reason = false, "stopped", "", p.Reason
	m.Timeout = nil
	m.Since, m.Event = e.At, e.ID
	m.Peers, m.Votes = nil, nil
	if b.s.Store.Leader == p.Member {
		b.s.Store.Leader = ""
	}
}

func b2u(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

func raftSend(b *Builder, e *trace.Event, p *trace.RaftMessage) {
	s := &b.s.Store
	m := edit(b, s.messages, p.Serial)
	m.Serial, m.RPC, m.From, m.To, m.Phase, m.Request, m.Sent, m.At = p.Serial, p.RPC, p.From, p.To, "sent", p, e.ID, e.At
	s.messages.trim(maxFlight)
	if p.RPC != preVote { // a pre-vote asks about a term that nobody is in yet
		s.Term = max(s.Term, p.Term)
	}
	if p.RPC == "AppendEntries" {
		if peer := b.peer(p.From, p.To); peer != nil {
			peer.Sent = e.At
			peer.Next = p.PrevLog + uint64(len(p.Entries)) + 1
		}
	}
}

// peer is what a member knows of another, ready to be changed; nil where from
// does not lead.
func (b *Builder) peer(from, to string) *Peer {
	if m, ok := b.s.Store.members.get(from); !ok || m.Role != "leader" {
		return nil
	}
	m := b.member(from)
	if p := m.Peer(to); p != nil {
		return p
	}
	m.Peers = append(m.Peers, Peer{Name: to})
	return &m.Peers[len(m.Peers)-1]
}

func raftDeliver(b *Builder, e *trace.Event, p *trace.RaftMessage) {
	if _, ok := b.s.Store.messages.get(p.Serial); !ok {
		return
	}
	m := edit(b, b.s.Store.messages, p.Serial)
	m.Phase, m.Delivered = "delivered", e.ID
	m.Came++
}

func raftReply(b *Builder, e *trace.Event, p *trace.RaftMessage) {
	from, to := b.end(e, p, "answered")
	if p.RPC != preVote {
		b.s.Store.Term = max(b.s.Store.Term, p.ReplyTerm)
	}
	switch p.RPC {
	case "AppendEntries", "InstallSnapshot":
		peer := b.peer(from, to)
		if peer == nil {
			return
		}
		peer.Heard, peer.Lost = e.At, 0
		if p.OK {
			peer.Match = max(peer.Match, p.Match)
			peer.Next = max(peer.Next, peer.Match+1)
		} else if p.Match > 0 {
			peer.Next = p.Match + 1
		}
	case "RequestVote", preVote:
		if p.RPC == "RequestVote" && p.OK {
			b.voteCame(from, to, p.Term, true)
		}
		m := b.member(from)
		m.Votes = append(m.Votes, Vote{From: to, Term: p.Term, Granted: p.OK, Pre: p.RPC == preVote, Event: e.ID})
		if len(m.Votes) > 64 {
			m.Votes = append([]Vote(nil), m.Votes[32:]...)
		}
	}
}

func raftLost(b *Builder, e *trace.Event, p *trace.RaftMessage) {
	from, to := b.end(e, p, "lost")
	if p.RPC == "RequestVote" {
		b.voteCame(from, to, p.Term, false)
	}
	if peer := b.peer(from, to); peer != nil {
		peer.Lost++
	}
}

// end takes a message out of flight. The answer's sender is the request's
// receiver; whichever way round the event names them, from and to are the
// request's.
func (b *Builder) end(e *trace.Event, p *trace.RaftMessage, phase string) (from, to string) {
	s := &b.s.Store
	from, to = p.From, p.To
	m, ok := s.messages.delete(p.Serial)
	n := &Message{Serial: p.Serial, RPC: p.RPC, From: from, To: to, At: e.At}
	if ok {
		*n = *m
		from, to = m.From, m.To
	}
	n.n = b.gen
	n.Phase, n.Answer, n.Ended = phase, p, e.ID
	s.ended.set(p.Serial, n)
	s.ended.trim(maxEnded)
	return from, to
}

func raftAppend(b *Builder, e *trace.Event, p *trace.RaftLog) {
	m := b.member(p.Member)
	if p.Error != "" {
		m.DiskError = p.Error
		return
	}
	m.DiskError = ""
	if len(p.Entries) > 0 {
		m.cut(p.Entries[0].Index)
	}
	for _, x := range p.Entries {
		m.log = recent(m.log, LogEntry{x, e.ID}, logWindow)
	}
	m.Last = max(m.Last, p.Last)
	if n := len(p.Entries); n > 0 {
		m.Last = max(m.Last, p.Entries[n-1].Index)
	}
}

// cut removes the entries from an index on, as a follower does with a tail
// that conflicts with its leader's.
func (m *Member) cut(index uint64) {
	n := len(m.log)
	for n > 0 && m.log[n-1].Index >= index {
		n--
	}
	if n < len(m.log) {
		m.log = m.log[:n:n]
	}
}

func raftDurable(b *Builder, e *trace.Event, p *trace.RaftLog) {
	m := b.member(p.Member)
	if p.Error != "" {
		m.DiskError = p.Error
		return
	}
	m.Durable = max(m.Durable, p.Last)
	m.Last = max(m.Last, p.Last)
	if p.Took > 0 {
		d := m.disk()
		d.Fsync.add(p.Took)
		d.took = recent(d.took, p.Took, samples)
		b.second(e).Fsync.add(p.Took, e.ID)
	}
}

func raftTruncate(b *Builder, e *trace.Event, p *trace.RaftLog) {
	m := b.member(p.Member)
	if p.Last >= m.Last { // a conflicting tail
		m.cut(p.First)
		if p.First > 0 {
			m.Last = min(m.Last, p.First-1)
			m.Durable = min(m.Durable, m.Last)
		}
		return
	}
	n := 0 // a prefix that a snapshot covers
	for n < len(m.log) && m.log[n].Index <= p.Last {
		n++
	}
	m.log = m.log[n:]
}

func raftVote(b *Builder, e *trace.Event, p *trace.RaftVoteRecord) {
	m := b.member(p.Member)
	m.VotedFor, m.VotedTerm = p.Candidate, p.Term
	b.vote(e, p)
}

func raftTimeout(b *Builder, e *trace.Event, p *trace.RaftPatience) {
	m := b.member(p.Member)
	if m.Timeout = p; p.Left >= 4 {
		m.Timeout = nil
	}
	m.TimeoutEvent = e.ID
}

func raftCommit(b *Builder, e *trace.Event, p *trace.RaftProgress) {
	m := b.member(p.Member)
	m.Commit = max(m.Commit, p.Index)
	if m.Role == "leader" && p.Took > 0 {
		b.committed(e, p)
	}
}

func raftApply(b *Builder, e *trace.Event, p *trace.RaftProgress) {
	m := b.member(p.Member)
	m.Applied = max(m.Applied, p.Index)
	m.Commit = max(m.Commit, p.Index)
	m.Revision = max(m.Revision, p.Revision)
	if p.DBSize > 0 {
		m.DBSize, m.DBInUse = p.DBSize, p.DBInUse
	}
	if p.Took > 0 {
		m.backs = recent(m.backs, p.Took, samples)
	}
}

func raftSnapshot(b *Builder, e *trace.Event, p *trace.RaftSnapshotInfo) {
	m := b.member(p.Member)
	m.SnapshotIndex, m.SnapshotTerm = p.Index, p.Term
	if p.What == "installed" {
		m.log = nil
		m.Last = max(m.Last, p.Index)
		m.Durable, m.Commit, m.Applied = max(m.Durable, p.Index), max(m.Commit, p.Index), max(m.Applied, p.Index)
	}
}

func storeCommit(b *Builder, e *trace.Event, p *trace.Commit) {
	s := &b.s.Store
	s.Revision = p.Revision
	s.commits.set(p.Revision, &Commit{p, e.ID, e.At})
	s.commits.trim(maxCommits)
	for i := range p.Changes {
		b.changeKey(e, p.Revision, &p.Changes[i])
	}
	b.commitOfRequest(e)
}

func (b *Builder) changeKey(e *trace.Event, revision int64, c *trace.KeyChange) {
	s := &b.s.Store
	var history []KeyWrite
	if old, ok := s.keys.get(c.Key); ok {
		history = old.history
	}
	if c.Lease != 0 || c.Deleted {
		b.leaseKeys(c)
	}
	if c.Deleted {
		s.keys.delete(c.Key)
	} else {
		create := c.CreateRevision
		if create == 0 {
			create = revision
		}
		s.keys.set(c.Key, &Key{
			Key: c.Key, CreateRevision: create, ModRevision: revision, Version: c.Version,
			Size: c.Size, Lease: c.Lease, Ref: c.Object, Event: e.ID, Raw: c.Raw,
			history: written(history, KeyWrite{Event: e.ID, At: e.At, Revision: revision, Version: c.Version, Size: c.Size}),
		})
	}
	if c.Object.Kind == "Lease" && c.Object.Namespace == "kube-node-lease" && c.Version > 1 {
		b.second(e).Renewed++
	}
	if c.Object.Kind != "" {
		b.changeObject(e, revision, c)
	}
}
