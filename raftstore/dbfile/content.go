// Package dbfile reads and writes etcd's database files: what etcdctl snapshot
// save leaves on the disk, what etcdutl snapshot status and restore take, and
// what an etcd member keeps in member/snap/db.
//
// Such a file is a bbolt database. The bucket "key" holds one record a
// revision; "meta" how far the log was applied and the history compacted;
// "lease", "alarm", "auth", "authUsers", "authRoles", "members",
// "members_removed" and "cluster" the rest of a member's state. A snapshot has
// the SHA-256 of everything before it at its end; a file copied from a data
// directory has not.
//
// [Write] uses bbolt itself. [Read] does not: bbolt panics, or worse, over damaged
// pages, and a backup is exactly what one reads after something was damaged. pages.go
// checks every page before it trusts it.
//
// Mirrors etcd server/storage/schema and etcdutl/snapshot/v3_snapshot.go. Start
// reading at [Content].
package dbfile

import (
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/mvcc"
)

// Content is what a database file holds.
type Content struct {
	KV     *mvcc.Snapshot // the keys with their history, and the leases
	Alarms []*pb.AlarmMember
	Auth   apply.Users

	ConsistentIndex uint64 // of the last entry that was applied; 0 if the file does not say
	Term            uint64 // of that entry
	Members         []Member
	Removed         []uint64 // IDs that must not be used again
	// StorageVersion is that of the file's layout, "3.7"; "" before 3.6.
	StorageVersion string
	// ClusterVersion is the lowest version of the members, "3.7.0"; "" if unknown.
	ClusterVersion string
	// WriteAs is the storage version that a file is to have, "3.6.0" where a
	// downgrade to it is under way, since its layout is the same; "" is 3.7.0.
	WriteAs string
	// DowngradeTo is the version that the cluster is being downgraded to, "" if it is not.
	DowngradeTo string
}

// Member is one member of the cluster, as the bucket "members" has it.
//
// Mirrors etcd server/etcdserver/api/membership/member.go Member.
type Member struct {
	ID         uint64   `json:"id"`
	PeerURLs   []string `json:"peerURLs"`
	IsLearner  bool     `json:"isLearner,omitempty"`
	Name       string   `json:"name,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
}

// Bump makes the content look as if n more revisions had been written, and
// compacted, as etcdutl snapshot restore --bump-revision n --mark-compacted does:
// no client that knew the store before finds a revision twice.
func (c *Content) Bump(n int64) error {
	if n < 1 {
		return fmt.Errorf("bump the revision by %d: it can only grow", n)
	}
	kv, err := c.KV.Store()
	if err != nil {
		return err
	}
	kv.Bump(n)
	c.KV = kv.Snapshot()
	return nil
}

// State is a member's state machine that continues from the content.
func (c *Content) State(l apply.Limits) (*apply.State, error) {
	kv, err := c.KV.Store()
	if err != nil {
		return nil, err
	}
	return apply.Load(l, apply.Contents{KV: kv, Alarms: c.Alarms, Users: c.Auth})
}

// The buckets, in the order in which etcd lists them.
const (
	bucketKey            = "key"
	bucketMeta           = "meta"
	bucketLease          = "lease"
	bucketAlarm          = "alarm"
	bucketCluster        = "cluster"
	bucketMembers        = "members"
	bucketMembersRemoved = "members_removed"
	bucketAuth           = "auth"
	bucketAuthUsers      = "authUsers"
	bucketAuthRoles      = "authRoles"
)

// Keys of "meta", "cluster" and "auth".
const (
	keyConsistentIndex = "consistent_index"
	keyTerm            = "term"
	keyConfState       = "confState"
	keyStorageVersion  = "storageVersion"
	keyFinished        = "finishedCompactRev"
	keyScheduled       = "scheduledCompactRev"
	keyClusterVersion  = "clusterVersion"
	keyDowngrade       = "downgrade"
	keyAuthEnabled     = "authEnabled"
	keyAuthRevision    = "authRevision"
)
