// Package storage is the API server's etcd client: the one way between
// virtual time and the real store.
//
// In Kubernetes this is clientv3 inside pkg/storage/etcd3. Here it also keeps
// runs repeatable. The store works in real time on its own goroutines; what it
// did becomes visible to the cluster only at the virtual moment at which the
// operation falls due, in the order in which operations were asked for. Reads
// are answered as of the last revision that has become visible, never as of
// one that a write in flight may or may not have reached.
//
// What reaches the store in another way (etcdctl, a write whose caller gave up)
// becomes visible as soon as no operation is in flight.
//
// Start reading at [Client.Txn].
package storage

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// Client is a connection to the store. It may be used only on the kernel's
// goroutine.
type Client struct {
	k     *sim.Kernel
	store raftstore.Store
	rand  *rand.Rand
	cost  Cost

	// DescribeEvent names the API object behind what a commit did to a key, for the
	// trace; nil leaves keys as they are.
	DescribeEvent func(e *mvccpb.Event) (trace.Ref, *trace.Object)

	revision int64         // newest visible revision
	due      time.Duration // when the newest write in flight falls due
	writing  int           // writes in flight
	watches  []*Watch
	lines    map[string]*line                     // of the named watches
	givenUp  int                                  // how many of own have ended without an answer
	asked    uint64                               // writes asked for
	own      map[*pb.InternalRaftRequest]*request // writes whose effect is not yet visible; also those given up

	compacted   int64    // the newest compaction that is visible
	compactedBy trace.ID // and its event

	leases    map[int64]*lease // that are granted, as far as is visible
	watched   uint64           // watches opened
	granting  string           // what the next lease is for
	leaseRand *rand.Rand       // draws the numbers of leases
	clock     *Clock           // nil where the store has a clock of its own

	// Member names a member by the number it has in alarms; nil leaves the name
	// out.
	Member func(id uint64) string

	mu      sync.Mutex
	arrived []arrival // took effect, not yet visible; in log order
	reset   bool      // the store's history is another than what was shown; see Reset
	awaited []*awaited
}

// arrival is what took effect at the store: a commit, or the upkeep of
// something beside the keys.
type arrival struct {
	*raftstore.Result
	upkeep bool
}

// request is a write of this client.
type request struct {
	number  uint64 // in the order asked for
	at      time.Duration
	purpose string // what a lease is for
	landed  bool   // its operation has fallen due
	givenUp bool
	causes  []trace.ID
	commit  trace.ID // the store.commit event of its revision, once that is visible
}

// Cost is the modelled time of store operations.
type Cost struct {
	Read    time.Duration // a linearizable read: one round of heartbeats
	Write   time.Duration // append, fsync on a quorum, commit
	Jitter  float64       // fraction of the cost drawn at random, e.g. 0.25
	Timeout time.Duration // after which a request fails; etcd's default is 5 s + twice the election timeout
}

// DefaultCost is what a three-member etcd on good disks takes.
var DefaultCost = Cost{Read: 500 * time.Microsecond, Write: 2 * time.Millisecond, Jitter: 0.25, Timeout: 7 * time.Second}

// New connects to a store. It must be called before anything is written.
func New(k *sim.Kernel, s raftstore.Store) *Client {
	c := &Client{
		k: k, store: s, rand: k.Rand("store"), cost: DefaultCost, revision: 1,
		own: map[*pb.InternalRaftRequest]*request{}, lines: map[string]*line{}, leases: map[int64]*lease{}, leaseRand: k.Rand("lease"),
	}
	s.OnCommit(func(r *raftstore.Result) { c.arrive(arrival{r, false}) })
	if u, ok := s.(raftstore.UpkeepTelling); ok {
		u.OnUpkeep(func(r *raftstore.Result) { c.arrive(arrival{r, true}) })
	}
	return c
}

// SetCost changes the modelled time of operations: how a slow disk or a
// distant member feels.
func (c *Client) SetCost(cost Cost) { c.cost = cost }

// Cost is the modelled time of operations.
func (c *Client) Cost() Cost { return c.cost }

// Revision is the newest revision that has become visible.
func (c *Client) Revision() int64 { return c.revision }

// Range reads keys. Revision 0 means the newest visible one. Errors are etcd's
// (rpctypes).
func (c *Client) Range(t *sim.Task, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return c.RangeAs(t, nil, r)
}

// RangeAs is [Client.Range] for whoever the header says.
func (c *Client) RangeAs(t *sim.Task, who *pb.RequestHeader, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	latest := r.Revision == 0
	if latest {
		r = proto.Clone(r).(*pb.RangeRequest)
		r.Revision = c.revision
	}
	var res *raftstore.Result
	err := t.Await(c.drawn(c.cost.Read), min(c.cost.Timeout, max(c.left(t), 1)), func(done func()) {
		c.store.Do(&pb.InternalRaftRequest{Header: who, Range: r}, func(got *raftstore.Result) { res = got; done() })
	})
	switch {
	case err == nil:
		err = res.Err
	case c.left(t) <= 0:
		err = context.DeadlineExceeded
	default:
		err = rpctypes.ErrGRPCTimeout
	}
	if err != nil {
		c.refused(t, "range", string(r.Key), err)
		return nil, rpctypes.Error(err)
	}
	resp := res.Response.(*pb.RangeResponse)
	resp.Header.Revision = c.revision
	if latest {
		// Others may have written while the answer was on its way; the header says
		// what the answer holds, for a watch goes on from there.
		resp.Header.Revision = r.Revision
	}
	return resp, nil
}

// Txn runs a transaction. commit is the store.commit event of the revision it
// made, the store.unmet event where its comparison did not hold, zero when it
// changed nothing. After an error the transaction may or
// may not have happened, as with etcd.
func (c *Client) Txn(t *sim.Task, r *pb.TxnRequest) (resp *pb.TxnResponse, commit trace.ID, err error) {
	res, commit, err := c.write(t, &pb.InternalRaftRequest{Txn: r})
	if err != nil {
		c.refused(t, "txn", txnKey(r), err)
		return nil, trace.ID{}, rpctypes.Error(err)
	}
	resp = res.Response.(*pb.TxnResponse)
	if !resp.Succeeded && len(r.Compare) > 0 && len(r.Success) > 0 {
		commit = c.unmet(t, r, resp)
	}
	return resp, commit, nil
}

// Compact throws away history before rev.
func (c *Client) Compact(t *sim.Task, rev int64) error {
	if _, _, err := c.write(t, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: rev}}); err != nil {
		c.refused(t, "compact", "", err)
		return rpctypes.Error(err)
	}
	return nil
}

var lane = trace.Lane{Component: trace.CompStore}

// Do runs a request of upkeep (a compaction, an alarm) and waits until its
// effect is visible.
func (c *Client) Do(t *sim.Task, op string, req *pb.InternalRaftRequest) (proto.Message, error) {
	res, _, err := c.write(t, req)
	if err != nil {
		c.refused(t, op, "", err)
		return nil, rpctypes.Error(err)
	}
	return res.Response, nil
}

func txnKey(r *pb.TxnRequest) string {
	if len(r.Compare) > 0 {
		return string(r.Compare[0].Key)
	}
	return ""
}

// write sends a request that may change the store and waits until its effect
// is visible. The operation belongs to the client, not to the task: if the
// task is killed, what was asked for still happens and is still seen.
func (c *Client) write(t *sim.Task, req *pb.InternalRaftRequest) (*raftstore.Result, trace.ID, error) {
	if c.left(t) <= 0 { // etcd's client sends nothing when the context is over
		return nil, trace.ID{}, context.DeadlineExceeded
	}
	var (
		res  *raftstore.Result
		err  error
		over bool
		wait sim.Cond
		mine = &request{number: c.asked, at: c.k.Elapsed(), causes: t.Causes()}
	)
	if req.LeaseGrant != nil {
		mine.purpose, c.granting = c.granting, ""
		c.clock.pin()
	}
	c.asked++
	c.own[req] = mine
	c.due = max(c.k.Elapsed()+c.drawn(c.cost.Write), c.due)
	c.writing++
	c.k.Operate(c.due-c.k.Elapsed(), c.cost.Timeout, func(done func()) {
		c.store.Do(req, func(got *raftstore.Result) {
			res = got
			done()
		})
	}, func(timedOut bool) {
		c.writing--
		over, mine.landed = true, true
		if req.LeaseGrant != nil {
			c.clock.unpin()
		}
		switch {
		case timedOut:
			err = rpctypes.ErrGRPCTimeout
		case res.Err != nil:
			err = res.Err
		case c.isReset():
			err = rpctypes.ErrGRPCTimeout // whoever asked it knows another history
		default:
			c.show(res.Revision)
		}
		switch {
		case !timedOut && !maybe(res.Err):
			delete(c.own, req) // whatever it did is visible
		case c.own[req] != nil:
			mine.givenUp = true
			c.givenUp++
		}
		if c.writing == 0 {
			c.show(newest)
		}
		wait.Broadcast()
	})
	for !over { // see Task.Deadline
		left := c.left(t)
		switch {
		case left <= 0: // it may be written all the same
			return nil, trace.ID{}, context.DeadlineExceeded
		case left <= c.cost.Timeout:
			wait.WaitTimeout(t, left)
		default:
			wait.Wait(t)
		}
	}
	if err != nil {
		return nil, trace.ID{}, err
	}
	return res, mine.commit, nil
}

// maybe says whether a write that ended so can still take effect.
func maybe(err error) bool {
	return err == rpctypes.ErrGRPCTimeout || err == rpctypes.ErrGRPCTimeoutDueToLeaderFail
}

const newest = int64(1<<63 - 1)

// arrive is called by the store, on its goroutine, for everything that took
// effect.
func (c *Client) arrive(r arrival) {
	c.mu.Lock()
	c.arrived = append(c.arrived, r)
	c.settle(r)
	c.mu.Unlock()
	c.k.Post(func() {
		if c.writing == 0 && !c.k.Repeating() {
			c.late()
		}
	})
}

// InputShown is something that took effect when nobody waited for it, as it enters the run
// (see [sim.Kernel.Enter]): up to which revision.
const InputShown = "store.shown"

// late shows what took effect when nobody waited for it.
func (c *Client) late() {
	if up, ok := c.newest(); ok {
		c.k.Enter(InputShown, up)
		c.show(newest)
	}
}

// newest is the newest revision that can be shown; false where there is none.
func (c *Client) newest() (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reset || len(c.arrived) == 0 {
		return 0, false
	}
	return c.arrived[len(c.arrived)-1].Revision, true
}

// Again lets in what entered then, on the kernel's goroutine; it reports false where the
// store has not done so much yet.
func (c *Client) Again(in *trace.Input) (bool, error) {
	var up int64
	if err := in.Decode(&up); err != nil {
		return false, err
	}
	if has, ok := c.newest(); !ok || has < up {
		return c.revision >= up, nil
	}
	c.k.Enter(in.What, up)
	c.show(up)
	return true, nil
}

// Leave makes visible what the store has done beyond the repeated run, when that becomes
// live. It is called on the kernel's goroutine.
func (c *Client) Leave() {
	if c.writing == 0 {
		c.late()
	}
}

// show makes commits up to a revision visible: each becomes an event and goes
// to the watches.
func (c *Client) show(upTo int64) {
	for {
		r, writer := c.take(upTo)
		if r.Result == nil {
			return
		}
		if r.upkeep {
			c.upkeep(r.Result, writer)
			continue
		}
		if r.Revision <= c.revision && len(r.Events) > 0 {
			continue // already shown
		}
		c.revision = max(c.revision, r.Revision)
		if len(r.Events) == 0 {
			continue
		}
		payload := c.commit(r.Result)
		e := trace.Event{Lane: lane, Kind: trace.StoreCommit, Object: payload.Changes[0].Object, Payload: payload}
		if writer != nil {
			e.Causes = writer.causes
		}
		id := c.k.Emit(e)
		if writer != nil {
			writer.commit = id
		}
		b := Batch{Revision: r.Revision, Events: r.Events, Commit: id}
		for _, w := range c.watches {
			w.offer(b)
		}
	}
}

func (c *Client) take(upTo int64) (arrival, *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reset || len(c.arrived) == 0 || c.arrived[0].Revision > upTo {
		return arrival{}, nil
	}
	r := c.arrived[0]
	w := c.own[r.Request]
	if w != nil && r.upkeep && !w.landed && !w.givenUp {
		// It made no revision by which one could say whether it came before what is
		// shown now; so it is shown when its own time has come.
		return arrival{}, nil
	}
	c.arrived = c.arrived[1:]
	if w != nil && len(r.Events) > 0 && !r.upkeep && r.Request.LeaseRevoke != nil {
		return r, w // its upkeep follows
	}
	return r, c.writer(r.Result)
}

// writer is who asked for what a commit did, nil for others. It may have given
// up since. Writes take effect in the order asked for, so those asked for
// earlier, which have not yet, never will.
func (c *Client) writer(r *raftstore.Result) *request {
	w := c.own[r.Request]
	if w == nil {
		return nil
	}
	delete(c.own, r.Request)
	if w.givenUp {
		c.givenUp--
	}
	if c.givenUp == 0 {
		return w
	}
	for req, o := range c.own {
		if o.givenUp && o.number < w.number {
			delete(c.own, req)
			c.givenUp--
		}
	}
	return w
}

func (c *Client) commit(r *raftstore.Result) *trace.Commit {
	m := &trace.Commit{Revision: r.Revision, Index: r.Index, Changes: make([]trace.KeyChange, 0, len(r.Events))}
	for _, e := range r.Events {
		ch := trace.KeyChange{
			Key: string(e.Kv.Key), Deleted: e.Type == mvccpb.DELETE,
			CreateRevision: e.Kv.CreateRevision, Version: e.Kv.Version, Size: len(e.Kv.Value), Lease: e.Kv.Lease,
		}
		if c.DescribeEvent != nil {
			ch.Object, ch.Value = c.DescribeEvent(e)
		}
		if ch.Value == nil && ch.Object.Kind == "" && !ch.Deleted || trace.Encrypted(e.Kv.Value) {
			ch.Raw = e.Kv.Value
		}
		m.Changes = append(m.Changes, ch)
	}
	if r.Request != nil && r.Request.Txn != nil && len(r.Request.Txn.Compare) > 0 {
		m.If = comparisons(r.Request.Txn.Compare)
	}
	return m
}

// drawn is a cost with its jitter.
func (c *Client) drawn(d time.Duration) time.Duration {
	return d + time.Duration(c.rand.Float64()*c.cost.Jitter*float64(d))
}

// left is how long somebody still waits for what the task asks.
func (c *Client) left(t *sim.Task) time.Duration {
	if t.Deadline() == 0 {
		return math.MaxInt64
	}
	return t.Deadline() - t.Elapsed()
}

func (c *Client) refused(t *sim.Task, op, key string, err error) {
	t.Emit(trace.Event{Lane: lane, Kind: trace.StoreRefused, Payload: &trace.StoreError{Op: op, Key: key, Error: rpctypes.ErrorDesc(err)}})
}
