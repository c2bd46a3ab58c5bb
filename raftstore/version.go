package raftstore

import "kviz/raftstore/apply"

// VersionsAt is what a member knows of the cluster's version.
func (s *Replicated) VersionsAt(id string) (v apply.Versions, err error) {
	m, err := s.membership.member(id)
	if err != nil {
		return v, err
	}
	err = m.Inspect(func(st *apply.State) { v = st.Versions() })
	return v, err
}

// VersionsAt is what was said of the store's version: there is one member.
func (b *bare) VersionsAt(string) (apply.Versions, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Versions(), nil
}
