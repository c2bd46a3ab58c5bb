// Package cluster is a whole Kubernetes cluster in one process: a replicated
// store, an API server, a controller manager, a scheduler, and nodes with their
// kubelets, runtimes and proxies, all on one simulation kernel.
//
// Boot puts the parts together; nothing else here knows them all. A part that
// can be stopped and started again is a component (component.go); the store is
// opened in store.go; nodes are in node.go. Cluster implements
// control.Cluster, the interface by which the explorer, lessons and the
// console drive. Start reading at [Boot].
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/balancer"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/idp"
	"kviz/cluster/kms"
	"kviz/cluster/network"
	"kviz/cluster/proxy"
	"kviz/cluster/registry"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/cluster/webhook"
	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/metrics"
)

// Config is the shape of a cluster. The zero value is three members, three
// nodes, the replicated store in a temporary directory, and full speed.
type Config struct {
	Seed    uint64
	Epoch   time.Time         // virtual time 0; zero means sim.DefaultEpoch
	Bare    bool              // the mvcc state machine alone instead of raft members
	Members int               // 1 to 9; 0 means 3
	Remote  *raftstore.Remote // members in processes of their own, instead of Members and DataDir
	Servers int               // API servers, behind a load balancer where there are several; 0 means 1
	Nodes   int               // 0 means 3; -1 means none
	DataDir string            // where the members keep their logs; "" means a temporary directory
	NoSync  bool              // do not wait for the disk (large simulations of something else than the store)
	Speed   float64           // virtual seconds per real second; 0 is as fast as possible
	Demand  bool              // time passes only while somebody waits for something: scripts
	Light   bool              // nodes without a kube-proxy: very large clusters
	Quota   int64             // bytes that a member's database may have (etcd --quota-backend-bytes); 0 means 2 GiB
	Limit   int               // events kept in memory; 0 means trace.DefaultLimit, or fewer in a very large cluster

	Version string // of kviz, for the trace
}

// Cluster is a running cluster.
type Cluster struct {
	cfg    Config
	k      *sim.Kernel
	stream *trace.Stream

	store   raftstore.Store
	raft    *raftstore.Replicated // nil on the bare store
	metrics *metrics.Set          // of the members; nil on the bare store
	etcd    *storage.Client

	leaseClock   *storage.Clock
	quota        atomic.Int64      // of the store, where it was changed since the start
	server       *apiserver.Server // the first; the balancer has all
	serverConfig apiserver.Config  // what every API server begins with
	removed      map[string]int    // how many API servers of a name were removed
	balancer     *balancer.Balancer
	registry     *registry.Registry
	delays       queueDelays           // of the controllers' work queues
	slowed       map[string]*sim.Delay // API servers that were slowed, by their target
	network      *network.Network
	rules        *proxy.Shared
	kms          *kms.Plugin
	webhooks     *webhook.Servers
	provider     *idp.Provider

	components []*component
	nodes      []*node

	ready       chan struct{} // closed when the control plane is up and every node Ready
	elected     atomic.Bool   // the store has had a leader: from here on its health counts
	holding     sync.Mutex    // over the store's standing still
	ending      bool          // it does not stand still any more
	ended       chan struct{}
	endErr      error
	stop        context.CancelFunc
	closing     sync.Once
	closeErr    error  // of the console's temporary files
	why         string // why the cluster stands; kernel's goroutine
	clock       clock
	endpoint    atomic.Pointer[control.Endpoints]
	onEndpoints atomic.Pointer[func()]
	etcdServer  atomic.Pointer[etcdapi.Server] // nil unless ListenEtcd was called
	served      served
	api         *serve.Handler
	direct      direct // to single API servers
	console     *console.Console
	pollers     pollers
	fold        *view.Builder // the kernel's own fold, for expressions; see folded
	foldAt      uint64

	breakpoints []*breakpoint // kernel's goroutine
	questions   uint64        // put to single members; kernel's goroutine
	broken      int           // number of the newest breakpoint
}

// direct are the ways to single API servers past the load balancer, by name, made when
// they are used.
type direct struct {
	sync.Mutex
	by map[string]*serve.Handler
}

// limit is how many events are kept in memory. A cluster too large for its score
// matrices to be told (see traceNodes) has two thirds of the events a pod, so
// that fewer are the same stretch of its life.
func (cfg Config) limit() int {
	if cfg.Limit == 0 && cfg.Nodes > wholeMatrix {
		return trace.DefaultLimit * 5 / 8
	}
	return cfg.Limit
}

// Boot starts a cluster and returns at once; [Cluster.WaitReady] waits until
// it is up. The caller must Close it.
func Boot(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Members == 0 {
		cfg.Members = 3
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = 3
	}
	cfg.Nodes = max(cfg.Nodes, 0)
	c := &Cluster{cfg: cfg, stream: trace.NewStream(cfg.limit()), ready: make(chan struct{}), ended: make(chan struct{})}
	c.k = sim.New(sim.Config{Seed: cfg.Seed, Epoch: cfg.Epoch, Sink: c.stream, Healthy: c.healthy, Hold: c.hold, Release: c.release, Pace: c.notePace})
	c.k.SetDemand(cfg.Demand)
	c.clock.set(control.Clock{Speed: cfg.Speed})
	c.served = served{c: c, told: map[string]trace.MemberEndpoint{}, at: map[string]etcdapi.Address{}}
	c.registry, c.delays, c.slowed = registry.New(c.k), queueDelays{}, map[string]*sim.Delay{}
	c.network = network.New(c.k)
	c.rules = proxy.NewShared()
	c.kms = kms.New(c.k)
	c.balancer = balancer.New(c.k)
	c.webhooks = webhook.New(c.beginWebhook)
	c.provider = idp.New(c.k, c.beginProvider)

	if err := c.openStore(); err != nil {
		return nil, err
	}
	c.etcd = storage.New(c.k, c.store)
	c.etcd.Use(c.leaseClock)
	if c.raft != nil {
		c.raft.OnReset(func(int64) { c.etcd.Reset() })
	}
	c.etcd.Member = c.memberName
	c.openConsole()

	system := c.k.NewProcess(trace.Lane{Component: trace.CompSimulation})
	c.k.AddDemand(1) // until ready
	system.Go("boot", c.boot)

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = cancel
	go c.run(run) // the kernel's one goroutine; what is beside it is started by Beside
	return c, nil
}

// run is the kernel's goroutine.
func (c *Cluster) run(ctx context.Context) {
	defer close(c.ended)
	c.endErr = c.k.Run(ctx)
	if err := c.store.Close(); c.endErr == nil {
		c.endErr = err
	}
}

// boot brings the cluster up in the order a person would expect to see: the
// store elects a leader, the API server connects to it, the rest of the control
// plane to the API server, then the nodes.
func (c *Cluster) boot(t *sim.Task) {
	t.SetCauses(t.Emit(trace.Event{Kind: trace.RunStart, Payload: &trace.Run{
		Version: c.cfg.Version, Seed: c.cfg.Seed,
		Epoch: c.k.Epoch(), Store: c.storeKind(), Members: c.cfg.Members, Nodes: c.cfg.Nodes, Quota: c.cfg.Quota,
	}}))
	c.awaitLeader(t)
	c.startControlPlane(t)
	c.watchReadiness(t)
	for i := range c.cfg.Nodes {
		c.addNode(t, i+1, "")
		t.Sleep(3 * time.Millisecond) // machines do not power on at the same instant
	}
}

// awaitLeader waits for the first election. It takes real time but no virtual
// time, so that runs with and without raft start alike.
func (c *Cluster) awaitLeader(t *sim.Task) {
	if c.raft == nil {
		c.elected.Store(true)
		return
	}
	err := t.Await(0, 0, func(done func()) {
		c.k.Beside("await the leader", func() {
			defer done()
			for !c.raft.Healthy() {
				select {
				case <-c.ended:
					return
				case <-time.After(2 * time.Millisecond): // of real time: raft elects by the machine's clock
				}
			}
		})
	})
	if err != nil {
		panic(err)
	}
	c.elected.Store(true)
}

func (c *Cluster) storeKind() string {
	if c.cfg.Bare {
		return "mvcc"
	}
	return "raft"
}

// healthy is asked by the kernel: whether it may wait for the store with its
// clock still. While nothing is broken it may, however busy the machine makes
// the members; so a run on a loaded machine gives the same trace. While
// something is, the rest of the cluster goes on beside the store.
func (c *Cluster) healthy() bool {
	if !c.elected.Load() || c.raft == nil {
		return true
	}
	if c.raft.Whole() {
		return true
	}
	for _, m := range c.raft.Members() {
		if m.SlowDisk > 0 {
			return false
		}
	}
	return c.store.Healthy()
}

// hold is called by the kernel when the cluster comes to stand or moves again.
func (c *Cluster) hold(on bool) {
	c.holding.Lock()
	defer c.holding.Unlock()
	if c.elected.Load() && !c.ending {
		c.store.Hold(on)
	}
}

// letGo has the store move for good: what is under way in it has to end, whatever
// the kernel does meanwhile.
func (c *Cluster) letGo() {
	c.holding.Lock()
	defer c.holding.Unlock()
	c.ending = true
	c.store.Hold(false)
}

// release lets one held message between members go.
func (c *Cluster) release() bool { return c.raft != nil && c.raft.ReleaseOne() }

// ErrNotReady is returned when a cluster ended before it was ready.
var ErrNotReady = errors.New("the cluster ended before it was ready")

// WaitReady waits until the control plane is up and every node is Ready.
func (c *Cluster) WaitReady(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the cluster: %w", ctx.Err())
	case <-c.ended:
		if c.endErr != nil {
			return c.endErr
		}
		return ErrNotReady
	}
}

// Ready is closed when the cluster is up.
func (c *Cluster) Ready() <-chan struct{} { return c.ready }

// Ended is closed when the run has ended, by Close or by a broken invariant;
// [Cluster.Err] then says which.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// Err is the broken invariant that ended the run, if one did.
func (c *Cluster) Err() error {
	select {
	case <-c.ended:
		return c.endErr
	default:
		return nil
	}
}

// Close stops everything and returns when no goroutine of the cluster is left.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		c.elected.Store(true)
		c.letGo()
		c.api.Close()
		c.closeDirect()
		_ = c.closeEtcd()         // it only waits
		_ = c.console.CloseEtcd() // likewise
		c.stop()
		<-c.ended
		c.closeErr = c.console.Close()
	})
	<-c.ended
	return errors.Join(c.endErr, c.closeErr)
}

// Kernel is the kernel the cluster runs on.
func (c *Cluster) Kernel() *sim.Kernel { return c.k }

// Server is the cluster's API server.
func (c *Cluster) Server() *apiserver.Server { return c.server }

// Raft is the replicated store, or nil on the bare one.
func (c *Cluster) Raft() *raftstore.Replicated { return c.raft }

// Network is the nodes' network.
func (c *Cluster) Network() *network.Network { return c.network }
