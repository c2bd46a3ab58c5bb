package trace

import "time"

// Kinds of the store's upkeep: who its members are, its leases, alarms and
// size, who watches it, and what is saved and brought back. What hangs on the
// real time that members take lies in the raft lane.
var (
	MemberJoined = outside[Membership]("raft.join",
		"A member joined the store, as a voter or as a learner that only listens.",
		"A new row in the store pane; the quorum grows with voters, not with learners.",
		"etcd server/etcdserver/api/membership/cluster.go AddMember")
	MemberPromoted = outside[Membership]("raft.promote",
		"A learner became a voter: from now on it counts for the quorum.",
		"The quorum meter, and the learner's mark that is gone.",
		"etcd server/etcdserver/api/membership/cluster.go PromoteMember")
	MemberLeft = outside[Membership]("raft.leave",
		"A member was removed from the store. Its name is never used again.",
		"The quorum meter: one less to count.",
		"etcd server/etcdserver/api/membership/cluster.go RemoveMember")
	RaftForward = outside[RaftMessage]("raft.forward",
		"A member that does not lead passed a client's request on to the leader.",
		"The message from the follower to the leader: every write goes through the leader.",
		"etcd raft: raft.go stepFollower MsgProp, MsgReadIndex")
	RaftRead = outside[ReadRound]("raft.readindex",
		"The leader asked the others whether it still leads, so that a linearizable read may be answered.",
		"Whether a quorum said so: else the read waits. A serializable read skips this.",
		"etcd server/etcdserver/v3_server.go linearizableReadLoop; raft ReadOnlySafe")
	MemberRead = outside[MemberAnswer]("store.read",
		"A member answered a read, or could not: linearizable after asking a quorum, serializable from what it has.",
		"The revision of the answer: in a partition a serializable one is old.",
		"etcd server/etcdserver/v3_server.go Range")
	MemberServed = outside[MemberEndpoint]("store.endpoint",
		"Where etcd's clients find a member: its client URL inside the cluster and, where one is open, a listener of this machine.",
		"The endpoints in the store pane's members view; kviz env prints them for etcdctl.",
		"etcd server/embed/etcd.go serveClients; --listen-client-urls, --advertise-client-urls")
	MemberDefrag = outside[Defrag]("raft.defrag",
		"A member rewrites its database file without the holes that compaction left, and answers nobody meanwhile.",
		"The database's size before and after.",
		"etcd server/storage/backend/backend.go Defrag")
	MemberBackup = outside[Backup]("raft.backup",
		"A member wrote its whole state to a snapshot file, as etcdctl snapshot save does.",
		"The revision, the number of keys and the size of the file.",
		"etcd server/etcdserver/api/v3rpc/maintenance.go Snapshot")
	MemberRoom = outside[DiskRoom]("raft.room",
		"The file system refused a member's write because it is full, or takes writes again.",
		"A full member acknowledges nothing; too many of them, and writes fail with etcd's words until there is room.",
		"etcd server/storage/wal/wal.go Save; server/etcdserver/raft.go start (failed to save Raft hard state and entries)")

	StoreRestored = define[Restore]("store.restore", GrainCommit,
		"Every member was given a new disk with the state of a snapshot: a new cluster, with another cluster ID.",
		"Keys written after the snapshot are gone; API servers must start again.",
		"etcd etcdutl/snapshot/v3_snapshot.go Restore")
	StoreUnmet = define[Txn]("store.unmet", GrainCommit,
		"A transaction found its comparison false: nothing was written, and the other branch was run.",
		"The revision compared and the one found; for the API it is a conflict (409) or AlreadyExists.",
		"etcd server/etcdserver/txn/txn.go Txn; apiserver pkg/storage/etcd3/store.go GuaranteedUpdate")
	LeaseGranted = define[StoreLease]("store.lease-grant", GrainCommit,
		"The store granted a lease: keys attached to it are deleted when it runs out.",
		"The lease's time to live, counted by the leader's clock.",
		"etcd server/lease/lessor.go Grant")
	LeaseRenewed = outside[StoreLease]("store.lease-renew",
		"The owner of a lease kept it alive: its time starts again.",
		"The remaining time, full again.",
		"etcd server/lease/lessor.go Renew")
	LeaseExpired = define[StoreLease]("store.lease-expire", GrainCommit,
		"A lease ran out: the leader proposed to revoke it, and its keys are gone in one revision.",
		"The keys that disappear together.",
		"etcd server/etcdserver/server.go revokeExpiredLeases")
	LeaseRevoked = define[StoreLease]("store.lease-revoke", GrainCommit,
		"A lease was revoked by a client before its time: its keys are gone in one revision.",
		"The keys that disappear together.",
		"etcd server/lease/lessor.go Revoke")
	AlarmRaised = define[Alarm]("store.alarm-raise", GrainCommit,
		"The store raised an alarm. With NOSPACE it takes no more writes that grow it; with CORRUPT, none at all.",
		"Writes fail with etcd's words until the alarm is disarmed.",
		"etcd server/etcdserver/apply/apply.go Alarm; server/etcdserver/api/v3alarm")
	AlarmCleared = define[Alarm]("store.alarm-clear", GrainCommit,
		"An alarm was disarmed.",
		"Writes are taken again, if what raised it is mended.",
		"etcd server/etcdserver/api/v3alarm/alarms.go Deactivate")
	StoreWatchOpened = define[StoreWatch]("store.watch", GrainCommit,
		"A client opened a watch on the store: an API server has one for each kind of object.",
		"The list of the store's watchers.",
		"etcd server/etcdserver/api/v3rpc/watch.go; apiserver pkg/storage/etcd3/watcher.go")
	StoreWatchClosed = define[StoreWatch]("store.unwatch", GrainCommit,
		"A watch on the store ended.",
		"The list of the store's watchers.",
		"etcd server/etcdserver/api/v3rpc/watch.go cancel")
	StoreWatchLag = define[StoreWatch]("store.watch-lag", GrainCommit,
		"A watch on the store fell further behind what is committed, or caught up again (no revisions behind).",
		"Its row in the list of watchers: how many revisions it is behind. One that is behind a compaction will be cancelled.",
		"etcd server/storage/mvcc/watchable_store.go syncWatchers (the unsynced watchers)")
	StoreEndpoint = define[Endpoint]("store.client", GrainCommit,
		"A client of the store, an API server, goes to another of its endpoints, or was given other ones.",
		"The member through which its requests and watches go from now on; one that does not lead passes them on.",
		"etcd client/v3 client.go SetEndpoints; kube-apiserver --etcd-servers")
)

// Endpoint is a client that goes to another member.
type Endpoint struct {
	Client    string
	Endpoints []string `json:",omitempty"` // the members it may go to, in its order; none: the store as a whole
	From      string   `json:",omitempty"`
	To        string   `json:",omitempty"`
	Reason    string
}

// Membership is a member that came, was promoted, or went.
type Membership struct {
	Member  string
	Learner bool     `json:",omitempty"` // it has no vote
	Members []string // all there are now
	Voters  int      // how many of them vote
}

// MemberEndpoint is where etcd's clients find a member.
type MemberEndpoint struct {
	Member   string
	Client   string // its client URL inside the cluster: http://a:2379
	Listener string `json:",omitempty"` // its URL on this machine, https://127.0.0.1:port; "" where it is not served
	Open     bool   `json:",omitempty"` // the listener takes connections: the member runs
}

// ReadRound is one round by which a leader makes sure that it still leads. It
// serves every linearizable read that waits.
type ReadRound struct {
	Member string // the leader
	Term   uint64
	Index  uint64        // the commit index that answers must hold
	Reads  int           // how many reads it serves
	Took   time.Duration // real time
	Error  string        `json:",omitempty"` // why the reads still wait
}

// MemberAnswer is a read at one member.
type MemberAnswer struct {
	Round        uint64 // ties together the answers to one question
	Member       string
	Serializable bool
	Key          string
	Asked        int64         `json:",omitempty"` // the revision asked for; 0: the newest
	Revision     int64         // of the answer
	ModRevision  int64         `json:",omitempty"` // of the key; 0 where there is none
	Size         int           `json:",omitempty"` // bytes of the value
	Took         time.Duration // real time
	Error        string        `json:",omitempty"` // etcd's own words
}

// Defrag is a member's defragmentation, when it begins and when it has ended.
type Defrag struct {
	Member string
	Done   bool
	Before int64         // bytes of the database
	After  int64         `json:",omitempty"`
	Took   time.Duration `json:",omitempty"` // real time
	Error  string        `json:",omitempty"`
}

// DiskRoom is whether a member's disk has room for its log.
type DiskRoom struct {
	Member string
	Full   bool
	Error  string `json:",omitempty"` // the file system's, while it is full
}

// Backup is a snapshot file that a member wrote.
type Backup struct {
	Member   string
	Revision int64
	Keys     int `json:",omitempty"`
	Size     int64
}

// Restore is a snapshot brought back to every member.
type Restore struct {
	Revision      int64
	Keys          int
	ClusterID     uint64
	Bumped        int64 `json:",omitempty"` // by how much the revision was raised
	MarkCompacted bool  `json:",omitempty"`

	Survivor string `json:",omitempty"` // no snapshot, but this member's own data: the quorum was lost for good
	Shown    int64  `json:",omitempty"` // the newest revision that anybody had seen before
}

// Comparison is one condition of a transaction.
type Comparison struct {
	Key    string
	Target string // mod, create, version, value, lease
	Op     string // =, !=, >, <
	Want   string
	Found  string `json:",omitempty"` // what there was, where the answer tells
}

// Txn is a transaction and the branch that was taken.
type Txn struct {
	If        []Comparison
	Then      []string // the operations of the success branch: "put /registry/…"
	Else      []string `json:",omitempty"`
	Succeeded bool
	Revision  int64 // of the store after it
}

// StoreLease is a lease of the store. It is no Lease object of the API.
type StoreLease struct {
	ID   int64
	TTL  time.Duration // as granted
	Keys []string      `json:",omitempty"` // those that went with it
	For  string        `json:",omitempty"` // what it is for: "events"
}

// Alarm is an alarm of a member.
type Alarm struct {
	Member string
	Alarm  string // NOSPACE, CORRUPT
}

// StoreWatch is a watch on the store.
type StoreWatch struct {
	Watch    uint64 // its number
	Client   string // who watches
	Prefix   string
	Revision int64  // from which it tells
	Reason   string `json:",omitempty"` // why it ended

	Name      string `json:",omitempty"` // what faults call it: "pods"
	Next      int64  `json:",omitempty"` // the first revision that it has not been told of, where it lags
	Lag       int64  `json:",omitempty"` // how many revisions it is behind the newest
	Waiting   int    `json:",omitempty"` // how many events it still has to be sent
	Compacted int64  `json:",omitempty"` // the compaction that it was cancelled with
}
