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

	maxAppendEntries = 512
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

// asked is how many entries a snapshot that somebody asked for leaves in the log:
// so few that who lags gets the snapshot, and more than a healthy follower is behind.
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

// slowed is a time of the election, at the pace that is asked for.
func (m *Member) slowed(d time.Duration) time.Duration {
	return d * time.Duration(max(m.pace.Load(), 1))
}

// retime sets the timeouts for the role. A leader's timeouts only set its
// heartbeat interval, so it may have longer ones than its followers.
func (inc *incarnation) retime(role raft.RaftState) {
	inc.timing.Lock()
	defer inc.timing.Unlock()
	// Raft checks the other timeouts against the lease it has.
	setLease(inc.raft, ElectionTimeout)
	t := inc.m.timeout(role)
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

// SlowElections makes everything that leads to an election take factor times as
// long: how long followers wait, how long candidates stand, and the leader's
// lease, so that it outlives the same silence. Heartbeats come as often as ever:
// the leader's timeouts set nothing else. 1 is the usual pace.
func (m *Member) SlowElections(factor int) {
	m.pace.Store(int64(factor))
	m.repace(factor > 1 || m.held.Load())
}

// Hold keeps the member from starting elections and from giving up its office
// (true), or lets it again.
//
// Timeouts that become shorter are looked at by raft at once. On a busy machine
// the last heartbeat may be older than they are; then every follower would stand
// for election in the same instant. So a follower's are set only when the next
// heartbeat has come. If none comes, there is nobody to wait for.
func (m *Member) Hold(on bool) {
	m.held.Store(on)
	m.repace(on)
}

// repace sets the timeouts anew.
func (m *Member) repace(longer bool) {
	inc := m.running.Load()
	if inc == nil {
		return
	}
	if longer || inc.raft.State() == raft.Leader {
		inc.retime(inc.raft.State())
		return
	}
	thaw := func() { inc.retime(inc.raft.State()) }
	inc.endpoint.AfterHeartbeat(thaw)
	m.cfg.Go("thaw of "+m.cfg.ID, func() {
		timer := time.NewTimer(m.slowed(ElectionTimeout))
		defer timer.Stop()
		select {
		case <-timer.C:
			thaw()
		case <-inc.stopped:
		}
	})
}
