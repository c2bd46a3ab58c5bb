package raftstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/apply"
	"kviz/raftstore/lock"
	"kviz/raftstore/member"
	"kviz/raftstore/remote"
	"kviz/raftstore/wire"
)

// Replicated is the store over raft members, in this process (three by default) or
// each in one of its own ([Config.Remote]).
//
// Its parts are the order of the requests in flight, the leases that expire, and the
// membership of the group, each with its own locks; the rest brings them together: what
// callers and listeners learn (front), faults, holding, opening and recovering.
//
// Locks: membership's changing, then starting, then adopting, then front, then the
// order's mu; membership's rosterMu is taken last and for moments only; holding is taken
// before rosterMu and by nobody who has another. front keeps the order in which listeners
// are called. Neither it nor mu is held while a member is started or stopped.
type Replicated struct {
	cfg       Config
	network   network
	wire      *wire.Network  // the same, if the members are of this process
	processes *remote.Group  // if they are not
	tmp       string         // the temporary folder to remove, if any
	noUsers   auth.AuthStore // what AuthStore gives while no member runs

	bootTerm uint64 // the highest term of any member when the store was opened

	front    sync.Mutex
	reported uint64 // the last log index that was delivered
	attached bool   // members of other processes were taken over
	onCommit func(*Result)
	onUpkeep func(*Result)
	onReset  []func(revision int64)
	recent   recent                 // for Changes; has its own lock
	foremost atomic.Pointer[string] // the member that callers heard of reported from

	holding   sync.Mutex // held during Hold; guards nothing else
	held      atomic.Bool
	settled   time.Time      // until when what StepOne let go is waited for; its caller's, as what follows
	timedOut  map[string]int // how often whose election timeout was made to run out
	pace      atomic.Int64   // see SlowElections
	slowed    atomic.Int64   // see SlowDown
	splitting lock.Lock      // held while an election is being split
	requests  member.Requests

	order      *order
	leases     *leases
	membership *membership

	goroutines sync.WaitGroup
	listeners  listeners // of OnChange
}

var _ Store = (*Replicated)(nil)

// Open starts the members and returns the store at once; requests wait until a leader
// is elected. A folder that already holds a store keeps its members, whatever
// Config.Members says. A member whose log is missing or damaged stays down, and says
// why; Open fails if none can start.
func Open(cfg Config) (*Replicated, error) {
	cfg.Members = cmp.Or(cfg.Members, 3)
	if cfg.Members < 1 || cfg.Members > maxMembers {
		return nil, fmt.Errorf("raftstore: a store of %d members; it can have 1 to %d", cfg.Members, maxMembers)
	}
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 7*time.Second)
	cfg.SnapshotEvery = cmp.Or(cfg.SnapshotEvery, 10_000)
	cfg.SnapshotTrailing = cmp.Or(cfg.SnapshotTrailing, 5_000)
	s := &Replicated{cfg: cfg, timedOut: map[string]int{}}
	s.order = newOrder(s, cfg.RequestTimeout)
	if err := cfg.limits().Check(); err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	s.noUsers = apply.New(cfg.limits()).Auth()
	if cfg.Dir == "" { // before there is a goroutine that would have to be ended
		tmp, err := os.MkdirTemp("", "raftstore-")
		if err != nil {
			return nil, fmt.Errorf("raftstore: %w", err)
		}
		s.cfg.Dir, s.tmp = tmp, tmp
	}
	s.leases = newLeases(s, &s.order.clock, cfg.Clock, cfg.RequestTimeout, s.order.closing)
	s.membership = newMembership(s.order, s.newMember, s.spawn)
	s.membership.dir, s.membership.sync = s.cfg.Dir, !cfg.NoSync && s.tmp == "" // a temporary folder nobody opens again
	s.leases.serve(s.spawn)
	if err := s.boot(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Do starts a request; see [Store].
func (s *Replicated) Do(req *pb.InternalRaftRequest, done func(*Result)) {
	if req.Range == nil {
		s.write(req, done)
		return
	}
	if req.Range.Serializable {
		done(s.serializable(req.Header, req.Range))
		return
	}
	s.order.read(req.Header, req.Range, done)
}

// OnCommit sets the function that is called with every change, once, in log order. What was in
// the log when the store was opened is not news and is not told.
func (s *Replicated) OnCommit(fn func(*Result)) {
	s.front.Lock()
	defer s.front.Unlock()
	s.onCommit = fn
}

// Close ends every request with [rpctypes.ErrGRPCStopped] and stops every
// member, but those of other processes, which go on. It waits for every goroutine.
func (s *Replicated) Close() error {
	if !s.order.close() {
		return nil
	}
	s.leases.lessor.Stop()
	if s.processes != nil {
		s.processes.Close() // orders that are under way end too
	}
	s.membership.starting.Lock() // whoever starts a member later will see that it is too late
	all := s.membership.group().all()
	s.membership.starting.Unlock()

	var wg sync.WaitGroup
	for _, m := range all {
		if m.Up() && s.processes == nil {
			wg.Add(1)
			s.spawn("stop of "+m.ID(), func() {
				defer wg.Done()
				// Down by itself meanwhile is just as well.
				_ = m.Stop("the store was closed")
			})
		}
	}
	wg.Wait()
	s.order.abort(rpctypes.ErrGRPCStopped)
	s.goroutines.Wait()
	s.recent.end()
	if s.tmp != "" {
		if err := os.RemoveAll(s.tmp); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
	}
	return nil
}
