package member

import (
	"time"

	"github.com/hashicorp/raft"
)

// Timeout is how much of a follower's election timeout is left. Raft draws the timeout
// by lot, between AtLeast and AtMost, and tells nobody; what can be known is how long
// the follower has heard of no leader.
type Timeout struct {
	Leader          string // whom it waits to hear from, "" if it knows none
	Left            int    // quarters of the least timeout that are left: 4 when it has just heard
	AtLeast, AtMost time.Duration
	Factor          int // by how much elections are slowed down; 1 for the usual pace
}

// quarters are what a timeout is told in. The first is no news: heartbeats come in it.
const quarters = 4

// electionTimeout is how far that of a follower has come.
type electionTimeout struct {
	since time.Time // raft heard from a leader, or voted, or the role changed
	left  int       // as it was told last
}

// lookAtTimeout looks how much of a follower's election timeout is left, tells if that has
// changed, and says when to look again. While messages are held no timeout runs.
func (inc *incarnation) lookAtTimeout(p *electionTimeout) (again time.Duration) {
	m, now := inc.m, time.Now()
	least := m.slowed(ElectionTimeout)
	if inc.raft.State() != raft.Follower || m.held.Load() {
		p.since = now
		return least / 2
	}
	if contact := inc.raft.LastContact(); contact.After(p.since) {
		p.since = contact
	}
	passed := now.Sub(p.since)
	left := max(quarters-int(passed*quarters/least), 0)
	if left == quarters-1 {
		left = quarters
	}
	if left != p.left {
		p.left = left
		_, leader := inc.raft.LeaderWithID()
		m.emit(Event{Kind: KindTimeout, Timeout: &Timeout{
			Leader: string(leader), Left: left, AtLeast: least, AtMost: 2 * least, Factor: int(max(m.pace.Load(), 1)),
		}})
	}
	for part := 2; part <= quarters; part++ {
		if next := least*time.Duration(part)/quarters - passed; next > 0 {
			return next
		}
	}
	return least / quarters
}
