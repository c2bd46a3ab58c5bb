package raftstore

import "time"

// tell reports what no member reports itself.
func (s *Replicated) tell(e Event) {
	if s.cfg.Events != nil {
		e.Wall = time.Now()
		s.cfg.Events(e)
	}
}
