package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/metrics"
)

// etcd is the store that a cluster runs on, and the client through which the control
// plane reaches it.
type etcd struct {
	k       *sim.Kernel
	store   raftstore.Store
	raft    *raftstore.Replicated // nil on the bare store
	client  *storage.Client
	metrics *metrics.Set // of the members; nil on the bare store
	served  *memberEndpoints
	quota   atomic.Int64    // where it was changed since the start
	ended   <-chan struct{} // closed when the run has ended

	elected  atomic.Bool // it has had a leader: from here on its health counts
	standing sync.Mutex  // over its standing still
	ending   bool        // it does not stand still any more
	lane     *raftLane   // what its members report; nil on the bare store
}

// open opens the store that the configuration asks for. Remote members say themselves how
// many they are.
func (e *etcd) open(k *sim.Kernel, cfg *Config) error {
	e.k, e.served = k, newMemberEndpoints(k)
	leases := storage.NewClock(k)
	of := raftstore.Config{
		Members: cfg.Members, Dir: cfg.DataDir, NoSync: cfg.NoSync,
		Seed: cfg.Seed, Quota: cfg.Quota, QuotaKnob: &e.quota, Clock: leases, Remote: cfg.Remote,
	}
	if cfg.Bare {
		e.store = raftstore.OpenBareWith(of)
	} else {
		lane := newRaftLane(k, e.served)
		e.lane = lane
		e.metrics = metrics.New()
		of.Events = func(ev raftstore.Event) {
			e.metrics.Observe(ev)
			lane.take(ev)
		}
		r, err := raftstore.Open(of)
		if err != nil {
			return fmt.Errorf("open the store: %w", err)
		}
		e.raft, e.store = r, r
		if cfg.Remote != nil {
			cfg.Members = len(r.IDs())
		}
	}
	e.client = storage.New(k, e.store)
	e.client.Use(leases)
	e.client.Member = e.memberName
	if e.raft != nil {
		e.raft.OnReset(func(int64) { e.client.Reset() })
	}
	return nil
}

// kind is what the trace calls the store.
func (e *etcd) kind() string {
	if e.raft == nil {
		return "mvcc"
	}
	return "raft"
}

// memberName is the member with a number, as alarms have it.
func (e *etcd) memberName(id uint64) string {
	if e.raft != nil {
		for _, name := range e.raft.IDs() {
			if raftstore.MemberID(name) == id {
				return name
			}
		}
	}
	return ""
}

// How often is asked, in real time, whether members that elect and replicate by the
// machine's clock are where they are waited for.
const (
	leaderPoll  = 2 * time.Millisecond
	replicaPoll = time.Millisecond
)

// awaitLeader waits for the first election. It takes real time but no virtual
// time, so that runs with and without raft start alike.
func (e *etcd) awaitLeader(t *sim.Task) {
	if e.raft == nil {
		e.elected.Store(true)
		return
	}
	if err := t.Await(0, 0, func(done func()) {
		e.k.Beside("await the leader", func() {
			defer done()
			e.poll(leaderPoll, e.raft.Healthy)
		})
	}); err != nil {
		panic(err)
	}
	e.elected.Store(true)
}

// poll asks in real time until something holds, or the run ends; beside the kernel.
func (e *etcd) poll(every time.Duration, holds func() bool) {
	for !holds() {
		select {
		case <-e.ended:
			return
		case <-time.After(every):
		}
	}
}

// healthy is asked by the kernel: whether it may wait for the store with its
// clock still. While nothing is broken it may, however busy the machine makes
// the members; so a run on a loaded machine gives the same trace. While
// something is, the rest of the cluster goes on beside the store.
func (e *etcd) healthy() bool {
	if !e.elected.Load() || e.raft == nil {
		return true
	}
	if e.raft.Whole() {
		return true
	}
	for _, m := range e.raft.Members() {
		if m.SlowDisk > 0 {
			return false
		}
	}
	return e.store.Healthy()
}

// hold is called by the kernel when the cluster comes to stand or moves again.
func (e *etcd) hold(on bool) {
	e.standing.Lock()
	defer e.standing.Unlock()
	if e.elected.Load() && !e.ending {
		e.store.Hold(on)
	}
}

// single lets one thing go of what is held between and at members: a message, or the
// election timeout of a member without a leader.
func (e *etcd) single() bool { return e.raft != nil && e.raft.StepOne() }

// bare reports whether the store has no members.
func (e *etcd) bare() bool { return e.raft == nil }

// tempo has the members' clocks go as slowly as virtual time, if that is slower than real
// time. Faster than real time they cannot be: their disks and heartbeats are real.
func (e *etcd) tempo(speed float64) {
	if e.raft == nil {
		return
	}
	factor := 1
	if speed > 0 && speed < 1 {
		factor = int(math.Round(1 / speed))
	}
	e.raft.SlowDown(factor)
}

// letGo has the store move for good: what is under way in it has to end, whatever
// the kernel does meanwhile.
func (e *etcd) letGo() {
	e.elected.Store(true)
	e.standing.Lock()
	defer e.standing.Unlock()
	e.ending = true
	e.store.Hold(false)
}

// ask asks the store for something, as a client does that waits for the answer in
// virtual time.
func (e *etcd) ask(name string, causes []trace.ID, fn func(*sim.Task) error) error {
	return e.askAs("ask "+name, name, causes, fn)
}

// askAs is ask for somebody who is known by another name in what entered the run from
// outside (see [sim.Kernel.CallAs]).
func (e *etcd) askAs(key, name string, causes []trace.ID, fn func(*sim.Task) error) error {
	var err error
	p := e.k.NewProcess(trace.Lane{Component: trace.CompSimulation})
	callErr := e.k.CallAs(context.Background(), key, p, name, func(t *sim.Task) {
		t.SetCauses(causes...)
		err = fn(t)
	})
	return errors.Join(err, callErr)
}

// beside does something to the store that takes real time.
func (e *etcd) beside(t *sim.Task, what string, do func() error) error {
	var failed error
	if err := t.Await(0, 0, func(done func()) {
		e.k.Beside(what, func() {
			defer done()
			failed = do()
		})
	}); err != nil {
		return err
	}
	return failed
}

// contain runs a part of the work for etcd's clients: a panic in it is the client's, who gets an error.
func (e *etcd) contain(what string, fn func()) { _ = e.k.HandleCrash(what, fn) }

// startBeside begins something that the store takes its time for, and that nobody waits for.
func startBeside(k *sim.Kernel, what string, do func()) { k.Beside(what, do) }

// waitBeside waits for something that the store takes its time for, and that goes on when ctx
// ends and nobody waits for it any longer.
func waitBeside(ctx context.Context, k *sim.Kernel, what string, do func() error) error {
	ended := make(chan error, 1)
	k.Beside(what, func() {
		err := sim.ErrStopped // a panic in it ends the run
		defer func() { ended <- err }()
		err = do()
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s goes on, and nobody waits for its end: %w", what, ctx.Err())
	}
}
