package wire

import (
	"time"

	"github.com/hashicorp/raft"
)

// isNews says whether the request tells its receiver anything: everything but
// heartbeats, and appends without entries whose position and commit index the
// receiver is known to have.
func (c *call) isNews() bool {
	if c.m.RPC != AppendEntries || len(c.m.Entries) > 0 {
		return true
	}
	if c.m.Heartbeat() {
		return false
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	l := c.n.link(c.m.From, c.m.To)
	return l.term != c.m.Term || l.receiver == nil || l.receiver != c.n.endpoints[c.m.To] ||
		c.m.Commit > l.delivered || c.m.PrevLog > l.progress.Match
}

// answer describes the answer to the request.
func (c *call) answer(resp any) Message {
	m := c.m
	m.Answer = true
	switch r := resp.(type) {
	case *raft.AppendEntriesResponse:
		m.OK, m.ReplyTerm = r.Success, r.Term
		if r.Success {
			m.Match = m.last()
		}
	case *raft.RequestVoteResponse:
		m.OK, m.ReplyTerm = r.Granted, r.Term
	case *raft.RequestPreVoteResponse:
		m.OK, m.ReplyTerm = r.Granted, r.Term
	case *raft.InstallSnapshotResponse:
		m.OK, m.ReplyTerm = r.Success, r.Term
		if r.Success {
			m.Match = m.PrevLog
		}
	case *raft.TimeoutNowResponse:
		m.OK = true
	}
	return m
}

// last is the last index that the receiver of an accepted append holds. It is
// not the answer's LastLog, which is from before the append.
func (m *Message) last() uint64 {
	if n := len(m.Entries); n > 0 {
		return m.Entries[n-1].Index
	}
	return m.PrevLog
}

// learn notes what the sender now knows of the receiver, as raft's replicateTo
// does (nextIndex, commitment.match): raft keeps it private.
func (c *call) learn(to *Endpoint, back *Message, resp any) {
	if c.m.RPC != AppendEntries && c.m.RPC != InstallSnapshot {
		return
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	l := c.n.link(c.m.From, c.m.To)
	if l.term < c.m.Term {
		l.term, l.progress, l.delivered, l.contact = c.m.Term, Progress{Next: c.m.PrevLog + 1}, 0, time.Time{}
	}
	if l.term != c.m.Term || back.ReplyTerm > c.m.Term {
		return
	}
	if c.started.After(l.contact) { // a slow append is answered after heartbeats that were sent later
		l.contact = c.started
	}
	if c.m.Heartbeat() {
		return
	}
	if l.receiver != to {
		l.receiver, l.delivered = to, 0
	}
	if back.OK {
		l.delivered = max(l.delivered, c.m.Commit)
		l.progress.Match = max(l.progress.Match, back.Match)
		l.progress.Next = max(l.progress.Next, l.progress.Match+1)
		return
	}
	if r, ok := resp.(*raft.AppendEntriesResponse); ok && l.progress.Next > 0 {
		l.progress.Next = max(min(l.progress.Next-1, r.LastLog+1), 1)
	}
}
