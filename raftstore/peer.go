package raftstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/wire"
)

// peer is a member as the store has it: a member.Member of this process, or a
// remote.Member, which speaks for one in another. It is the sum of its roles; who needs
// one of them only, says so.
type peer interface {
	runner
	standing
	keeper
	candidate
	faulty
	carrier
	reporter
}

// runner is a member as something that is started and ends.
type runner interface {
	ID() string
	Up() bool
	Why() string
	Start(fresh bool, reason string) error
	Stop(reason string) error
	Kill(reason string) error
	Crash(reason string) error
}

// standing is how far a member has come.
type standing interface {
	Status() member.Status
	Revision() int64
	Glance() member.Glance
	Tail() (term, index uint64)
	BootTerm() uint64
	Servers() []member.Server
}

// keeper is a member as the keeper of keys, users and alarms.
type keeper interface {
	Range(*pb.RangeRequest) (*pb.RangeResponse, error)
	View(func(*mvcc.Store)) error
	Inspect(func(*apply.State)) error
	Change(func(*apply.State)) error
	Snapshot() error
	Defragment(busy func(inUse int64) (done <-chan struct{})) error
}

// candidate is a member that can stand for election, and lead.
type candidate interface {
	Leader() leadership
	Campaign()
}

// faulty is a member as one that is held, slowed down and broken.
type faulty interface {
	Hold(bool)
	TimeOut()
	SlowElections(factor int)
	SlowDisk(time.Duration)
	FillDisk(bool)
	Disk() (slow time.Duration, full bool)
}

// carrier is a member as the owner of a disk, while it is down.
type carrier interface {
	Erase(reason string) error
	Recover(term uint64, address string) error
	Prepare(member.Seed) error
	Corrupt(member.Damage) error
}

// reporter tells the world what was done to a member.
type reporter interface {
	Report(wire.Phase, wire.Message)
	ReportFault(member.Fault)
	ReportMembership(member.Membership)
}

// leadership is a peer as the leader of one term: a member.Reader or a
// remote.Reader.
type leadership interface {
	Term() uint64
	Member() string
	proposer
	reconfigurer
	ReadIndex(context.Context) error
	Range(*pb.RangeRequest) (*pb.RangeResponse, error)
	Transfer(to string)
	Last() uint64
	// same reports whether both are the same leadership.
	same(leadership) bool
}

// proposer takes requests into the log.
type proposer interface {
	Propose(data []byte, t member.Ticket) bool
	Available(*pb.InternalRaftRequest) bool
}

// reconfigurer knows and changes who belongs to the group.
type reconfigurer interface {
	Began(context.Context) error
	Settled() bool
	Servers() []member.Server
	Set(member.Server) error
	Remove(id string) error
}

func sameLeader(a, b leadership) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.same(b)
}

// network is the way between the peers: a wire.Network of this process, or a
// remote.Network.
type network interface {
	links
	messages
	Progress(from, to string, term uint64) wire.Progress
	Contact(from, to string, term uint64) time.Time
	Forget(id string)
	SetSplit(*wire.Split) <-chan struct{}
	TermOf(*wire.Split) uint64
}

// links are the ways from one peer to another, which can be broken.
type links interface {
	breakable
	// Heal makes every link whole, HealLink one.
	Heal()
	HealLink(from, to string)
	// Whole reports whether no link has a fault; Faults are those of one.
	Whole() bool
	Faults(from, to string) wire.LinkFault
}

// breakable is what can be done to a link.
type breakable interface {
	Cut(from, to string, cut bool)
	Delay(from, to string, d time.Duration)
	Drop(from, to string, probability float64)
	Duplicate(from, to string, probability float64)
	Reorder(from, to string, probability float64)
}

// messages are what is on its way, which can be held.
type messages interface {
	Hold(on bool)
	ReleaseOne() bool
	Held() []wire.Held
}

// local is a member of this process.
type local struct{ *member.Member }

// Recover makes the member the only one; what counts again it tells as it applies it.
func (l local) Recover(term uint64, address string) error {
	_, _, err := l.Member.Recover(member.Recovery{Term: term, Address: address})
	return err
}

// Leader is the member's leadership, nil if it does not lead.
func (l local) Leader() leadership {
	if r := l.Member.Leader(); r != nil {
		return localLeader{r}
	}
	return nil
}

type localLeader struct{ *member.Reader }

func (l localLeader) same(other leadership) bool {
	o, ok := other.(localLeader)
	return ok && l.Same(o.Reader)
}
