package raftstore

// Kill ends a member as kill -9 ends a process: nobody is notified, and a leader
// hands nothing over. What it had written stays in its file, synced or not,
// because the machine goes on; what was only in its memory is gone.
// [Replicated.Crash] is the machine's end.
func (s *Replicated) Kill(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	return m.Kill("killed")
}
