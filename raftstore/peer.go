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
// remote.Member, which speaks for one in another.
type peer interface {
	ID() string
	Up() bool
	Why() string
	Start(fresh bool, reason string) error
	Stop(reason string) error
	Kill(reason string) error
	Crash(reason string) error
	Erase(reason string) error

	Status() member.Status
	Revision() int64
	Glance() member.Glance
	Tail() (term, index uint64)
	BootTerm() uint64
	Servers() []member.Server
	Leader() leadership

	Range(*pb.RangeRequest) (*pb.RangeResponse, error)
	View(func(*mvcc.Store)) error
	Inspect(func(*apply.State)) error
	Change(func(*apply.State)) error

	Campaign()
	Snapshot() error
	Hold(bool)
	SlowElections(factor int)
	SlowDisk(time.Duration)
	FillDisk(bool)
	Disk() (slow time.Duration, full bool)
	Defragment(busy func(inUse int64) (done <-chan struct{})) error

	Recover(term uint64, address string) error
	Prepare(member.Seed) error
	Corrupt(member.Damage) error

	Report(wire.Phase, wire.Message)
	ReportFault(member.Fault)
	ReportMembership(member.Membership)
}

// leadership is a peer as the leader of one term: a member.Reader or a
// remote.Reader.
type leadership interface {
	Term() uint64
	Member() string
	Propose(data []byte, t member.Ticket) bool
	ReadIndex(context.Context) error
	Range(*pb.RangeRequest) (*pb.RangeResponse, error)
	Transfer(to string)
	Began(context.Context) error
	Available(*pb.InternalRaftRequest) bool
	Settled() bool
	Last() uint64
	Servers() []member.Server
	Set(member.Server) error
	Remove(id string) error
	// same reports whether both are the same leadership.
	same(leadership) bool
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
	Cut(from, to string, cut bool)
	Delay(from, to string, d time.Duration)
	Drop(from, to string, probability float64)
	Duplicate(from, to string, probability float64)
	Reorder(from, to string, probability float64)
	Heal()
	HealLink(from, to string)
	Whole() bool
	Faults(from, to string) wire.LinkFault
	Progress(from, to string, term uint64) wire.Progress
	Contact(from, to string, term uint64) time.Time
	Hold(on bool)
	ReleaseOne() bool
	Held() []wire.Held
	Forget(id string)
	SetSplit(*wire.Split) <-chan struct{}
	TermOf(*wire.Split) uint64
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
