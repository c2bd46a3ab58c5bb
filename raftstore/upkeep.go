package raftstore

// OnUpkeep sets the function that is called with every request that took effect and changed
// what the store holds besides its keys: leases granted and revoked, alarms raised and cleared,
// history compacted. Its calls and those of [Store.OnCommit] are in log order; a revocation
// that deleted keys comes after the commit. fn must not block. Set it before the first Do.
func (s *Replicated) OnUpkeep(fn func(*Result)) {
	s.front.Lock()
	defer s.front.Unlock()
	s.onUpkeep = fn
}

// OnUpkeep sets the function that is called with leases, alarms and compaction.
func (b *bare) OnUpkeep(fn func(*Result)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onUpkeep = fn
}

// isUpkeep reports whether a request took effect and changed something beside
// keys.
func isUpkeep(r *Result) bool {
	q := r.Request
	return r.Err == nil && q != nil && (q.LeaseGrant != nil || q.LeaseRevoke != nil || q.Compaction != nil || q.Alarm != nil)
}
