package member

import (
	"time"

	"github.com/hashicorp/raft"
)

// What a held member's election timeout is for a moment when it is to run out, and how
// long that moment lasts. Raft needs a few microseconds to see it; a busy machine may
// need longer. A candidate draws its next timeout after the moment, and so waits again.
const (
	overdue  = 40 * time.Millisecond
	noticing = 20 * time.Millisecond
)

// TimeOut makes the election timeout of a held member expire: a follower stands for
// election, and a candidate that was not elected stands again. It does nothing at a
// leader.
func (m *Member) TimeOut() {
	inc := m.running.Load()
	if inc == nil || !m.held.Load() {
		return
	}
	role := inc.raft.State()
	wait := noticing
	switch role {
	case raft.Follower:
		wait = 3 * overdue // it may have heard of its leader a moment ago; its new role sets the timeouts again
	case raft.Candidate:
	default:
		return
	}
	inc.setTimeouts(overdue)
	m.cfg.Go("timeout of "+m.cfg.ID, func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			inc.retime(inc.raft.State())
		case <-inc.stopped:
		}
	})
}
