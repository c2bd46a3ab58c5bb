package etcdapi

import (
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxGap is how many committed entries may wait to be applied before a member
// takes no more requests that go through the log.
//
// Mirrors etcd server/etcdserver/v3_server.go maxGapBetweenApplyAndCommitIndex.
const maxGap = 5000

// errTooMany has no gRPC code in etcd either: its clients see Unknown.
var errTooMany = status.Error(codes.Unknown, rpctypes.ErrorDesc(rpctypes.ErrGRPCRequestTooManyRequests))

// backlog is whether the member lags behind what is committed, as of the last look:
// looking at every request would cost more than most requests.
type backlog struct {
	mu      sync.Mutex
	looked  time.Time
	lagging bool
}

// lookEvery is how long a look holds.
const lookEvery = 50 * time.Millisecond

// tooManyRequests reports whether the member has to apply too much first.
func (f *frontend) tooManyRequests() bool {
	if f.server.group == nil {
		return false
	}
	c := &f.backlog
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) > lookEvery {
		s, ok := f.server.status(f.member)
		c.looked, c.lagging = now, ok && s.Commit > s.Applied+maxGap
	}
	return c.lagging
}
