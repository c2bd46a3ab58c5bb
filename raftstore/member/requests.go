package member

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// Requests keeps the requests of the last log entries decoded, for all members
// of one process: an entry is the same on every member (raft's Log Matching
// property), so one decoded request, which nobody changes, serves them all. And what
// they make of it is the same, so they keep one copy of that (see [mvcc.Shared]).
type Requests struct {
	ring     [1024]atomic.Pointer[decoded]
	versions mvcc.Shared
}

type decoded struct {
	index, term uint64
	req         *pb.InternalRaftRequest
}

func (r *Requests) of(l *raft.Log) (*pb.InternalRaftRequest, error) {
	slot := &r.ring[l.Index%uint64(len(r.ring))]
	if d := slot.Load(); d != nil && d.index == l.Index && d.term == l.Term {
		return d.req, nil
	}
	req := &pb.InternalRaftRequest{}
	if err := proto.Unmarshal(l.Data, req); err != nil {
		return nil, fmt.Errorf("entry %d: %w", l.Index, err)
	}
	slot.Store(&decoded{index: l.Index, term: l.Term, req: req})
	return req, nil
}
