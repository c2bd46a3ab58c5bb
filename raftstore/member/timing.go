package member

import (
	"time"

	"github.com/hashicorp/raft"
)

// Timing, measured on two cores (DESIGN.md): short enough to replace a leader in
// about 300 ms, long enough to stay idle below one percent of a core.
const (
	// ElectionTimeout is the least time without a heartbeat after which a
	// follower wants to be leader; also the leader's lease.
	ElectionTimeout = 150 * time.Millisecond
	// leaderHeartbeat is the leader's own HeartbeatTimeout: it sends a
	// heartbeat every tenth to fifth of it.
	leaderHeartbeat = 400 * time.Millisecond
	// commitTimeout is after how long an idle leader tells followers what is
	// committed.
	commitTimeout = 300 * time.Millisecond
	// frozen is the timeout of followers and candidates while messages are
	// held: no election starts.
	frozen = 24 * time.Hour

	maxAppendEntries = 512
	logCacheEntries  = 4096
)

func (m *Member) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(m.cfg.ID)
	c.LeaderLeaseTimeout = ElectionTimeout
	c.HeartbeatTimeout, c.ElectionTimeout = m.timeout(raft.Follower), m.timeout(raft.Follower)
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxAppendEntries
	c.BatchApplyCh = true
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	c.Logger = m.cfg.Logger
	c.SnapshotThreshold = m.cfg.SnapshotEvery
	c.TrailingLogs = m.cfg.SnapshotTrailing
	c.SnapshotInterval = 30 * time.Second
	return c
}

func (m *Member) timeout(role raft.RaftState) time.Duration {
	switch {
	case role == raft.Leader:
		return leaderHeartbeat
	case m.held.Load():
		return frozen
	}
	return ElectionTimeout
}

// retime sets the timeouts for the role. A leader's timeouts only set its
// heartbeat interval, so it may have longer ones than its followers.
func (inc *incarnation) retime(role raft.RaftState) {
	t := inc.m.timeout(role)
	// The values are constants that raft accepts.
	_ = inc.raft.ReloadConfig(raft.ReloadableConfig{
		TrailingLogs:      inc.m.cfg.SnapshotTrailing,
		SnapshotThreshold: inc.m.cfg.SnapshotEvery,
		SnapshotInterval:  30 * time.Second,
		HeartbeatTimeout:  t,
		ElectionTimeout:   t,
	})
}

// Hold keeps the member from starting elections (true), or lets it again.
func (m *Member) Hold(on bool) {
	m.held.Store(on)
	if inc := m.running.Load(); inc != nil {
		inc.retime(inc.raft.State())
	}
}
