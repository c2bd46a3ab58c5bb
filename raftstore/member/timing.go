package member

import (
	"time"

	"github.com/hashicorp/raft"
)

// Timing, measured on two cores (DESIGN.md): short enough to replace a leader in
// about 400 ms; long enough for a busy machine, and to stay idle below one
// percent of a core.
const (
	// ElectionTimeout is the least time without a heartbeat after which a
	// follower wants to be leader; also the leader's lease.
	ElectionTimeout = 250 * time.Millisecond
	// leaderHeartbeat is the leader's own HeartbeatTimeout: it sends a
	// heartbeat every tenth to fifth of it.
	leaderHeartbeat = 600 * time.Millisecond
	// commitTimeout is after how long an idle leader tells followers what is
	// committed.
	commitTimeout = 300 * time.Millisecond
	// frozen is the timeout of followers and candidates while messages are
	// held: no election starts.
	frozen = 24 * time.Hour

	maxAppendEntries = 256
	logCacheEntries  = 4096
)

func (m *Member) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(m.cfg.ID)
	c.LeaderLeaseTimeout = ElectionTimeout // follows the pace as soon as raft runs
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

// asked is how many entries a requested snapshot leaves in the log: so few that a
// lagging follower gets the snapshot, but more than a healthy follower is behind.
const asked = 10

// trailing is how many entries the next snapshot leaves in the log.
func (m *Member) trailing() uint64 {
	if m.asked.Load() > 0 {
		return min(asked, m.cfg.SnapshotTrailing)
	}
	return m.cfg.SnapshotTrailing
}

func (m *Member) timeout(role raft.RaftState) time.Duration {
	switch {
	case role == raft.Leader:
		return leaderHeartbeat
	case m.held.Load():
		return frozen
	}
	return m.slowed(ElectionTimeout)
}

// slowed is an election's duration at the configured pace.
func (m *Member) slowed(d time.Duration) time.Duration {
	return d * time.Duration(max(m.pace.Load(), 1))
}

// retime sets the timeouts for the role. A leader's timeouts only set its
// heartbeat interval, so it may have longer ones than its followers.
func (inc *incarnation) retime(role raft.RaftState) { inc.setTimeouts(inc.m.timeout(role)) }

// setTimeouts sets how long the member waits for a leader, and for votes.
func (inc *incarnation) setTimeouts(t time.Duration) {
	inc.timing.Lock()
	defer inc.timing.Unlock()
	// Raft checks the other timeouts against the lease it has.
	setLease(inc.raft, min(ElectionTimeout, t))
	// The values are constants that raft accepts.
	_ = inc.raft.ReloadConfig(raft.ReloadableConfig{
		TrailingLogs:      inc.m.trailing(),
		SnapshotThreshold: inc.m.cfg.SnapshotEvery,
		SnapshotInterval:  30 * time.Second,
		HeartbeatTimeout:  t,
		ElectionTimeout:   t,
	})
	switch {
	case inc.m.held.Load():
		setLease(inc.raft, heldLease)
	default:
		setLease(inc.raft, inc.m.slowed(ElectionTimeout))
	}
}
