package raftstore

import (
	"fmt"

	"kviz/raftstore/member"
)

// maxPace is by how much elections can be slowed down at most.
const maxPace = 100

// SlowElections makes elections take factor times as long, to be watched: 10 makes
// seconds of the quarter of a second that a follower waits for its leader. Writes and
// heartbeats are as fast as ever. 1 is the usual pace again; no election comes of it.
func (s *Replicated) SlowElections(factor int) error {
	if factor < 1 || factor > maxPace {
		return fmt.Errorf("raftstore: elections %d times as slow; it goes from 1 to %d", factor, maxPace)
	}
	for _, m := range s.everybody(func() { s.pace.Store(int64(factor)) }) {
		m.ReportFault(member.Fault{What: "slow elections", On: factor > 1, Detail: fmt.Sprintf("%d times", factor)})
		m.SlowElections(factor)
	}
	return nil
}
