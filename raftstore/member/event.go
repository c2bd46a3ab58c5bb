package member

import (
	"fmt"
	"time"

	"kviz/raftstore/wire"
)

// Kind says what an [Event] tells and which of its fields is set.
type Kind string

// The kinds of events.
const (
	KindRole     Kind = "raft.role"      // State: role, term or known leader changed
	KindUp       Kind = "raft.up"        // State: the member started and opened its log
	KindDown     Kind = "raft.down"      // State: the member stopped, with the reason
	KindSend     Kind = "raft.send"      // Message: a request left the member
	KindDeliver  Kind = "raft.deliver"   // Message: a request arrived at the member
	KindReply    Kind = "raft.reply"     // Message: the answer came back to the member that asked
	KindLost     Kind = "raft.lost"      // Message: the request or its answer was lost
	KindAppend   Kind = "raft.append"    // Log: the member began to write entries
	KindDurable  Kind = "raft.durable"   // Log: the entries are on disk, or Error says why not
	KindTruncate Kind = "raft.truncate"  // Log: entries were removed
	KindVote     Kind = "raft.vote"      // Vote: the member wrote down its vote
	KindTimeout  Kind = "raft.timeout"   // Timeout: how much of a follower's election timeout is left
	KindCommit   Kind = "raft.commit"    // Progress: the member's commit index moved
	KindApply    Kind = "raft.apply"     // Progress: the member applied an entry
	KindSnapshot Kind = "raft.snapshot"  // Snapshot: taken, sent or installed
	KindDefrag   Kind = "raft.defrag"    // Defrag: the member began or ended packing its database
	KindBackup   Kind = "raft.backup"    // Backup: the member wrote its state to a snapshot file
	KindRead     Kind = "raft.readindex" // Read: the leader made sure that it still leads
	KindFault    Kind = "raft.fault"     // Fault: a fault was set or taken away
	KindForward  Kind = "raft.forward"   // Message: the member passed a client's request on to the leader
	KindRoom     Kind = "raft.room"      // Room: the disk is full, or has room again
	KindMember   Kind = "raft.member"    // Membership: the member joined, was promoted or updated, or left
)

// Event is one thing that happened at a member. Events of one member come in
// the order in which they happened.
type Event struct {
	Kind   Kind
	Member string
	Wall   time.Time

	State    *State
	Message  *wire.Message
	Log      *Log
	Vote     *Vote
	Progress *Progress
	Snapshot *Snapshot
	Fault    *Fault

	Membership *Membership
	Defrag     *Defrag
	Backup     *Backup
	Read       *Read
	Room       *Room
	Timeout    *Timeout
}

// Room is whether the disk has room for what the member must write.
type Room struct {
	Full  bool
	Error string // the file system's, while it is full
}

// Alarm is what an operator should know about the disk.
func (e Event) Alarm() string {
	if e.Room.Full {
		return fmt.Sprintf("member %s: the disk is full (%s); it takes no writes until there is room", e.Member, e.Room.Error)
	}
	return fmt.Sprintf("member %s: the disk has room again", e.Member)
}

// Defrag is the beginning or the end of packing a database.
type Defrag struct {
	Done          bool
	Before, After int64 // bytes; After when it has ended
	Took          time.Duration
	Error         string
}

// Backup is a snapshot file that was written.
type Backup struct {
	Revision int64
	Keys     int
	Size     int64
}

// Read is one round by which a leader proved, or could not prove, that it still
// leads.
type Read struct {
	Term, Index uint64 // the commit index that answers must hold
	Reads       int    // how many reads it was for
	Took        time.Duration
	Error       string
}

// State is what a member is right now.
type State struct {
	Role    string // follower, candidate, leader, stopped
	Term    uint64
	Leader  string // whom it follows, "" if it knows none
	Last    uint64 // last index in its log
	Commit  uint64
	Applied uint64
	Reason  string // why it went down or up
	Stands  bool   // a candidate that has raised its term and votes for itself; one that does not asks for pre-votes

	Recovered string // what it found on its disk when it went up, "" for nothing
}

// Log is a range of the member's log being written or removed.
type Log struct {
	Entries     []wire.Entry // what is appended
	First, Last uint64
	Error       string // disk full, …
	// Took is how long the write with its fsync took, a slow disk's slowness
	// included; set when the entries are durable, or refused.
	Took time.Duration
}

// Vote is a vote that the member made durable.
type Vote struct {
	Term      uint64
	Candidate string
}

// Progress is a commit or apply index that moved.
type Progress struct {
	Index, Term uint64
	Revision    int64 // after the apply

	// Of an apply: how long the state machine took, and the size of the database
	// after it, with what of that is in use.
	Took          time.Duration
	DBSize, InUse int64
}

// Snapshot is a snapshot taken, sent or installed.
type Snapshot struct {
	Index, Term uint64
	What        string // taken, sent, installed
}

// Membership is a change of the group that is committed.
type Membership struct {
	What     string   // joined, promoted, updated, left
	Learner  bool     // it joined as a learner, or was one
	Voters   []string // the group after the change
	Learners []string
	PeerURLs []string
}

// Fault is an injected fault: what it is, and whether it is there now.
type Fault struct {
	What     string // cut, delay, drop, duplicate, reorder, slow disk, full disk, wiped, damaged, split vote, slow elections, …
	From, To string // the link, for faults of links
	On       bool
	Detail   string // "1.5s", "30%"
}
