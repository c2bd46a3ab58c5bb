package member

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// SlowElections makes everything that leads to an election take factor times as
// long: how long followers wait, how long candidates stand, and the leader's
// lease, so that it outlives the same silence. Heartbeats come as often as ever:
// the leader's timeouts set nothing else. 1 is the usual pace.
func (m *Member) SlowElections(factor int) {
	m.pace.Store(int64(factor))
	m.repace(factor > 1 || m.held.Load(), m.slowed(ElectionTimeout))
}

// Hold keeps the member from starting elections and from giving up its leadership
// (true), or allows it again (false).
//
// Timeouts that become shorter are looked at by raft at once. On a busy machine
// the last heartbeat may be older than they are; then every follower would stand
// for election in the same instant. So a follower's are set only when the next
// heartbeat has come. If none comes, there is nobody to wait for.
//
// A follower that hears of no leader goes on from where its timeout stood: else a
// store that moves for moments only, from step to step, would never elect.
func (m *Member) Hold(on bool) {
	m.held.Store(on)
	left := m.silence.hold(on, m.slowed(ElectionTimeout), m.contact())
	m.repace(on, left)
}

// contact is when raft last heard from a leader, or gave its vote; zero for never.
func (m *Member) contact() time.Time {
	if inc := m.running.Load(); inc != nil {
		return inc.raft.LastContact()
	}
	return time.Time{}
}

// repace sets the timeouts again: at once, or when a heartbeat has come or after a time.
func (m *Member) repace(longer bool, after time.Duration) {
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
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			thaw()
		case <-inc.stopped:
		}
	})
}

// silence counts for how long a member has heard of no leader while it was not held,
// over any number of holds.
type silence struct {
	mu      sync.Mutex
	held    bool
	turned  time.Time     // when held changed
	counted time.Duration // before that
	lot     float64       // by which part of a timeout this one is longer than the least
}

// hold notes that the member is held, or no longer, and gives what is left of a timeout
// of the given length.
func (s *silence) hold(on bool, timeout time.Duration, contact time.Time) (left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if contact.After(s.turned) {
		s.counted, s.lot = 0, rand.Float64()
	}
	if !s.held {
		from := s.turned
		if contact.After(from) {
			from = contact
		}
		s.counted += now.Sub(from)
	}
	s.held, s.turned = on, now
	return max(timeout+time.Duration(s.lot*float64(timeout))-s.counted, 0)
}
