package raftstore

import (
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// Event is one thing that happened at a member; see [member.Event].
type Event = member.Event

// Held is a message that waits because of [Replicated.Hold]; see [wire.Held].
type Held = wire.Held

// Config says what [Open] opens. The zero value is three members in a
// temporary folder.
type Config struct {
	// Members is how many voters a new group begins with: 1 to 9; 0 is three.
	// They are named a, b, c …, and so on as others join.
	Members int
	// Dir holds one folder per member. "" is a temporary folder, removed by Close.
	// Reopening a folder continues where it was left.
	Dir string
	// Remote are members in processes of their own (kviz member), instead of Members
	// and Dir. Close leaves them running.
	Remote *Remote
	// NoSync leaves out every fsync but those of snapshots, which raft's own store
	// makes. Only for tests of what lies above: a machine that loses power then loses
	// acknowledged writes.
	NoSync bool
	// RequestTimeout is how long, in real time, a request waits for its end;
	// the time during which messages are held does not count. 0 is etcd's 7 s.
	RequestTimeout time.Duration
	// Events is called with everything that happens, from any goroutine, in order
	// for each member. It must not block and must not call the store.
	Events func(Event)
	// Applied, if set, is called with every request that took effect, whether it changed
	// anything or not, once and in log order; after the store is opened also of
	// those that are applied again from the log. Neither may be changed, and it must
	// not block.
	Applied func(index uint64, req *pb.InternalRaftRequest)
	// Heartbeats asks for the messages too that bring no news.
	Heartbeats bool
	// Seed seeds the dropping of messages.
	Seed uint64
	// SnapshotEvery is how many entries a member applies between snapshots; 0
	// is etcd's 10,000.
	SnapshotEvery uint64
	// SnapshotTrailing is how many entries stay in the log behind a snapshot, for slow
	// followers; 0 is etcd's 5,000.
	SnapshotTrailing uint64
	// Quota is how big a member's database may grow, in bytes, before the NOSPACE
	// alarm refuses further writes; 0 is etcd's 2 GiB, less is no limit.
	Quota int64
	// QuotaKnob overrides Quota while it is not 0. It may be turned while the store
	// runs, as etcd's quota is by a restart with another flag.
	QuotaKnob *atomic.Int64
	// Clock is the time by which leases and tokens run out; nil is real time,
	// which stands still while messages are held.
	Clock Clock
	// BcryptCost is the cost of hashing passwords; 0 is etcd's 10.
	BcryptCost int
	// AuthToken is etcd's --auth-token: "" and "simple" are tokens assigned through
	// the log, "jwt,…" signed ones.
	AuthToken string
	// NoCampaign leaves the first election to the members' timers. Otherwise the
	// member with the best log stands for election at once, as an etcd that
	// starts fast-forwards its election ticks.
	NoCampaign bool
	// Go starts a goroutine that survives no panic silently; nil is a plain
	// one that turns a panic into an event and takes the member down.
	Go func(name string, fn func())
}

// limits are the configuration's limits for the state machine.
func (c *Config) limits() apply.Limits {
	l := apply.Limits{Quota: c.Quota, Knob: c.QuotaKnob, BcryptCost: c.BcryptCost, AuthToken: c.AuthToken}
	if c.Clock != nil {
		l.Now = c.Clock.Now
	}
	return l
}

// MemberStatus is what is known about a member now. It is cheap to get.
type MemberStatus struct {
	ID       string
	Up       bool
	Reason   string // why it is down
	Role     string // follower, candidate, leader, stopped
	Term     uint64
	Leader   string // whom it follows
	Last     uint64 // last index in its log
	Commit   uint64
	Applied  uint64
	Revision int64

	// Followers is, on the leader, what it knows of the others, by ID.
	Followers map[string]Follower

	Learner  bool     // it gets the log, but does not vote and cannot lead
	PeerURLs []string // where the others reach it; of members in one process, its name

	SlowDisk time.Duration // added to every fsync
	FullDisk bool
	Links    []LinkFault // of the links that start here
}

// Follower is how far the leader has brought a follower.
type Follower = wire.Progress

// LinkFault is what is wrong with the way from a member to another.
type LinkFault = wire.LinkFault
