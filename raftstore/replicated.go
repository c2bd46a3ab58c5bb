package raftstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// Replicated is the store over three or five raft members in this process.
//
// Locks: front, then mu. front keeps the order of what callers are told; mu
// guards the requests under way and who leads. Neither is held while a member
// is started or stopped.
type Replicated struct {
	cfg     Config
	ids     []string
	members []*member.Member
	network *wire.Network
	tmp     string         // the temporary folder to remove, if any
	noUsers auth.AuthStore // what AuthStore gives while no member runs
	clock   clock

	bootTerm uint64 // the highest term of any member when the store was opened

	front    sync.Mutex
	reported uint64 // the last log index that callers were told of
	onCommit func(*Result)
	onUpkeep func(*Result)
	recent   recent // for Changes; has its own lock

	mu     sync.Mutex
	writes writes
	reads  reads
	leader *member.Reader // nil while there is none
	epoch  *epoch         // what the leader is being given
	closed bool
	broken error // why the store cannot go on

	wakeReads     chan struct{}
	wakeDeadlines chan struct{}
	closing       chan struct{}
	goroutines    sync.WaitGroup
	listeners     listeners // of OnChange
}

var _ Store = (*Replicated)(nil)

var memberNames = []string{"a", "b", "c", "d", "e"}

// Open starts the members and gives the store back at once; requests wait
// until a leader is elected. It fails if a member's folder is damaged, or was
// made for another number of members.
func Open(cfg Config) (*Replicated, error) {
	cfg.Members = cmp.Or(cfg.Members, 3)
	if cfg.Members != 3 && cfg.Members != 5 {
		return nil, fmt.Errorf("raftstore: a store of %d members; it can have 3 or 5", cfg.Members)
	}
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 7*time.Second)
	cfg.SnapshotEvery = cmp.Or(cfg.SnapshotEvery, 10_000)
	cfg.SnapshotTrailing = cmp.Or(cfg.SnapshotTrailing, 5_000)
	s := &Replicated{
		cfg: cfg, ids: memberNames[:cfg.Members],
		clock:         clock{start: time.Now()},
		wakeReads:     make(chan struct{}, 1),
		wakeDeadlines: make(chan struct{}, 1),
		closing:       make(chan struct{}),
	}
	if err := cfg.limits().Check(); err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	s.noUsers = apply.New(cfg.limits()).Auth()
	if cfg.Dir == "" {
		tmp, err := os.MkdirTemp("", "raftstore-")
		if err != nil {
			return nil, fmt.Errorf("raftstore: %w", err)
		}
		s.cfg.Dir, s.tmp = tmp, tmp
	}
	if err := s.boot(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Replicated) boot() error {
	fresh, err := s.isFresh()
	if err != nil {
		return err
	}
	s.network = wire.New(wire.Options{Observe: s.observe, Heartbeats: s.cfg.Heartbeats, Seed: s.cfg.Seed, Go: s.spawn})
	requests := &member.Requests{}
	for _, id := range s.ids {
		s.members = append(s.members, member.New(s.memberConfig(id, requests)))
	}
	if err := s.startAll(fresh); err != nil {
		return err
	}
	best := s.members[0]
	for _, m := range s.members {
		s.bootTerm = max(s.bootTerm, m.BootTerm())
		s.recent.reach(m.Status().Revision)
		term, index := m.Tail()
		if bestTerm, bestIndex := best.Tail(); term > bestTerm || term == bestTerm && index > bestIndex {
			best = m
		}
	}
	s.writes.last = (s.bootTerm + 1) << 32
	s.spawn("reads", s.readLoop)
	s.spawn("deadlines", s.deadlineLoop)
	if !s.cfg.NoCampaign {
		s.spawn("campaign", best.Campaign)
	}
	return nil
}

// isFresh says whether the folder is new. Some members' logs without the
// others' are refused: a member that starts empty has forgotten its votes.
func (s *Replicated) isFresh() (bool, error) {
	var there, missing []string
	for _, id := range memberNames {
		ok, err := member.Exists(filepath.Join(s.cfg.Dir, id))
		if err != nil {
			return false, fmt.Errorf("raftstore: %w", err)
		}
		if ok {
			there = append(there, id)
		} else if len(missing) < len(s.ids) {
			missing = append(missing, id)
		}
	}
	switch {
	case len(there) == 0:
		return true, nil
	case len(there) == 3 && len(s.ids) != 3 && missing[0] == "d", len(there) == 5 && len(s.ids) != 5:
		return false, fmt.Errorf("raftstore: %s holds a store of %d members, not of %d", s.cfg.Dir, len(there), len(s.ids))
	case len(there) < len(s.ids):
		return false, fmt.Errorf("raftstore: %s holds the logs of members %v but not of %s; a member that has forgotten its votes must not come back under its old name",
			s.cfg.Dir, there, missing[0])
	}
	return false, nil
}

func (s *Replicated) memberConfig(id string, requests *member.Requests) member.Config {
	return member.Config{
		ID: id, Peers: s.ids, Dir: filepath.Join(s.cfg.Dir, id),
		Network: s.network, NoSync: s.cfg.NoSync,
		SnapshotEvery: s.cfg.SnapshotEvery, SnapshotTrailing: s.cfg.SnapshotTrailing,
		Emit: s.cfg.Events, Applied: s.applied, Changed: s.leadershipChanged,
		Requests: requests, Go: s.spawn, Limits: s.cfg.limits(),
	}
}

func (s *Replicated) startAll(fresh bool) error {
	errs := make([]error, len(s.members))
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Add(1)
		s.spawn("start of "+m.ID(), func() {
			defer wg.Done()
			errs[i] = m.Start(fresh, "the store was opened")
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Do starts a request; see [Store].
func (s *Replicated) Do(req *pb.InternalRaftRequest, done func(*Result)) {
	if req.Range == nil {
		s.write(req, done)
		return
	}
	if req.Range.Serializable {
		done(s.serializable(req.Range))
		return
	}
	s.read(req.Range, done)
}

// OnCommit sets who is told of every change, once, in log order. What was in
// the log when the store was opened is not news and is not told.
func (s *Replicated) OnCommit(fn func(*Result)) {
	s.front.Lock()
	defer s.front.Unlock()
	s.onCommit = fn
}

// Close ends every request with [rpctypes.ErrGRPCStopped] and stops every
// member. It waits for every goroutine.
func (s *Replicated) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	s.endEpoch()
	s.mu.Unlock()

	var wg sync.WaitGroup
	for _, m := range s.members {
		if m.Up() {
			wg.Add(1)
			s.spawn("stop of "+m.ID(), func() {
				defer wg.Done()
				// Down by itself meanwhile is just as well.
				_ = m.Stop("the store was closed")
			})
		}
	}
	wg.Wait()
	s.abort(rpctypes.ErrGRPCStopped)
	s.goroutines.Wait()
	s.recent.end()
	if s.tmp != "" {
		if err := os.RemoveAll(s.tmp); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
	}
	return nil
}
