package etcdapi

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
)

// What etcd reckons for a request beside its keys and values.
//
// Mirrors etcd server/storage/quota.go.
const (
	defaultQuota  = 2 << 30
	leaseOverhead = 64
	kvOverhead    = 256
)

func costOfPut(r *pb.PutRequest) int { return kvOverhead + len(r.Key) + len(r.Value) }

func costOfTxn(r *pb.TxnRequest) int {
	cost := func(ops []*pb.RequestOp) (n int) {
		for _, op := range ops {
			if p := op.GetRequestPut(); p != nil {
				n += costOfPut(p)
			} else if t := op.GetRequestTxn(); t != nil {
				n += costOfTxn(t)
			}
		}
		return n
	}
	return max(cost(r.Success), cost(r.Failure))
}

// sizeGuess is what the member's database took when it was last looked at, and
// what was written since. Far from the quota that is good enough; near it the
// member is asked at every request.
type sizeGuess struct {
	mu    sync.Mutex
	asked time.Time
	size  int64
	since int64
}

// guessFor is how long a guess holds.
const guessFor = 250 * time.Millisecond

// room refuses what does not fit into the quota any more, and raises the
// NOSPACE alarm, which then refuses everything that needs room. The state
// machine checks again when the request's turn comes.
//
// Mirrors etcd server/etcdserver/api/v3rpc/quota.go quotaAlarmer.check.
func (f *frontend) room(ctx context.Context, cost int) error {
	quota := f.quota()
	if quota < 0 || cost == 0 || f.guess(int64(cost), quota) < quota {
		return nil
	}
	alarm := &pb.AlarmRequest{MemberID: f.id, Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	// What refuses the write is that there is no room, told or not.
	_, _ = f.change(ctx, &pb.InternalRaftRequest{Alarm: alarm})
	return rpctypes.ErrGRPCNoSpace
}

// guess is how big the database is with the request.
func (f *frontend) guess(cost, quota int64) int64 {
	g := &f.size
	g.mu.Lock()
	defer g.mu.Unlock()
	near := g.size+2*(g.since+cost) > quota-quota/16
	if near || time.Since(g.asked) > guessFor {
		size, _, err := f.server.store.DBSize(f.member)
		if err != nil {
			return 0 // it is down, which says itself
		}
		g.asked, g.size, g.since = time.Now(), size, 0
		return size + cost
	}
	g.since += cost
	return g.size + g.since
}

// quota is the most bytes that the database may take; below 0 there is no limit.
func (f *frontend) quota() int64 {
	if s, ok := f.server.store.(raftstore.Limited); ok {
		return s.Quota()
	}
	return defaultQuota
}
