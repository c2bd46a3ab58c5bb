package raftstore

// What is counted about the store, for its metrics.

// Quota is how many bytes a member's database may take now, less than 0 without
// a limit.
func (s *Replicated) Quota() int64 { return s.cfg.limits().QuotaNow() }

// Quota is how many bytes the database may take now.
func (b *bare) Quota() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Quota()
}

// Pending is how many writes are under way whose end is not known.
func (o *order) Pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.writes.byNumber)
}
