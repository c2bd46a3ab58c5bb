package member

import (
	"time"

	"github.com/hashicorp/raft"
)

// SlowElections makes everything that leads to an election take factor times as
// long: how long followers wait, how long candidates stand, and the leader's
// lease, so that it outlives the same silence. Heartbeats come as often as ever:
// the leader's timeouts set nothing else. 1 is the usual pace.
func (m *Member) SlowElections(factor int) {
	m.pace.Store(int64(factor))
	m.repace(factor > 1 || m.held.Load())
}

// Hold keeps the member from starting elections and from giving up its leadership
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
