package fault

import (
	"time"

	"kviz/cluster/trace"
)

// What a cluster has to be able to do to its parts. why are the events that it comes
// from.

// Process is a program that can be ended and started.
type Process interface {
	Stop(why []trace.ID) error  // SIGTERM
	Crash(why []trace.ID) error // SIGKILL
	Start(why []trace.ID) error
	Restart(why []trace.ID) error
}

// Slow is what can be made slower by so much; 0 makes it as it was.
type Slow interface {
	Slow(d time.Duration, why []trace.ID) error
}

// Keys is who can make a new key.
type Keys interface {
	Rotate(why []trace.ID) error
}

// Webhook is a webhook server.
type Webhook interface {
	Process
	Slow
	Lies() []string // what it can be wrong in
	Lie(how string, why []trace.ID) error
	Heal(why []trace.ID) error
}

// Node is a machine.
type Node interface {
	Process
	Slow
	Cut(why []trace.ID) error
	Heal(why []trace.ID) error
	NetworkPlugin(there bool, why []trace.ID) error
	Press(short string, why []trace.ID) error // of memory, disk or pid; "" ends every shortage
	Flush(why []trace.ID) error
}

// A member of the store is a Process, Slow (its disk, by so much a write), and what follows.

// Healer makes whole what is wrong with its links and its disk.
type Healer interface {
	Heal(why []trace.ID) error
}

// Peers are the other members that a member has links to.
type Peers interface {
	Peers() []string
	Peer(name string) (id string, err error) // an error that names the others
	Linked() error                           // an error where it is alone
}

// Links are a member's links to its peers.
type Links interface {
	Cut(peers []string, why []trace.ID) error
	Mute(peers []string, why []trace.ID) error
	Deafen(peers []string, why []trace.ID) error
	Delay(peer string, d time.Duration, why []trace.ID) error
	Drop(peer string, p float64, why []trace.ID) error
	Duplicate(peer string, p float64, why []trace.ID) error
	Reorder(peer string, p float64, why []trace.ID) error
	Mend(peers []string, why []trace.ID) error // both ways, whatever is wrong
}

// MemberDisk is where a member keeps its log.
type MemberDisk interface {
	PowerCut(why []trace.ID) error
	Fill(why []trace.ID) error
	Free(why []trace.ID) error
	Wipe(why []trace.ID) error
	Damages() []string // that its log file can have, the usual one first
	Corrupt(how string, why []trace.ID) error
}

// Membership is a member's place in the group.
type Membership interface {
	Lead(why []trace.ID) error
	Rejoin(why []trace.ID) error
	Recover(why []trace.ID) error
	Promote(why []trace.ID) error
	Remove(why []trace.ID) error
}

// Upkeep is what a member does about the size of its files.
type Upkeep interface {
	Snapshot(why []trace.ID) error
	Defragment(why []trace.ID) error
}

// The store as a whole is Members, a Group and a Database.

// Members are all of them; Raft is an error where the store has none.
type Members interface {
	Raft() error
	Stop(why []trace.ID) error
	Crash(why []trace.ID) error
	Start(why []trace.ID) error
	Heal(why []trace.ID) error
}

// Group is how the members stand to one another.
type Group interface {
	Groups(words []string) ([][]string, error) // of members, as they are typed
	Partition(groups [][]string, why []trace.ID) error
	SplitVote(why []trace.ID) error
	SlowElections(factor int, why []trace.ID) error
	AddMember(learner bool, why []trace.ID) error
}

// Database is what the store holds.
type Database interface {
	Revision() int64
	Compact(revision int64, why []trace.ID) error
	Defragment(why []trace.ID) error
	Quota(bytes int64, why []trace.ID) error
	Disarm(why []trace.ID) error
	Wipe(why []trace.ID) error
	Reinstall(why []trace.ID) error
}

// Watch is one half of a watch: the API server's at the store, or a client's at the API
// server.
type Watch interface {
	Slow
	Cut(why []trace.ID) error
	Stall(why []trace.ID) error
	Heal(why []trace.ID) error
}

// Informer is a client's watch.
type Informer interface {
	Watch

	// What these do to one event: the oldest that waits, or the next, of an object
	// ("" is any).
	Hold(of string, why []trace.ID) error
	Lose(of string, why []trace.ID) error
	Delay(of string, why []trace.ID) error

	Waits() error // an error where no event does, or will
	Release(why []trace.ID) error
}

// Registry is an image registry.
type Registry interface {
	Reachable(yes bool, why []trace.ID) error
	Slower(factor float64, why []trace.ID) error
}

// Cloud is the API of the cloud that the machines are in.
type Cloud interface {
	Slow
	Disk // its table of routes
	Reachable(yes bool, why []trace.ID) error
}

// Instance is a machine as the cloud has it.
type Instance interface {
	Exists() error // an error where it was deleted
	Start(why []trace.ID) error
	ShutDown(why []trace.ID) error
	Delete(why []trace.ID) error
	Recreate(why []trace.ID) error
}

// Runtime is a node's container runtime.
type Runtime interface {
	Run(yes bool, why []trace.ID) error
}

// Pod is a pod on a node.
type Pod interface {
	// Runs is an error where no container of the name runs; "" is any.
	Runs(container string) error
	Crash(container string, why []trace.ID) error
}

// Disk is one that can be full.
type Disk interface {
	Full(yes bool, why []trace.ID) error
}

// Credential is what proves who somebody is.
type Credential interface {
	Expire(why []trace.ID) error
	Renew(why []trace.ID) error
}
