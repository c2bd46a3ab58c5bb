package wire

import "github.com/hashicorp/raft"

// RPC names of [Message]; the words of hashicorp/raft's transport.
const (
	AppendEntries   = "AppendEntries"
	RequestVote     = "RequestVote"
	RequestPreVote  = "RequestPreVote"
	InstallSnapshot = "InstallSnapshot"
	TimeoutNow      = "TimeoutNow"
)

// Message is one request between members, or the answer to it.
type Message struct {
	Serial   uint64 // ties send, deliver, reply and lost of one request together
	RPC      string
	From, To string
	Term     uint64
	PrevLog  uint64 // AppendEntries: index before the entries; InstallSnapshot: last index in the snapshot
	PrevTerm uint64
	Commit   uint64 // AppendEntries: the leader's commit index
	Entries  []Entry

	// Answer says that this is the answer; From and To stay the request's.
	Answer    bool
	OK        bool // appended, installed, or vote granted
	ReplyTerm uint64
	Match     uint64 // what the sender now knows the receiver holds
	Error     string // why it was lost
}

// Entry is one log entry without its data.
type Entry struct {
	Index, Term uint64
	Type        string // command, noop, barrier, configuration
	Size        int    // bytes of data
}

// Heartbeat reports whether the message only keeps the leader leading: an
// AppendEntries without entries, position or commit index.
func (m *Message) Heartbeat() bool {
	return m.RPC == AppendEntries && m.PrevLog == 0 && m.PrevTerm == 0 && m.Commit == 0 && len(m.Entries) == 0
}

// Describe names log entries without their data.
func Describe(logs []*raft.Log) []Entry {
	if len(logs) == 0 {
		return nil
	}
	entries := make([]Entry, len(logs))
	for i, l := range logs {
		entries[i] = Entry{Index: l.Index, Term: l.Term, Type: entryType(l.Type), Size: len(l.Data)}
	}
	return entries
}

func entryType(t raft.LogType) string {
	switch t {
	case raft.LogCommand:
		return "command"
	case raft.LogNoop:
		return "noop"
	case raft.LogBarrier:
		return "barrier"
	case raft.LogConfiguration:
		return "configuration"
	}
	return t.String()
}
