package etcdapi

import (
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore"
	"kviz/raftstore/mvcc"
)

// backend is what every store must do to be served.
type backend interface {
	raftstore.Store
	raftstore.History
	raftstore.Server
}

// group is what a store of members does for their addresses;
// [raftstore.Replicated] is one.
type group interface {
	IDs() []string
	Leader() string
	Members() []raftstore.MemberStatus
	OnChange(fn func()) (stop func())
	TransferLeadership(to string) error

	asked
	reads
}

// asked is what each member of a group is asked about itself.
type asked interface {
	Glance(id string) raftstore.Glance
	Reaches(id string) bool
	Forwarded(id, what string, size int)
	RevisionAt(id string) int64
	AuthAt(id string) auth.AuthStore
}

// reads are what each member of a group answers from what it has.
type reads interface {
	ViewAt(id string, fn func(kv *mvcc.Store)) error
	RangeAt(id string, r *pb.RangeRequest) (*pb.RangeResponse, error)
	ReadTxnAt(id string, r *pb.TxnRequest) (*pb.TxnResponse, error)
}

// membership is what a group does whose members can change.
type membership interface {
	OnMembers(fn func())
	AddMemberAt(learner bool, peerURLs []string) (id string, err error)
	PromoteMember(id string) error
	RemoveMember(id string) error
	UpdateMember(id string, peerURLs []string) error
}

// backuper is a store that can write one member's state as etcd's database file.
type backuper interface {
	Backup(member string, w io.Writer) error
}

var (
	_ backend = (*raftstore.Replicated)(nil)
	_ group   = (*raftstore.Replicated)(nil)
)
