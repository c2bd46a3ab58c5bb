package raftstore

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Members, faults and stepping of a replicated store, as [Replicated] has
// them. It exists so that others can build against it.
type Faulty interface {
	Store
	// RangeAt answers a Range from one member's own state, however old that
	// is: etcd's serializable read.
	RangeAt(member string, req *pb.RangeRequest) (*pb.RangeResponse, error)
	// Members tells what is known of every member, in order of ID.
	Members() []MemberStatus

	// ReleaseOne lets the oldest held message go; false if none is held.
	ReleaseOne() bool
	// Held lists what is held, oldest first.
	Held() []Held

	Stop(member string) error
	Crash(member string) error
	Restart(member string) error
	Cut(from, to string) error
	Isolate(members ...string) error
	Heal()
	Delay(from, to string, d time.Duration) error
	Drop(from, to string, probability float64) error
	SlowDisk(member string, d time.Duration) error
	FillDisk(member string) error
	FreeDisk(member string) error
	TransferLeadership(to string) error
	Snapshot(member string) error
}
