package trace

import "time"

// Kinds of the store. The raft lane (Outside) comes from the members
// themselves in real time; store.commit is a control-plane event.
var (
	MemberRole = outside[MemberState]("raft.role",
		"A store member changed its raft role, term, or view of the leader.",
		"The member's row in the store pane: role and term.",
		"etcd raft: raft.go becomeFollower, becomeCandidate, becomeLeader")
	RaftSend = outside[RaftMessage]("raft.send",
		"A raft message left a member.",
		"The message in flight between two members.",
		"etcd server/etcdserver/api/rafthttp; hashicorp/raft Transport")
	RaftDeliver = outside[RaftMessage]("raft.deliver",
		"A raft message arrived and was handled.",
		"The receiver's log or vote.",
		"etcd raft: raft.go Step; hashicorp/raft processRPC")
	RaftReply = outside[RaftMessage]("raft.reply",
		"The answer to a raft message came back to its sender.",
		"Votes counted, or the follower's match index.",
		"etcd raft: raft.go stepLeader, stepCandidate")
	RaftLost = outside[RaftMessage]("raft.lost",
		"A raft message or its answer was lost: a cut, a drop, or a stopped peer.",
		"The broken link between the two members.",
		"etcd tests/robustness failpoint: network blackhole")
	RaftAppend = outside[RaftLog]("raft.append",
		"A member began to write log entries to its disk.",
		"The member's log cells: written, not yet durable.",
		"etcd server/storage/wal Save; hashicorp/raft LogStore.StoreLogs")
	RaftDurable = outside[RaftLog]("raft.durable",
		"A member's log entries are on disk (the fsync returned).",
		"The member's log cells turn solid.",
		"etcd server/storage/wal sync")
	RaftTruncate = outside[RaftLog]("raft.truncate",
		"A member removed log entries: a conflicting tail, or a prefix covered by a snapshot.",
		"Cells that disappear from the member's log.",
		"etcd raft: log_unstable.go truncateAndAppend; storage.go Compact")
	RaftVote = outside[RaftVoteRecord]("raft.vote",
		"A member wrote to disk whom it voted for in a term.",
		"The vote cells of the candidate.",
		"etcd raft: raft.go handling of MsgVote")
	RaftTimeout = outside[RaftPatience]("raft.timeout",
		"A half, three quarters or all of a follower's least election timeout went by without a heartbeat, or a leader reaches it again.",
		"The bar of the member's election timeout in the store pane's picture.",
		"etcd raft: raft.go tickElection, pastElectionTimeout; hashicorp/raft raft.go runFollower")
	RaftCommit = outside[RaftProgress]("raft.commit",
		"The leader saw its entry on a quorum: the commit index moved.",
		"The commit mark over the log cells.",
		"etcd raft: raft.go maybeCommit")
	RaftApply = outside[RaftProgress]("raft.apply",
		"A member applied a committed entry to its key-value state.",
		"The member's applied index and revision.",
		"etcd server/etcdserver/apply")
	RaftSnapshot = outside[RaftSnapshotInfo]("raft.snapshot",
		"A member took, sent or installed a snapshot.",
		"A log that starts after the snapshot's index.",
		"etcd server/etcdserver/snapshot_merge.go; hashicorp/raft SnapshotStore")
	MemberDown = outside[MemberState]("raft.down",
		"A store member stopped: asked to, crashed, or its disk failed.",
		"The quorum meter.",
		"etcd server/etcdserver/server.go Stop")
	MemberUp = outside[MemberState]("raft.up",
		"A store member started and opened its log.",
		"The quorum meter.",
		"etcd server/etcdserver/server.go Start")

	StoreCommit = define[Commit]("store.commit", GrainCommit,
		"The store committed a transaction: one new revision, and watchers may now see it.",
		"The revision in the store pane and the keys that changed.",
		"etcd server/storage/mvcc/watchable_store_txn.go End")
	StoreRefused = define[StoreError]("store.refused", GrainCommit,
		"The store did not answer a request in time or refused it.",
		"The request's error and the quorum meter.",
		"etcd server/etcdserver/v3_server.go processInternalRaftRequestOnce")
	StoreCompact = define[Compaction]("store.compact", GrainCommit,
		"History before a revision was thrown away.",
		"Watchers older than the revision: they will get 410 Gone.",
		"apiserver pkg/storage/etcd3/compact.go; etcd mvcc Compact")
)

// MemberState is what a store member is right now.
type MemberState struct {
	Member  string
	Role    string // follower, candidate, leader, stopped
	Term    uint64
	Leader  string `json:",omitempty"` // whom it follows
	Last    uint64 // last index in its log
	Commit  uint64
	Applied uint64
	Reason  string `json:",omitempty"` // why it went down or up
	Stands  bool   `json:",omitempty"` // a candidate that has raised its term and votes for itself; one that does not asks for pre-votes

	Recovered string `json:",omitempty"` // what it found on its disk when it went up
}

// RaftMessage is one request between members, or the answer to it.
type RaftMessage struct {
	Serial   uint64 // ties send, deliver, reply and lost of one request together
	RPC      string // AppendEntries, RequestVote, RequestPreVote, InstallSnapshot, TimeoutNow
	From, To string
	Term     uint64
	PrevLog  uint64      `json:",omitempty"` // AppendEntries: index before the entries
	PrevTerm uint64      `json:",omitempty"`
	Commit   uint64      `json:",omitempty"` // AppendEntries: leader's commit index
	Entries  []RaftEntry `json:",omitempty"`

	// Set in answers.
	Answer    bool   `json:",omitempty"`
	OK        bool   `json:",omitempty"` // appended, or vote granted
	ReplyTerm uint64 `json:",omitempty"`
	Match     uint64 `json:",omitempty"` // what the sender now knows the receiver holds
	Error     string `json:",omitempty"` // why it was lost
}

// RaftEntry is one log entry without its data.
type RaftEntry struct {
	Index, Term uint64
	Type        string // command, noop, barrier, configuration
	Size        int    // bytes of data
}

// RaftLog is a range of a member's log being written or removed.
type RaftLog struct {
	Member  string
	Entries []RaftEntry `json:",omitempty"` // what is appended
	First   uint64      // first and last index touched
	Last    uint64
	Error   string        `json:",omitempty"` // disk full, …
	Took    time.Duration `json:",omitempty"` // raft.durable: the write with its fsync, in real time
}

// RaftVoteRecord is a vote that a member made durable.
type RaftVoteRecord struct {
	Member    string
	Term      uint64
	Candidate string
}

// RaftPatience is how much of a follower's election timeout is left. The timeout is drawn
// by lot, between AtLeast and AtMost in real time, and nobody is told.
type RaftPatience struct {
	Member  string
	Leader  string `json:",omitempty"` // whom it waits to hear from
	Left    int    // quarters of AtLeast: 2, 1, 0, and 4 when it hears again, or has voted
	AtLeast time.Duration
	AtMost  time.Duration
	Factor  int `json:",omitempty"` // by how much elections are slowed down
}

// RaftProgress is a commit or apply index that moved.
type RaftProgress struct {
	Member   string
	Index    uint64
	Term     uint64
	Revision int64 `json:",omitempty"` // after the apply

	// Took is how long, in real time: for a commit from the leader's beginning to
	// write the entry until a quorum had it, for an apply until the backend had
	// taken it.
	Took    time.Duration `json:",omitempty"`
	Entries int           `json:",omitempty"` // how many were committed at once
	DBSize  int64         `json:",omitempty"` // after an apply: bytes of the member's database
	DBInUse int64         `json:",omitempty"` // of which are in use; compaction leaves holes, defragmentation removes them
}

// RaftSnapshotInfo is a snapshot taken, sent or installed.
type RaftSnapshotInfo struct {
	Member string
	Index  uint64
	Term   uint64
	What   string // taken, sent, installed
}

// Commit is one revision of the store.
type Commit struct {
	Revision int64
	Index    uint64 `json:",omitempty"` // raft log index; 0 on the bare mvcc store
	Changes  []KeyChange
	If       []Comparison `json:",omitempty"` // what the transaction had compared, if it was a conditional one
}

// KeyChange is one key written or deleted in a revision.
type KeyChange struct {
	Key            string
	Deleted        bool    `json:",omitempty"`
	CreateRevision int64   `json:",omitempty"`
	Version        int64   `json:",omitempty"`
	Size           int     // bytes of the value
	Lease          int64   `json:",omitempty"`
	Object         Ref     // decoded from the key
	Value          *Object `json:",omitempty"` // the object now; nil when deleted or not an API object
	Raw            []byte  `json:",omitempty"` // the value, where it is no API object (see [Stored]), or encrypted
}

// StoreError is an operation that failed at the store.
type StoreError struct {
	Op    string // get, list, txn
	Key   string
	Error string // etcd's own words
}

// Compaction is history thrown away.
type Compaction struct{ Revision int64 }
