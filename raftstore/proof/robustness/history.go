// Package robustness records what clients see of the store under each of its
// faults, and has etcd's own robustness model and watch validation judge it
// (go.etcd.io/etcd/tests/v3/robustness): whether the answers are those of one
// machine that takes one request after the other (porcupine), whether every
// watch got every event once, in order, with the right previous values, and
// whether reads of the past told the past.
//
// The traffic is etcd's own too: puts, deletes, transactions, leases, ranges
// whole and streamed, now and at earlier revisions, watches from the past and
// from the future, compactions.
//
// Etcd reads the order in which requests took effect from its members' write-ahead
// logs; here the store reports it, and it is written to a log in etcd's format, so
// that etcd's own reader makes the model's requests from it.
//
// Start reading at [record], then the faults in fault.go.
package robustness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/tests/v3/robustness/client"
	"go.etcd.io/etcd/tests/v3/robustness/identity"
	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/etcd/tests/v3/robustness/traffic"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// history is what was seen.
type history struct {
	reports   []report.ClientReport
	persisted []model.EtcdRequest
}

// operations is how many requests were answered well, and how many events came.
func (h *history) operations() (good, failed, events int) {
	for _, r := range h.reports {
		events += r.WatchEventCount()
		for _, op := range r.KeyValue {
			if op.Output.(model.MaybeEtcdResponse).Error == "" {
				good++
			} else {
				failed++
			}
		}
	}
	return good, failed, events
}

// applied collects the requests that took effect.
type applied struct {
	mu       sync.Mutex
	requests map[uint64]*pb.InternalRaftRequest
	writes   atomic.Int64 // of them, what may have changed keys
}

func (a *applied) note(index uint64, req *pb.InternalRaftRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.requests[index]; !again && (req.Put != nil || req.Txn != nil) {
		a.writes.Add(1)
	}
	a.requests[index] = req
}

// await waits until so many more writes have taken effect, however long a busy
// machine takes.
func (a *applied) await(ctx context.Context, n int64) error {
	for until := a.writes.Load() + n; a.writes.Load() < until; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d writes are missing: %w", until-a.writes.Load(), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// moments are how long the parts of a recording last: the fault by time, since
// it may let nothing through; before and after it by how many writes take effect,
// so that a history says as much on a machine that is busy.
type moments struct {
	before, after int64
	during        time.Duration
}

// record runs clients against a store, has the fault come and go, and gives
// what was seen. dir must be empty.
func record(t testing.TB, dir string, f fault, victim string, m moments) (h *history, err error) {
	log := &applied{requests: map[uint64]*pb.InternalRaftRequest{}}
	store, err := raftstore.Open(raftstore.Config{
		Dir: dir + "/store", Applied: log.note, SnapshotEvery: 150, SnapshotTrailing: 20, RequestTimeout: 3 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	served, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	clients, err := observe(t, store, served.Endpoints, f, victim, m, log)
	if err != nil {
		return nil, err
	}
	sameState(t, store)
	persisted, err := log.asRequests(dir + "/wal")
	return &history{reports: clients, persisted: persisted}, err
}

// observe is the clients' part, as etcd's SimulateTraffic, without its demand
// for a number of requests a second.
func observe(t testing.TB, store *raftstore.Replicated, endpoints []string, f fault, victim string, m moments, log *applied) ([]report.ClientReport, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*steady.Patience(t))
	defer cancel()
	lg := zap.NewNop()
	ids, start := identity.NewIDProvider(), time.Now()
	busy := client.NewSet(ids, start)
	defer busy.Close()
	if err := traffic.CheckEmptyDatabaseAtStart(ctx, lg, endpoints, busy); err != nil {
		return nil, err
	}
	g := groupOf(t, store, victim, f, m.during)

	// Watchers that see everything, one at each member that stays.
	whole := client.NewSet(ids, start)
	defer whole.Close()
	var last atomic.Int64
	watching, watchCtx := errgroup.WithContext(ctx)
	for i, id := range []string{"a", "b", "c"} {
		if !f.gone || id != g.victim && id != g.other {
			watching.Go(func() error { return watchAll(watchCtx, whole, endpoints[i], &last) })
		}
	}

	finish := make(chan struct{})
	var running sync.WaitGroup
	err := simulate(ctx, &running, busy, endpoints, finish)
	if err == nil {
		err = steps(func() error { return log.await(ctx, m.before) }, func() error { return f.run(g) }, func() error { return log.await(ctx, m.after) })
	}
	close(finish)
	running.Wait()
	if err == nil {
		err = tombstone(ctx, busy, endpoints)
	}
	reports := busy.Reports()
	if err == nil {
		last.Store(report.OperationsMaxRevision(reports))
	} else {
		cancel()
	}
	err = errors.Join(err, watching.Wait())
	return slices.Concat(reports, whole.Reports()), err
}

// watchAll watches every key at one member until it has seen the last revision,
// and starts over where it was cut off.
//
// As etcd's client.CollectClusterWatchEvents, which does not end when its time
// is over.
func watchAll(ctx context.Context, set *client.ClientSet, endpoint string, last *atomic.Int64) error {
	c, err := set.NewClient([]string{endpoint})
	if err != nil {
		return err
	}
	defer c.Close()
	seen := int64(1)
	for end := int64(0); end == 0 || seen < end; end = last.Load() {
		if ctx.Err() != nil {
			return fmt.Errorf("the watcher at %s is at revision %d of %d: %w", endpoint, seen, last.Load(), ctx.Err())
		}
		seen = watchOnce(ctx, c, seen, last)
	}
	return nil
}

// watchOnce watches until the stream ends, or there is nothing more to see.
func watchOnce(ctx context.Context, c *client.RecordingClient, seen int64, last *atomic.Int64) int64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses := c.Watch(ctx, "", seen+1, true, true, false)
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		if end := last.Load(); end > 0 && seen >= end {
			return seen
		}
		select {
		case <-ticks.C:
			// A stream that is gone says so by itself.
			_ = c.RequestProgress(ctx)
		case r, ok := <-responses:
			switch {
			case !ok:
				time.Sleep(10 * time.Millisecond)
				return seen
			case r.CompactRevision > seen:
				return r.CompactRevision
			case len(r.Events) > 0:
				seen = r.Events[len(r.Events)-1].Kv.ModRevision
			}
		}
	}
}

// simulate starts etcd's traffic.
func simulate(ctx context.Context, running *sync.WaitGroup, set *client.ClientSet, endpoints []string, finish <-chan struct{}) error {
	kv := &traffic.KeyValue{MaximalQPS: 300, BurstableQPS: 300, MemberClientCount: 3, ClusterClientCount: 2, MaxNonUniqueRequestConcurrency: 2}
	watch := &traffic.Watch{MemberClientCount: 3, ClusterClientCount: 1, RevisionOffsetRange: traffic.Range{Min: -50, Max: 50}}
	limiter := rate.NewLimiter(rate.Limit(kv.MaximalQPS), kv.BurstableQPS)
	keys, objects := traffic.NewKeyStore(10, "key"), traffic.NewKubernetesStorage()
	what := traffic.EtcdPutDeleteLease
	return errors.Join(
		traffic.SimulateKeyValueTraffic(ctx, running, kv, endpoints, set, what, traffic.RunTrafficLoopParam{
			QPSLimiter: limiter, IDs: set.IdentityProvider(), LeaseIDStorage: identity.NewLeaseIDStorage(),
			NonUniqueRequestConcurrencyLimiter: traffic.NewConcurrencyLimiter(kv.MaxNonUniqueRequestConcurrency),
			KeyStore:                           keys, Storage: objects, Finish: finish,
		}),
		traffic.SimulateWatchTraffic(ctx, running, watch, endpoints, set, what, traffic.RunWatchLoopParam{
			Config: *watch, QPSLimiter: limiter, KeyStore: keys, Storage: objects, Finish: finish, Logger: zap.NewNop(),
		}),
		traffic.SimulateCompactionTraffic(ctx, running, &traffic.Compaction{Period: 200 * time.Millisecond}, endpoints, set, what,
			traffic.RunCompactLoopParam{Period: 200 * time.Millisecond, Finish: finish}),
	)
}

// tombstone is the last write; the validation wants one that succeeds.
func tombstone(ctx context.Context, set *client.ClientSet, endpoints []string) error {
	c, err := set.NewClient(endpoints)
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err = c.Put(try, "tombstone", fmt.Sprint("true-", set.IdentityProvider().NewRequestID()))
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("no write succeeds after the fault: %w", err)
}

func groupOf(t testing.TB, store *raftstore.Replicated, victim string, f fault, during time.Duration) *group {
	t.Helper()
	g := &group{Replicated: store, last: func() { time.Sleep(during) }, patience: steady.Patience(t)}
	steady.Until(t, "a leader", func() bool { g.leader = store.Leader(); return g.leader != "" })
	for _, id := range store.IDs() {
		switch {
		case id == g.leader:
		case g.victim == "" && (id == victim || victim == g.leader):
			g.victim = id
		default:
			g.other = id
		}
	}
	if f.name == "the leader is removed" {
		g.victim, g.leader = g.leader, g.victim
	}
	return g
}

// sameState waits until all members have the same keys at the same revision.
func sameState(t testing.TB, store *raftstore.Replicated) {
	t.Helper()
	steady.Await(t, "all members are the same", func() error {
		hashes := map[raftstore.KVHash][]string{}
		rev := store.Revision()
		var err error
		for _, id := range store.IDs() {
			h, e := store.HashKV(id, rev)
			err = errors.Join(err, e)
			hashes[h] = append(hashes[h], id)
		}
		if err == nil && len(hashes) == 1 {
			return nil
		}
		return fmt.Errorf("members differ at revision %d: %v, %v", rev, hashes, err)
	})
}

// asRequests gives what took effect as the model's requests, by way of a
// write-ahead log of etcd's.
func (a *applied) asRequests(dir string) ([]model.EtcdRequest, error) {
	lg := zap.NewNop()
	wal.SegmentSizeBytes = 1 << 20
	w, err := wal.Create(lg, dir+"/member/wal", nil)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var indexes []uint64
	for i, r := range a.requests {
		if r.Put != nil || r.DeleteRange != nil || r.Txn != nil || r.LeaseGrant != nil || r.LeaseRevoke != nil || r.Compaction != nil {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	var entries []*raftpb.Entry
	for n, i := range indexes {
		data, err := proto.Marshal(a.requests[i])
		if err != nil {
			return nil, err
		}
		entries = append(entries, &raftpb.Entry{Term: proto.Uint64(1), Index: proto.Uint64(uint64(n + 1)), Type: raftpb.EntryNormal.Enum(), Data: data})
	}
	n := uint64(len(entries))
	if err := errors.Join(w.Save(&raftpb.HardState{Term: proto.Uint64(1), Vote: proto.Uint64(0), Commit: &n}, entries), w.Close()); err != nil {
		return nil, err
	}
	return report.PersistedRequests(lg, []string{dir})
}
