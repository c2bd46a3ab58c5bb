// Package proxy is kube-proxy in iptables mode: on every node it watches
// Services and EndpointSlices and keeps the node's netfilter rules in line with
// them.
//
// It mirrors pkg/proxy/iptables: the chains, their hashed names, comments and
// probabilities are upstream's, letter by letter; the rules go to the node's
// tables (package network) where packets meet them, and stay there when the
// proxy dies.
//
// Simplified: IPv4 only; services inside KUBE-SERVICES are sorted by name
// (upstream's order is random); nothing listens on node ports; a proxy that lives is
// well. Start reading at rules.go (what is written), then sync.go (when).
package proxy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/informer"
	"kviz/cluster/network"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Simplified,
	What: "kube-proxy writes iptables rules for IPv4 only, with the services inside KUBE-SERVICES sorted by name, where upstream's order is random; nothing listens on node ports",
})

// Config says which node a proxy serves.
type Config struct {
	Node        *network.Node // whose tables it writes
	ClusterCIDR string        // where all pods' addresses come from; "" means 10.244.0.0/16
	Zone        string        // the node's zone, for topology hints
	// Counters writes the rules that need nfacct objects in the kernel.
	Counters bool
	// Shared lets the proxies of many nodes compute equal rule sets once; nil
	// means this proxy computes its own.
	Shared *Shared
	// Quiet leaves out one event a rule and keeps one a sync: for nodes by the
	// thousand.
	Quiet bool
}

// Proxy is the kube-proxy of one node.
type Proxy struct {
	cfg      Config
	p        *sim.Process
	k        *sim.Kernel
	client   client.Interface
	services *informer.Informer
	slices   *informer.Informer

	blocks  map[string][]*block // by namespace/name of the Service
	changed map[string][]trace.ID
	full    bool
	whole   []trace.ID // why it is full

	synced  bool // both informers are
	waiting *sim.Timer
	busy    bool
	done    time.Duration // end of the last sync
	syncs   int
	rec     *record.Recorder // made when there is something to tell
	checks  checks           // health check node ports that are open
	most    int              // rules that were made, compared or told of in one turn
}

// Upstream's periods (pkg/proxy/apis/config/v1alpha1/defaults.go).
const (
	minSyncPeriod = time.Second      // between the end of a sync and the next
	syncPeriod    = 30 * time.Second // how often the canary chain is looked at
)

// configSync is how often the caches tell of everything again
// (configSyncPeriod); what has not changed makes no work.
const configSync = 15 * time.Minute

// limits are how fast its client may send (pkg/proxy/apis/config/v1alpha1 defaults.go); it
// only watches, which is not limited, unless the API server has no WatchList.
var limits = throttle.Limits{QPS: 5, Burst: 10}

const bySvc = "service"

// Start starts a proxy as tasks of p, whose lane is {proxy, node}.
func Start(p *sim.Process, c client.Interface, cfg Config) *Proxy {
	if cfg.ClusterCIDR == "" {
		cfg.ClusterCIDR = "10.244.0.0/16"
	}
	if cfg.Shared == nil {
		cfg.Shared = NewShared()
	}
	c = throttle.New(p, p.Lane, c, "kube-proxy", limits)
	px := &Proxy{cfg: cfg, p: p, k: p.Kernel(), blocks: map[string][]*block{}, changed: map[string][]trace.ID{}, full: true, whole: []trace.ID{p.Began()}, done: -minSyncPeriod}
	px.client = c
	px.services = informer.New(p, p.Lane, c, client.Services, "", informer.Options{Crashed: px.warn, LabelSelector: "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name", Resync: configSync})
	px.slices = informer.New(p, p.Lane, c, client.EndpointSlices, "", informer.Options{Crashed: px.warn, LabelSelector: "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name", Resync: configSync})
	px.slices.AddIndex(bySvc, func(obj runtime.Object) []string { return []string{serviceOf(obj.(*discoveryv1.EndpointSlice))} })
	px.services.AddHandler(handler(px, func(obj runtime.Object) string {
		s := obj.(*corev1.Service)
		return s.Namespace + "/" + s.Name
	}))
	px.slices.AddHandler(handler(px, func(obj runtime.Object) string { return serviceOf(obj.(*discoveryv1.EndpointSlice)) }))
	px.services.Start()
	px.slices.Start()
	cfg.Node.Tables.OnFlush(px.flushed)
	px.serveHealth()
	p.Go("wait", func(t *sim.Task) {
		px.services.WaitForSync(t)
		px.slices.WaitForSync(t)
		px.synced = true
		px.schedule()
	})
	return px
}

func serviceOf(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

func handler(px *Proxy, key func(runtime.Object) string) informer.Handler {
	touch := func(_ *sim.Task, obj runtime.Object, why trace.ID) {
		k := key(obj)
		px.changed[k] = append(px.changed[k], why)
		px.schedule()
	}
	return informer.Handler{
		Add: touch,
		Update: func(t *sim.Task, old, obj runtime.Object, why trace.ID) {
			if old != obj { // not a resync
				touch(t, obj, why)
			}
		},
		Delete: touch,
	}
}

// schedule has a sync run: now, or a second after the last one ended
// (pkg/proxy/runner BoundedFrequencyRunner).
func (px *Proxy) schedule() {
	if !px.synced || px.busy || px.waiting != nil || !px.p.Alive() {
		return
	}
	delay := max(px.done+minSyncPeriod-px.k.Elapsed(), 0)
	px.waiting = px.k.After(delay, func() {
		px.waiting = nil
		if px.p.Alive() {
			px.busy = true
			px.p.Go("sync", px.sync)
		}
	})
}

// flushed is somebody having flushed the node's tables: the canary chain is
// gone, which the proxy sees within the sync period and answers with a full
// sync (pkg/util/iptables Monitor).
func (px *Proxy) flushed(causes []trace.ID) {
	px.k.After(syncPeriod-px.k.Elapsed()%syncPeriod, func() {
		if px.p.Alive() {
			px.full, px.whole = true, causes
			px.schedule()
		}
	})
}

// Save is what iptables-save prints on the proxy's node.
func (px *Proxy) Save() string { return px.cfg.Node.Tables.Save() }

// MostAtOnce is how many rules were made, compared or told of at most before others had their
// turns.
func (px *Proxy) MostAtOnce() int { return px.most }

// Syncs is how often the rules were brought in line.
func (px *Proxy) Syncs() int { return px.syncs }
