package member

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashicorp/raft"
)

// heldLease is the leader's lease while messages are held: how long the
// process may get no processor at all without the leader giving up its leadership.
// Raft looks at the lease again at most this long after the hold, so it must
// not be longer than one may wait for an isolated leader to step down.
const heldLease = 2 * time.Second

// setLease sets a running raft's LeaderLeaseTimeout.
//
// Raft lets every other timeout be changed while it runs (raft.ReloadConfig),
// and reads this one again each time too, but offers no way to set it. A leader
// that stands still on a machine with no processor to spare would lose its
// leadership to a lease of one election timeout, though nobody else can be elected
// meanwhile. So this reaches for raft's own copy of its configuration, an
// atomic.Value as ReloadConfig uses it. The caller must not call it beside
// ReloadConfig.
func setLease(r *raft.Raft, lease time.Duration) {
	conf := confOf(r)
	c := conf.Load().(raft.Config)
	if c.LeaderLeaseTimeout != lease {
		c.LeaderLeaseTimeout = lease
		conf.Store(c)
	}
}

var confOffset = offsetInRaft[atomic.Value]("conf")

func confOf(r *raft.Raft) *atomic.Value {
	return (*atomic.Value)(unsafe.Add(unsafe.Pointer(r), confOffset))
}
