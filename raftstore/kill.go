package raftstore

// Kill ends a member as kill -9 ends a process: nobody is notified, and a leader does
// not transfer its leadership. What it had written stays in its file, synced or not,
// because the machine keeps running; what was only in its memory is gone.
// [Replicated.Crash] crashes the machine.
func (s *Replicated) Kill(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	return m.Kill("killed")
}
