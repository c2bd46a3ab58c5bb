package raftstore

import (
	"cmp"
	"fmt"
	"io"

	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/member"
)

// Backup writes a member's state as an etcd snapshot file (package dbfile), as etcd's
// Maintenance.Snapshot sends it. The snapshot is of one moment, however big the state
// is, and is written while the member goes on.
func (s *Replicated) Backup(id string, w io.Writer) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	var c dbfile.Content
	if err := m.Change(func(st *apply.State) { c = contentOf(st) }); err != nil {
		return err
	}
	status := m.Status()
	c.Term = status.Term
	c.ConsistentIndex = cmp.Or(c.ConsistentIndex, status.Applied)
	for _, ms := range s.Members() {
		c.Members = append(c.Members, dbfile.Member{
			ID: MemberID(ms.ID), Name: ms.ID, IsLearner: ms.Learner, PeerURLs: ms.PeerURLs, ClientURLs: []string{},
		})
	}
	file := &counted{w: w}
	if err := dbfile.Write(file, c); err != nil {
		return fmt.Errorf("backup of member %s: %w", id, err)
	}
	told := &member.Backup{Size: file.n, Revision: status.Revision}
	_ = m.Inspect(func(st *apply.State) { told.Keys = st.KV.Keys() }) // down by now: it said what it had
	s.tell(Event{Kind: member.KindBackup, Member: id, Backup: told})
	return nil
}

// counted is a writer that knows how much went through it.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Backup writes the state as an etcd snapshot file.
func (b *bare) Backup(_ string, w io.Writer) error {
	b.mu.Lock()
	c := contentOf(b.state)
	b.mu.Unlock()
	if err := dbfile.Write(w, c); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// contentOf takes a state as it is now.
func contentOf(st *apply.State) dbfile.Content {
	f := st.Snapshot()
	return dbfile.Content{
		KV: f.KV, Alarms: f.Alarms, Auth: f.Users(), ConsistentIndex: f.KV.AppliedIndex(),
		ClusterVersion: f.Versions.Cluster, WriteAs: f.Versions.Cluster, DowngradeTo: f.Versions.Target,
	}
}
