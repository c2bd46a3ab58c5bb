package view

import (
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Store is the key-value store and its raft members.
type Store struct {
	Revision  int64 // newest revision
	Compacted int64 // revisions up to this one are gone
	Term      uint64
	Leader    string // member that leads; "" while there is none
	Elections int    // how often a member became leader
	Refused   []Refusal
	Upkeep

	members  table[string, *Member]
	messages table[uint64, *Message]
	ended    table[uint64, *Message]
	polls    table[uint64, *Poll]
	commits  table[int64, *Commit]
	keys     table[string, *Key]
}

// Refusal is a request that the store did not answer or refused.
type Refusal struct {
	trace.StoreError
	Event trace.ID
	At    time.Duration
}

// Member is one raft member of the store.
type Member struct {
	gen
	Name     string
	Role     string // follower, candidate, leader, stopped
	Term     uint64
	Leader   string // whom it follows
	Up       bool
	Reason   string // why it is up or down
	Since    time.Duration
	Event    trace.ID // the last change of role, or start or stop
	Last     uint64   // last index written
	Durable  uint64   // last index on disk
	Commit   uint64   // commit index it knows of
	Applied  uint64
	Revision int64 // of its key-value state

	VotedFor  string // whom it voted for in VotedTerm
	VotedTerm uint64
	Votes     []Vote // answers it got as a candidate, in its last candidacy
	Peers     []Peer // what it knows of the others, while it leads

	Timeout      *trace.RaftPatience // how its election timeout has run down; nil while it hears
	TimeoutEvent trace.ID            // that said so

	SnapshotIndex uint64
	SnapshotTerm  uint64
	DiskError     string // the error of its last write, if that failed

	Learner bool // it follows and has no vote
	Left    bool // it was removed; Members does not list it
	DBSize  int64
	DBInUse int64
	Defrag  *Defrag // its last defragmentation, which may be going on

	FullDisk *FullDisk // nil while the disk takes writes

	log   []LogEntry
	disks []Disk
	backs []time.Duration
}

func (m *Member) seal() {
	clip(&m.Votes)
	m.Peers = append([]Peer(nil), m.Peers...)
	clip(&m.log)
	m.sealDisks()
	clip(&m.backs)
}

// Vote is one answer to a candidate.
type Vote struct {
	From    string
	Term    uint64
	Granted bool
	Pre     bool // a pre-vote
	Event   trace.ID
}

// Peer is a follower as its leader sees it.
type Peer struct {
	Name  string
	Match uint64 // highest index the leader knows it holds
	Next  uint64 // next index the leader will send it
	Sent  time.Duration
	Heard time.Duration
	Lost  int // messages in a row that were lost
}

// LogEntry is one entry of a member's log.
type LogEntry struct {
	trace.RaftEntry
	Event trace.ID // raft.append that wrote it
}

// EntryState is how far an entry of a member's log has come.
type EntryState uint8

// The states of a log entry on one member, in order.
const (
	EntryAbsent EntryState = iota
	EntryWritten
	EntryDurable
	EntryCommitted
	EntryApplied
)

var entryStates = [...]string{"absent", "written", "durable", "committed", "applied"}

// String is the state in a word.
func (e EntryState) String() string { return entryStates[e] }

// Log is the end of the member's log: at most about 256 entries, by index.
func (m *Member) Log() []LogEntry { return last(m.log, 256) }

// Entry says how far the entry at an index has come on this member.
func (m *Member) Entry(index uint64) EntryState {
	switch {
	case index == 0 || index > m.Last:
		return EntryAbsent
	case index <= m.Applied:
		return EntryApplied
	case index <= m.Commit:
		return EntryCommitted
	case index <= m.Durable:
		return EntryDurable
	}
	return EntryWritten
}

// Peer is what the member knows of another, or nil.
func (m *Member) Peer(name string) *Peer {
	for i := range m.Peers {
		if m.Peers[i].Name == name {
			return &m.Peers[i]
		}
	}
	return nil
}

// Message is one request between members and its answer.
type Message struct {
	gen
	Serial    uint64
	RPC       string
	From, To  string
	Phase     string             // sent, delivered, answered, lost
	Came      int                // how often it was delivered: twice when the network doubled it
	Request   *trace.RaftMessage // as sent
	Answer    *trace.RaftMessage // as it came back, or as it was lost
	Sent      trace.ID
	Delivered trace.ID
	Ended     trace.ID
	At        time.Duration
}

func (m *Message) seal() {}

// Commit is one revision as committed.
type Commit struct {
	*trace.Commit
	Event trace.ID
	At    time.Duration
}

// Key is one key of the store.
type Key struct {
	Key            string
	CreateRevision int64
	ModRevision    int64
	Version        int64
	Size           int
	Lease          int64
	Ref            trace.Ref
	Event          trace.ID // store.commit that wrote it last
	Raw            []byte   // its value, where it is no API object, or encrypted

	history []KeyWrite
}

// Quorum says how many members can vote on a write.
type Quorum struct {
	Have  int // members that are up
	Need  int
	Total int
}

// OK reports whether there are enough members up.
func (q Quorum) OK() bool { return q.Have >= q.Need && q.Total > 0 }

// Members lists the members by name, learners too; none on the bare store.
func (s *Store) Members() []*Member {
	var here []*Member
	s.members.all(func(_ string, m *Member) bool {
		if !m.Left {
			here = append(here, m)
		}
		return true
	})
	return here
}

// Size is how many members there ever were, and how many there are.
func (s *Store) Size() (all, here int) {
	s.members.all(func(_ string, m *Member) bool {
		all++
		if !m.Left {
			here++
		}
		return true
	})
	return all, here
}

// Member is a member by name, or nil. One that was removed is still there,
// with Left set.
func (s *Store) Member(name string) *Member { m, _ := s.members.get(name); return m }

// Quorum counts the voters that are up.
func (s *Store) Quorum() Quorum {
	q := Quorum{}
	s.members.all(func(_ string, m *Member) bool {
		if m.Left || m.Learner {
			return true
		}
		q.Total++
		if m.Up {
			q.Have++
		}
		return true
	})
	q.Need = q.Total/2 + 1
	return q
}

// InFlight lists the messages under way, oldest first.
func (s *Store) InFlight() []*Message { return s.messages.values() }

// Message is a message by its serial number, under way or lately ended.
func (s *Store) Message(serial uint64) *Message {
	if m, ok := s.messages.get(serial); ok {
		return m
	}
	m, _ := s.ended.get(serial)
	return m
}

// EndedMessages lists the last messages answered or lost (at most 64), by
// serial number.
func (s *Store) EndedMessages() []*Message { return s.ended.values() }

// Commits lists the last revisions (at most 256), oldest first.
func (s *Store) Commits() []*Commit { return s.commits.values() }

// CommitAt is the commit of a revision, if it is one of the last.
func (s *Store) CommitAt(revision int64) *Commit { c, _ := s.commits.get(revision); return c }

// Key is one key, or nil.
func (s *Store) Key(name string) *Key { k, _ := s.keys.get(name); return k }

// KeyCount is how many keys there are.
func (s *Store) KeyCount() int { return s.keys.len() }

// Keys visits the keys with a prefix, in order, until f returns false.
func (s *Store) Keys(prefix string, f func(*Key) bool) {
	s.keys.from(prefix, func(name string, k *Key) bool {
		return strings.HasPrefix(name, prefix) && f(k)
	})
}

// Branch is one step down in the tree of keys.
type Branch struct {
	Name string // path from the root, without a trailing slash
	Keys int    // keys in or below it
	Key  *Key   // set when the name itself is a key
}

// Branches lists what lies right below a path of the tree of keys
// ("/registry" gives "/registry/pods", …), by name.
func (s *Store) Branches(path string) []Branch {
	prefix := strings.TrimSuffix(path, "/") + "/"
	var out []Branch
	s.Keys(prefix, func(k *Key) bool {
		head, _, below := strings.Cut(k.Key[len(prefix):], "/")
		name := prefix + head
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, Branch{Name: name})
		}
		b := &out[len(out)-1]
		b.Keys++
		if !below {
			b.Key = k
		}
		return true
	})
	return out
}
