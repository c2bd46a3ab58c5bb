package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/console/verbs"
	"kviz/cluster/network"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// MostServers is how many API servers a cluster may have.
const MostServers = 5

// apiServers are the API servers, and the load balancer that stands before them.
type apiServers struct {
	k          *sim.Kernel
	etcd       *etcd
	components *components
	network    *network.Network
	callouts   *callouts
	balancer   *balancer.Balancer

	first   *apiserver.Server     // the others are made like it; nil until it was started
	like    apiserver.Config      // what each begins with
	removed map[string]int        // how many of a name were removed
	slowed  map[string]*sim.Delay // what requests are slowed by, by target
}

func newAPIServers(k *sim.Kernel, etcd *etcd, components *components, network *network.Network, callouts *callouts) *apiServers {
	return &apiServers{k: k, etcd: etcd, components: components, network: network, callouts: callouts, balancer: balancer.New(k), removed: map[string]int{}, slowed: map[string]*sim.Delay{}}
}

// errNoServer is what is refused with before the first API server was started.
var errNoServer = errors.New("the API server has not been started yet")

// client is a component's connection to the API, through the balancer.
func (a *apiServers) client(lane trace.Lane, user authn.User) client.Interface {
	return a.first.ClientThrough(a.balancer, lane, user)
}

// bearer is the connection of a component that has a token and no certificate.
func (a *apiServers) bearer(lane trace.Lane, token string) client.Interface {
	return a.first.BearerThrough(a.balancer, lane, token)
}

// start makes an API server known and starts it. The first has no name; another is made
// beside it, with files and keys of its own machine that are the same.
func (a *apiServers) start(name string, causes []trace.ID) *apiserver.Server {
	target, address := trace.CompAPIServer, controlPlaneIP
	if name != "" {
		target += "/" + name
		address = a.freeAddress()
	}
	cfg := a.like
	cfg.Name, cfg.Before, cfg.Peer, cfg.AdvertiseIP = name, a.removed[name], a.first, address
	cfg.Dial = func(t *sim.Task, to string, limit time.Duration) (remote.Connection, trace.ID, error) {
		return dialPod(t, a.network, address, to, limit)
	}
	delay := &sim.Delay{}
	a.slowed[target], cfg.Delay = delay, delay.Pass
	var server *apiserver.Server
	a.components.add(target, trace.Lane{Component: trace.CompAPIServer, Instance: name}, func(p *sim.Process) {
		if server != nil {
			server.Restart(p)
			return
		}
		server = apiserver.New(p, a.etcd.client, cfg)
	}).begin(causes, "")
	if a.first == nil {
		a.first = server
		a.callouts.add()
	}
	a.balancer.Add(&balancer.Backend{Name: target, Address: serverAt(address), Server: server})
	return server
}

// serverAt is where the server of a machine listens.
func serverAt(address string) string { return address + ":6443" }

// controlPlaneIP is the address of the machine that the first API server runs on, which
// is none of the nodes.
const controlPlaneIP = "192.168.0.10"

// freeAddress is the address of the next machine for an API server; that of one which
// was removed may be used again. The nodes' begin at 192.168.0.11.
func (a *apiServers) freeAddress() string {
	for i := 2; ; i++ {
		address := fmt.Sprintf("192.168.0.%d", i)
		if !slices.ContainsFunc(a.balancer.Backends(), func(s *balancer.Backend) bool { return s.Address == serverAt(address) }) {
			return address
		}
	}
}

// slow has every request at a server take d longer.
func (a *apiServers) slow(s *balancer.Backend, d time.Duration) { a.slowed[s.Name].Set(d) }

// backend is an API server by its target name, or nil.
func (a *apiServers) backend(target string) *balancer.Backend {
	for _, s := range a.balancer.Backends() {
		if s.Name == target {
			return s
		}
	}
	return nil
}

// Add starts another API server on the same store, and before the second the
// load balancer. Connections go to it when its health checks say that it is ready.
func (a *apiServers) Add(t *sim.Task) error {
	if a.first == nil {
		return errNoServer
	}
	if n := len(a.balancer.Backends()); n == MostServers {
		return fmt.Errorf("there are %d API servers: more would only take turns at the store", n)
	}
	server := a.start(a.freeName(), t.Causes())
	if all, _ := a.first.Store().Endpoints(); len(all) > 0 {
		server.Store().SetEndpoints(t, group{a.etcd.raft}, all)
	}
	if a.components.find(trace.CompBalancer) == nil {
		a.startBalancer(t)
	}
	if !server.WaitReadyFor(t, serverLimit) {
		return fmt.Errorf("the new API server is not ready after %v: its process runs, and the store pane shows what it waits for", serverLimit)
	}
	return nil
}

// Remove takes an API server out for good: the load balancer gives it nothing
// more, it takes its address out of the kubernetes Service, its process ends and its
// clients go on at another, and its machine is gone with its files. The first stays:
// what a server that is added is like, is read there.
func (a *apiServers) Remove(t *sim.Task, name string) error {
	s := a.backend(name)
	switch {
	case s == nil:
		return fmt.Errorf("there is no API server %q", name)
	case len(a.balancer.Backends()) == 1:
		return fmt.Errorf("%s is the only API server: without one nobody reads or writes anything (kviz fault stop %s stops it for a while)", name, name)
	case s.Server == a.first:
		return fmt.Errorf("%s is the first API server: one that is added gets its files and flags, so it stays (kviz fault stop %s stops it for a while); the others can be removed", name, name)
	}
	if s.Leaves() {
		return fmt.Errorf("%s is being removed already", name)
	}
	if !slices.ContainsFunc(a.balancer.Backends(), func(o *balancer.Backend) bool { return o != s && o.Server.Ready() && !o.Leaves() }) {
		return fmt.Errorf("%s is the only API server that answers: start another one first (kviz fault start apiserver)", name)
	}
	m := a.components.find(name)
	a.balancer.Drain(t, s)
	s.Server.Retire(t)
	m.stop(t.Causes(), "it was removed")
	a.components.remove(m)
	s.Server.Forget()
	a.balancer.Remove(t, s)
	delete(a.slowed, name)
	a.removed[strings.TrimPrefix(name, trace.CompAPIServer+"/")]++
	return nil
}

// freeName is what the next API server is called: b, c, …; the name of one that was
// removed may be used again.
func (a *apiServers) freeName() string {
	name := "b"
	for a.components.find(trace.CompAPIServer+"/"+name) != nil {
		name = string(name[0] + 1)
	}
	return name
}

func (a *apiServers) startBalancer(t *sim.Task) {
	a.components.add(trace.CompBalancer, trace.Lane{Component: trace.CompBalancer}, a.balancer.Run).begin(t.Causes(), "there is a second API server")
}

// startPeers starts the API servers that a new cluster of so many has beside the first,
// and the load balancer before them, which takes all to be up.
func (a *apiServers) startPeers(t *sim.Task, servers int) {
	for n := 1; n < servers; n++ {
		a.start(a.freeName(), t.Causes()).WaitReady(t)
		a.balancer.Backends()[n].Believe()
	}
	if servers > 1 {
		a.startBalancer(t)
	}
}

// List gives the API servers, in the order in which they were started.
func (a *apiServers) List() (list []verbs.Server) {
	for _, s := range a.balancer.Backends() {
		list = append(list, verbs.Server{Name: s.Name, Address: s.Address, Machine: s.Server.Machine(), Ready: s.Server.Ready(), Up: s.Up(), Balanced: a.balancer.Stands(), Connections: a.balancer.Connections(s)})
	}
	return list
}

func isServer(target string) bool {
	return target == trace.CompAPIServer || strings.HasPrefix(target, trace.CompAPIServer+"/")
}
