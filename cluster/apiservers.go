package cluster

import (
	"fmt"
	"strings"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/console"
	"kviz/cluster/fault"
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
	target, n := trace.CompAPIServer, len(c.balancer.Backends())
	if name != "" {
		target += "/" + name
	}
	var server *apiserver.Server
	m := c.addComponent(target, trace.Lane{Component: trace.CompAPIServer, Instance: name}, func(p *sim.Process) {
		if server != nil {
			server.Restart(p)
			return
		}
		cfg := c.cfg.Tokens
		cfg.Name, cfg.Peer = name, c.server
		if name != "" {
			cfg.AdvertiseIP = fmt.Sprintf("192.168.0.%d", 10+n)
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
	c.balancer.Add(&balancer.Backend{Name: target, Address: fmt.Sprintf("192.168.0.%d:6443", 10+n), Server: server})
	return server
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
	n := len(c.balancer.Backends())
	if n == MostServers {
		return fmt.Errorf("there are %d API servers: more would only take turns at the store", n)
	}
	server := c.startServer(serverName(n), t.Causes())
	if all, _ := c.server.Store().Endpoints(); len(all) > 0 {
		server.Store().SetEndpoints(t, group{c.raft}, all)
	}
	if n == 1 {
		c.startBalancer(t)
	}
	if !server.WaitReadyFor(t, serverLimit) {
		return fmt.Errorf("the new API server is not ready after %v: its process runs, and the store pane shows what it waits for", serverLimit)
	}
	return nil
}

// serverName is the name of the API server that has n before it.
func serverName(n int) string { return string(rune('a' + n)) }

func (c *Cluster) startBalancer(t *sim.Task) {
	c.addComponent(trace.CompBalancer, trace.Lane{Component: trace.CompBalancer}, c.balancer.Run).begin(c.k, t.Causes(), "there is a second API server")
}

// startPeers starts the API servers that a new cluster has beside the first, and the
// load balancer before them, which takes all to be up.
func (c *Cluster) startPeers(t *sim.Task) {
	for n := 1; n < c.cfg.Servers; n++ {
		c.startServer(serverName(n), t.Causes()).WaitReady(t)
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
		list = append(list, console.Server{Name: s.Name, Address: s.Address, Ready: s.Server.Ready(), Up: s.Up(), Connections: p.c.balancer.Connections(s)})
	}
	return list
}

// servers are the targets of all API servers.
func (c *Cluster) servers() (targets []string) {
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
