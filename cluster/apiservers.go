package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/console"
	"kviz/cluster/fault"
	"kviz/cluster/inert"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// MostServers is how many API servers a cluster may have.
const MostServers = 5

// client is a component's connection to the API: to the server, or to the balancer
// before several.
func (c *Cluster) client(lane trace.Lane, user authn.User) client.Interface {
	return c.server.ClientThrough(c.balancer, lane, user)
}

// startServer makes an API server known and starts it. The first has no name; another
// is made beside it, with files and keys of its own machine that are the same.
func (c *Cluster) startServer(name string, causes []trace.ID) *apiserver.Server {
	target, address := trace.CompAPIServer, controlPlaneIP
	if name != "" {
		target += "/" + name
		address = c.freeAddress()
	}
	before := c.removed[name]
	var server *apiserver.Server
	m := c.addComponent(target, trace.Lane{Component: trace.CompAPIServer, Instance: name}, func(p *sim.Process) {
		if server != nil {
			server.Restart(p)
			return
		}
		cfg := c.serverConfig
		cfg.Name, cfg.Before, cfg.Peer, cfg.AdvertiseIP = name, before, c.server, address
		cfg.Inert = inert.Written
		cfg.Kubelets = kubelets{c}
		cfg.Dial = func(t *sim.Task, to string, limit time.Duration) (aggregator.Program, trace.ID, error) {
			return c.dial(t, address, to, limit)
		}
		server = apiserver.New(p, c.etcd, cfg)
	})
	if name == "" {
		c.addKMS()
		c.addWebhooks()
		c.addProvider()
	}
	m.begin(c.k, causes, "")
	if c.server == nil {
		c.server = server
	}
	c.balancer.Add(&balancer.Backend{Name: target, Address: serverAt(address), Server: server})
	return server
}

// serverAt is where the server of a machine listens.
func serverAt(address string) string { return address + ":6443" }

// controlPlaneIP is the address of the machine that the first API server runs on, which
// is none of the nodes.
const controlPlaneIP = "192.168.0.10"

// freeAddress is the address of the next machine for an API server; that of one which
// was removed may be used again. The nodes' begin at 192.168.0.11.
func (c *Cluster) freeAddress() string {
	for i := 2; ; i++ {
		address := fmt.Sprintf("192.168.0.%d", i)
		if !slices.ContainsFunc(c.balancer.Backends(), func(s *balancer.Backend) bool { return s.Address == serverAt(address) }) {
			return address
		}
	}
}

// backend is an API server by its target name, or nil.
func (c *Cluster) backend(target string) *balancer.Backend {
	for _, s := range c.balancer.Backends() {
		if s.Name == target {
			return s
		}
	}
	return nil
}

// AddServer starts another API server on the same store, and before the second the
// load balancer. Connections go to it when its health checks say that it is ready.
func (p controlPlane) AddServer(t *sim.Task) error {
	c := p.c
	if c.server == nil {
		return fmt.Errorf("the API server has not been started yet")
	}
	if n := len(c.balancer.Backends()); n == MostServers {
		return fmt.Errorf("there are %d API servers: more would only take turns at the store", n)
	}
	server := c.startServer(c.freeName(), t.Causes())
	if all, _ := c.server.Store().Endpoints(); len(all) > 0 {
		server.Store().SetEndpoints(t, group{c.raft}, all)
	}
	if c.component(trace.CompBalancer) == nil {
		c.startBalancer(t)
	}
	if !server.WaitReadyFor(t, serverLimit) {
		return fmt.Errorf("the new API server is not ready after %v: its process runs, and the store pane shows what it waits for", serverLimit)
	}
	return nil
}

// RemoveServer takes an API server out for good: the load balancer gives it nothing
// more, it takes its address out of the kubernetes Service, its process ends and its
// clients go on at another, and its machine is gone with its files. The first stays:
// what a server that is added is like, is read there.
func (p controlPlane) RemoveServer(t *sim.Task, name string) error {
	c := p.c
	s := c.backend(name)
	switch {
	case s == nil:
		return fmt.Errorf("there is no API server %q", name)
	case len(c.balancer.Backends()) == 1:
		return fmt.Errorf("%s is the only API server: without one nobody reads or writes anything (kviz fault stop %s stops it for a while)", name, name)
	case s.Server == c.server:
		return fmt.Errorf("%s is the first API server: one that is added gets its files and flags, so it stays (kviz fault stop %s stops it for a while); the others can be removed", name, name)
	}
	if s.Leaves() {
		return fmt.Errorf("%s is being removed already", name)
	}
	if !slices.ContainsFunc(c.balancer.Backends(), func(o *balancer.Backend) bool { return o != s && o.Server.Ready() && !o.Leaves() }) {
		return fmt.Errorf("%s is the only API server that answers: start another one first (kviz fault start apiserver)", name)
	}
	m := c.component(name)
	c.balancer.Drain(t, s)
	s.Server.Retire(t)
	m.stop(c.k, t.Causes(), "it was removed")
	c.components = slices.DeleteFunc(c.components, func(o *component) bool { return o == m })
	s.Server.Forget()
	c.balancer.Remove(t, s)
	if c.removed == nil {
		c.removed = map[string]int{}
	}
	c.removed[strings.TrimPrefix(name, trace.CompAPIServer+"/")]++
	return nil
}

// freeName is what the next API server is called: b, c, …; the name of one that was
// removed may be used again.
func (c *Cluster) freeName() string {
	name := "b"
	for c.component(trace.CompAPIServer+"/"+name) != nil {
		name = string(name[0] + 1)
	}
	return name
}

func (c *Cluster) startBalancer(t *sim.Task) {
	c.addComponent(trace.CompBalancer, trace.Lane{Component: trace.CompBalancer}, c.balancer.Run).begin(c.k, t.Causes(), "there is a second API server")
}

// startPeers starts the API servers that a new cluster has beside the first, and the
// load balancer before them, which takes all to be up.
func (c *Cluster) startPeers(t *sim.Task) {
	for n := 1; n < c.cfg.Servers; n++ {
		c.startServer(c.freeName(), t.Causes()).WaitReady(t)
		c.balancer.Backends()[n].Believe()
	}
	if c.cfg.Servers > 1 {
		c.startBalancer(t)
	}
}

// Servers are the API servers, in the order in which they were started.
func (p controlPlane) Servers() (list []console.Server) {
	if p.c.balancer == nil {
		return nil
	}
	for _, s := range p.c.balancer.Backends() {
		list = append(list, console.Server{Name: s.Name, Address: s.Address, Machine: s.Server.Machine(), Ready: s.Server.Ready(), Up: s.Up(), Balanced: p.c.balancer.Stands(), Connections: p.c.balancer.Connections(s)})
	}
	return list
}

// serverTargets are the targets of all API servers.
func (c *Cluster) serverTargets() (targets []string) {
	for _, m := range c.components {
		if fault.TargetKind(m.target) == trace.CompAPIServer {
			targets = append(targets, m.target)
		}
	}
	return targets
}

func isServer(target string) bool {
	return target == trace.CompAPIServer || strings.HasPrefix(target, trace.CompAPIServer+"/")
}
