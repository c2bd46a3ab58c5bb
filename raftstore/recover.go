package raftstore

import (
	"errors"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

var errNotYet = errors.New("raftstore: not there yet")

// Damage is what happens to a member's log file; see [member.Damage].
type Damage = member.Damage

// Recover goes on from one member's data when the quorum is lost for good: etcd's
// --force-new-cluster.
func (s *Replicated) Recover(id string) error { return errNotYet }

// RebuildOptions are etcdutl snapshot restore's --bump-revision and
// --mark-compacted.
type RebuildOptions struct {
	BumpRevision  int64
	MarkCompacted bool
}

// Rebuild gives every member a new disk with this state: etcdutl snapshot restore
// and start.
func (s *Replicated) Rebuild(state *apply.State, opt RebuildOptions) error { return errNotYet }

// Corrupt damages the log file of a member that is down.
func (s *Replicated) Corrupt(id string, what Damage) error { return errNotYet }

// SplitVote arranges an election in which nobody gets a majority.
func (s *Replicated) SplitVote() error { return errNotYet }
