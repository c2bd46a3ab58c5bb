// Package cluster is a whole Kubernetes cluster in one process: a replicated
// store, an API server, a controller manager, a scheduler, and nodes with their
// kubelets, runtimes and proxies, all on one simulation kernel.
//
// Boot makes the parts and starts them in order; each part knows only the parts that
// it is given. The store is etcd.go, the API servers apiservers.go, the rest of the
// control plane controlplane.go, the nodes nodes.go; every process that can be
// stopped and started again is a component (component.go). A person drives the
// cluster through clock.go, breakpoint.go, faults.go and the console. Start reading
// at [Boot].
package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/client/throttle"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/network"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
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
	Limits  throttle.Limits   // of the clients of kube-controller-manager and kube-scheduler (--kube-api-qps, --kube-api-burst); zero means upstream's
	Quota   int64             // bytes that a member's database may have (etcd --quota-backend-bytes); 0 means 2 GiB
	Limit   int               // events kept in memory; 0 means trace.DefaultLimit, or fewer in a very large cluster

	// Scheduler is kube-scheduler's configuration (--config); nil means upstream's defaults.
	Scheduler []byte
	// WhyAnnotation has kube-scheduler annotate pods that fit nowhere with what would have to change;
	// experimental ([scheduler.WhyAnnotation]).
	WhyAnnotation bool

	// External has kubelets run with --cloud-provider=external: each machine is an instance of the cloud,
	// and cloud-controller-manager initializes its node.
	External bool

	// Without are the components that are not started, so that a program from outside can take
	// their place: some of [Replaceable], in order.
	Without []string

	Version string // of kviz, for the trace
}

// Members and nodes of a cluster whose configuration does not say.
const (
	usualMembers = 3
	usualNodes   = 3
)

func (cfg Config) withDefaults() Config {
	if cfg.Members == 0 {
		cfg.Members = usualMembers
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = usualNodes
	}
	cfg.Nodes = max(cfg.Nodes, 0)
	return cfg
}

// limit is how many events are kept in memory. A cluster too large for its score
// matrices to be told (scheduler.WholeMatrix) has two thirds of the events a pod, so
// that fewer are the same stretch of its life.
func (cfg Config) limit() int {
	if cfg.Limit == 0 && cfg.Nodes > scheduler.WholeMatrix {
		return trace.DefaultLimit * 5 / 8
	}
	return cfg.Limit
}

// Cluster is a running cluster: its parts, and what those that drive it call.
type Cluster struct {
	*lifetime    // Ready, WaitReady, Ended, Err
	*clock       // Clock, Pause, Resume, Step, Speed, SkipIdle
	*breakpoints // Break, Breakpoints, Unbreak, Until
	*faults      // Faults, Targets, Fault
	*endpoints   // Listen, ListenEtcd, Endpoints, OnEndpoints

	kernel    *sim.Kernel
	stream    *trace.Stream
	etcd      *etcd
	network   *network.Network
	servers   *apiServers
	sched     *scheduling
	nodes     *nodes
	edges     *edges
	sidecars  *sidecars
	outsiders *outsiders
	console   *console.Console
	forked    *control.Fork // nil for a cluster that began by itself

	stop     context.CancelFunc
	closing  sync.Once
	closeErr error // of the console's temporary files
}

// Trace is the stream of events.
func (c *Cluster) Trace() *trace.Stream { return c.stream }

// Exec runs one console line and gives its exit status.
func (c *Cluster) Exec(ctx context.Context, line string, streams control.Streams) int {
	return c.console.Exec(ctx, line, streams)
}

// Words are the words of the console's language.
func (c *Cluster) Words() []control.Word { return c.console.Words() }

// Stand sets the console's current folder and returns the previous one.
func (c *Cluster) Stand(dir string) (before string) { return c.console.Stand(dir) }

// Close stops everything and returns when no goroutine of the cluster is left.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		c.etcd.letGo()
		c.edges.close()
		_ = c.endpoints.closeMembers() // it only waits
		_ = c.console.CloseEtcd()      // likewise
		c.stop()
		<-c.ended
		c.closeErr = c.console.Close()
	})
	<-c.ended
	return errors.Join(c.lifetime.err, c.closeErr)
}

// Kernel is the kernel the cluster runs on.
func (c *Cluster) Kernel() *sim.Kernel { return c.kernel }

// Busy is for how long the cluster has worked; see [sim.Kernel.Busy].
func (c *Cluster) Busy() time.Duration { return c.kernel.Busy() }

// Server is the cluster's first API server.
func (c *Cluster) Server() *apiserver.Server { return c.servers.first }

// Raft is the replicated store, or nil on the bare one.
func (c *Cluster) Raft() *raftstore.Replicated { return c.etcd.raft }

// Network is the nodes' network.
func (c *Cluster) Network() *network.Network { return c.network }

// Console is the cluster's console.
func (c *Cluster) Console() *console.Console { return c.console }
