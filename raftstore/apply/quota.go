package apply

import (
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// What a request is taken to cost beside its key and value: etcd's estimates.
const (
	leaseOverhead = 64
	kvOverhead    = 256
)

// Available reports whether the database, as big as it is now, may take what
// the request adds. What adds nothing is always available. etcd's server asks it
// before it proposes; it may be asked beside Apply.
//
// Mirrors etcd server/storage/quota.go BackendQuota.Available.
func (s *State) Available(req *pb.InternalRaftRequest) bool {
	return s.room(cost(req), s.size.Load())
}

// Capped reports whether a NOSPACE alarm is raised.
func (s *State) Capped() bool { return s.capped }

// fits is Available for Apply itself.
func (s *State) fits(req *pb.InternalRaftRequest) bool {
	return s.room(cost(req), s.KV.Size())
}

func (s *State) room(cost, size int64) bool {
	quota := s.limits.quota()
	return cost == 0 || quota < 0 || size+cost < quota
}

// QuotaNow is how big the database may grow now, less than 0 without a limit.
func (l Limits) QuotaNow() int64 { return l.quota() }

// Quota is how big the database may grow now, less than 0 without a limit.
func (s *State) Quota() int64 { return s.limits.quota() }

// quota is how big the database may grow now, less than 0 without a limit.
func (l *Limits) quota() int64 {
	if l.Knob != nil {
		if n := l.Knob.Load(); n != 0 {
			return n
		}
	}
	return cmp.Or(l.Quota, DefaultQuota)
}

func cost(req *pb.InternalRaftRequest) int64 {
	switch {
	case req.Put != nil:
		return costPut(req.Put)
	case req.Txn != nil:
		return costTxn(req.Txn)
	case req.LeaseGrant != nil:
		return leaseOverhead
	}
	return 0
}

func costPut(r *pb.PutRequest) int64 { return kvOverhead + int64(len(r.Key)+len(r.Value)) }

func costTxn(r *pb.TxnRequest) int64 { return max(costOps(r.Success), costOps(r.Failure)) }

func costOps(ops []*pb.RequestOp) (n int64) {
	for _, op := range ops {
		if p := op.GetRequestPut(); p != nil {
			n += costPut(p)
		} else if t := op.GetRequestTxn(); t != nil {
			n += costTxn(t)
		}
	}
	return n
}
