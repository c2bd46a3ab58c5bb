package member

import (
	"github.com/hashicorp/raft"
)

// Glance is what can be said of a member without a lock of raft's main loop or
// a look at its log: cheap enough for every request.
type Glance struct {
	Up     bool
	Leads  bool
	Leader string // whom it follows, "" if it knows none
	Term   uint64
}

// Glance tells it; see [Member.Status] for more.
func (m *Member) Glance() Glance {
	inc := m.running.Load()
	if inc == nil {
		return Glance{}
	}
	_, leader := inc.raft.LeaderWithID()
	return Glance{Up: true, Leads: inc.raft.State() == raft.Leader, Leader: string(leader), Term: inc.raft.CurrentTerm()}
}

// Revision is the revision that the member's own state has; 0 if it is down.
func (m *Member) Revision() int64 {
	inc := m.running.Load()
	if inc == nil {
		return 0
	}
	return inc.machine.revision()
}
