package cluster

import (
	"context"
	"errors"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/console"
	"kviz/cluster/console/verbs"
	"kviz/cluster/controller"
	"kviz/cluster/csi"
	"kviz/cluster/network"
	"kviz/cluster/scheduler/program"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Boot starts a cluster and returns at once; [Cluster.WaitReady] waits until
// it is up. The caller must Close it.
func Boot(ctx context.Context, cfg Config) (*Cluster, error) { return boot(ctx, cfg, nil) }

// boot is Boot of a cluster that may be a run that is run again.
func boot(ctx context.Context, cfg Config, past *repeat) (*Cluster, error) {
	cfg = cfg.withDefaults()
	if err := CheckWithout(cfg.Without); err != nil {
		return nil, err
	}
	stream, life := trace.NewStream(cfg.limit()), newLifetime()
	db := &etcd{ended: life.ended}
	var k *sim.Kernel
	k = sim.New(sim.Config{
		Seed: cfg.Seed, Epoch: cfg.Epoch, Sink: stream, Healthy: db.healthy, Hold: db.hold, Release: db.single,
		Pace: func(p sim.Pace) { notePace(k, p) }, Again: past.kernel(),
	})
	k.SetDemand(cfg.Demand)
	if err := db.open(k, &cfg); err != nil {
		return nil, err
	}

	components := newComponents(k, cfg.Without)
	net := network.New(k)
	callouts := newCallouts(k, components)
	servers := newAPIServers(k, db, components, net, callouts)
	driver, sidecars := csi.New(k, cfg.DataDir != "" || cfg.Remote != nil), newSidecars()
	nodes := newNodes(k, components, servers, net, podCIDRs(cfg.Nodes), cfg.Light)
	nodes.storage = driver
	nodes.scheduler = program.Config{Limits: cfg.Limits}
	servers.like = apiserver.Config{
		KMS: callouts.kms.Dial, Webhooks: callouts.webhooks, Provider: callouts.provider, Kubelets: kubelets{nodes}, Inert: newNotSimulated(k, servers),
		Components: func() []handlers.ComponentHealth { return componentHealth(components, db) },
	}
	slow, each, cloud := queueDelays{}, controller.NewControllers(), newCloudManager(k, net, cfg)
	if cfg.External {
		nodes.cloud = cloud.cloud
	}
	scheduling, err := newScheduling(k, components, servers, cfg)
	if err != nil {
		return nil, err
	}

	edges := newEdges(k, servers, assets.Documents())
	clock := newClock(k, life, db, stream, cfg.Speed)
	asks := &expressions{stream: stream, members: !cfg.Bare}
	c := &Cluster{
		lifetime: life, clock: clock, breakpoints: &breakpoints{k: k, clock: clock, asks: asks},
		faults:    newFaults(k, components, recovery{db, components, servers}, nodes, slow, each, cloud, sidecars),
		endpoints: &endpoints{etcd: db, api: edges.api, dataDir: cfg.DataDir}, outsiders: &outsiders{k, servers},
		kernel: k, stream: stream, etcd: db, network: net, servers: servers, sched: scheduling, nodes: nodes, edges: edges, sidecars: sidecars,
	}
	store := etcdctl{db, recovery{db, components, servers}}
	c.console = console.New(console.Config{
		Kernel: k, API: edges.api, Server: edges.to, Nodes: shells{nodes}, Etcd: store, Manifests: assets.Manifests(),
		User: authn.Admin(),
		Verbs: verbs.Config{
			Cluster: &verbs.Cluster{Trace: stream, Clock: clock, Faults: c.faults, Breakpoints: c.breakpoints, Members: &memberReads{etcd: db}, Endpoints: c.Endpoints, Loads: nodes.loads},
			Store:   store, Compile: asks.condition, Value: asks.text, Docs: assets.Docs(),
			ControlPlane: &verbs.ControlPlane{
				Servers: servers, Authority: authority{servers}, Provider: callouts.provider, Pollers: &pollers{k: k, balancer: servers.balancer}, Nodes: nodes,
				Scheduler: scheduling,
			},
		},
	})

	past.of(c)
	system := k.NewProcess(trace.Lane{Component: trace.CompSimulation})
	k.AddDemand(1) // until ready
	system.Go("boot", func(t *sim.Task) {
		t.SetCauses(t.Emit(trace.Event{Kind: trace.RunStart, Payload: &trace.Run{
			Version: cfg.Version, Seed: cfg.Seed, Epoch: k.Epoch(), Store: db.kind(), Members: cfg.Members, Nodes: cfg.Nodes, Quota: cfg.Quota, Without: cfg.Without,
		}}))
		noteBoot(k, cfg)
		c.start(t, cfg, slow, each, cloud)
	})

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = cancel
	go func() { // the kernel's one goroutine; what is beside it is started by Beside
		err := k.Run(run)
		if closeErr := db.store.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
		life.end(err)
	}()
	return c, nil
}

// start brings the cluster up in the order a person would expect to see: the
// store elects a leader, the API server connects to it, the rest of the control
// plane to the API server, then the nodes.
func (c *Cluster) start(t *sim.Task, cfg Config, slow queueDelays, each *controller.Controllers, cloud *cloudManager) {
	c.etcd.awaitLeader(t)
	c.servers.start("", t.Causes()).WaitReady(t)
	c.servers.startPeers(t, cfg.Servers)
	components := c.servers.components
	if !cfg.without(trace.CompKCM) {
		startControllerManager(t, components, c.servers, slow, each, c.nodes.cidr, cfg.Limits)
	}
	if err := applyAddons(t, c.servers, c.nodes.cidr); isNoSpace(err) {
		t.Process().Go("addons", func(t *sim.Task) { c.applyAddonsWhenRoom(t) })
	} else if err != nil {
		panic(err) // nothing else has touched the cluster yet
	}
	if !cfg.without(trace.CompCCM) {
		startCloudControllerManager(t, components, c.servers, slow, cloud, c.nodes.cidr, cfg.Limits)
	}
	c.sidecars.start(t, components, c.servers, c.nodes.storage, slow)
	startDNS(t, components, c.servers, c.network)
	c.sched.begin(t)
	unwatch := watchRoom(c.kernel, c.letIn)
	watchReadiness(c.kernel, cfg.Nodes, cfg.lasting(), t.Causes(), func(causes []trace.ID) {
		unwatch()
		c.booted(causes, cfg.Nodes)
	})
	c.nodes.powerOn(t, cfg.Nodes)
}

// booted says that the cluster is ready.
func (c *Cluster) booted(causes []trace.ID, nodes int) {
	c.kernel.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.Ready, Causes: causes})
	c.readyNodes.Store(int64(nodes))
	c.letIn()
}

// letIn lets in who waits for the cluster, once, and gives the clock its speed: booting
// itself is as fast as the machine allows.
func (c *Cluster) letIn() {
	select {
	case <-c.ready:
	default:
		c.kernel.AddDemand(-1)
		c.clock.booted()
		close(c.ready)
	}
}
