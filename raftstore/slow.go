package raftstore

import (
	"fmt"
	"time"

	"kviz/raftstore/member"
)

// maxPace is by how much elections can be slowed down at most.
const maxPace = 100

// SlowElections makes elections take factor times as long, so that they can be
// watched: with 10, a follower waits for seconds instead of a quarter of a second for
// its leader. Writes and heartbeats stay as fast as before. 1 restores the usual
// pace, without causing an election.
func (s *Replicated) SlowElections(factor int) error {
	if factor < 1 || factor > maxPace {
		return fmt.Errorf("raftstore: elections %d times as slow; it goes from 1 to %d", factor, maxPace)
	}
	for _, m := range s.membership.everybody(func() { s.pace.Store(int64(factor)) }) {
		m.ReportFault(member.Fault{What: "slow elections", On: factor > 1, Detail: fmt.Sprintf("%d times", factor)})
		m.SlowElections(s.slowness())
	}
	return nil
}

// hop is how long a message between members takes at least when the store runs slower
// than it can: as long as in one data centre, so that in slow motion messages can be seen
// on their way. It is so little that a write stays below what writes are said to take.
const hop = 500 * time.Microsecond

// SlowDown has everything that goes by the members' clocks take factor times as long:
// elections, the time that messages take, and until a request times out. 1 is real time.
// Disks and heartbeats are as fast as ever.
func (s *Replicated) SlowDown(factor int) {
	s.order.clock.slow(factor)
	for _, m := range s.membership.everybody(func() { s.slowed.Store(int64(factor)) }) {
		m.SlowElections(s.slowness())
	}
	if s.wire != nil {
		s.wire.Latency(time.Duration(factor-1) * hop)
	}
	s.order.wake()
	s.leases.wake()
}

// slowness is by how much elections are slower than they can be.
func (s *Replicated) slowness() int {
	return int(max(s.pace.Load(), 1) * max(s.slowed.Load(), 1))
}
