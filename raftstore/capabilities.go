package raftstore

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/apply"
	"kviz/raftstore/mvcc"
)

// What a store can do beside answering requests, each by its name, for whoever has a
// [Store] and asks whether it can. Those of [Server] both stores here have; a store of
// somebody's test may lack any.

// Alarming lists the raised alarms; see [Server].
type Alarming interface{ Alarms() []*pb.AlarmMember }

// Authenticating has users, roles and tokens; see [Server].
type Authenticating interface{ AuthStore() auth.AuthStore }

// Defragmenting gives back what a member's database does not use; see [Server].
type Defragmenting interface{ Defragment(id string) error }

// LeaseTiming knows how long a lease still has; see [Server].
type LeaseTiming interface {
	Remaining(id int64) (left time.Duration, l mvcc.Lease, ok bool, err error)
}

// UpkeepTelling reports requests that took effect but changed no key: compactions,
// leases, alarms.
type UpkeepTelling interface{ OnUpkeep(fn func(*Result)) }

// Versioned knows which version of etcd's storage each member has.
type Versioned interface {
	VersionsAt(id string) (apply.Versions, error)
}

// Clustered has a cluster ID, which restoring a backup changes.
type Clustered interface{ ClusterID() uint64 }

// Limited has a quota; less than 0 is no limit.
type Limited interface{ Quota() int64 }

// Counting counts what is under way, and what has run out, for the metrics.
type Counting interface {
	Pending() int   // writes whose end is not known
	Expired() int64 // leases that have run out since the store was opened
}

var (
	_ interface {
		Alarming
		Authenticating
		Defragmenting
		LeaseTiming
		UpkeepTelling
		Versioned
		Limited
	} = (*bare)(nil)
	_ interface {
		UpkeepTelling
		Versioned
		Clustered
		Limited
		Counting
	} = (*Replicated)(nil)
)

// HeaderOf is the header of a response, nil if it has none.
func HeaderOf(response any) *pb.ResponseHeader {
	if r, ok := response.(interface{ GetHeader() *pb.ResponseHeader }); ok {
		return r.GetHeader()
	}
	return nil
}
