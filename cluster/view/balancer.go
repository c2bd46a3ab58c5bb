package view

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Balancer is the load balancer before several API servers; it has no servers while
// there is one API server.
type Balancer struct {
	Servers []BalancerServer

	conns table[string, string] // client -> server
}

// BalancerServer is an API server behind the balancer.
type BalancerServer struct {
	trace.BalancedServer
	Event trace.ID
}

// Clients lists the clients that are connected to a server, by name.
func (x *Balancer) Clients(server string) (clients []string) {
	x.conns.all(func(client, s string) bool {
		if s == server {
			clients = append(clients, client)
		}
		return true
	})
	slices.Sort(clients)
	return clients
}

func init() {
	on(trace.BalancerServer, func(b *Builder, e *trace.Event, p *trace.BalancedServer) {
		x := &b.s.Balancer
		list := slices.DeleteFunc(slices.Clone(x.Servers), func(s BalancerServer) bool { return s.Server == p.Server })
		x.Servers = append(list, BalancerServer{*p, e.ID})
		slices.SortFunc(x.Servers, func(a, b BalancerServer) int { return strings.Compare(a.Server, b.Server) })
	})
	on(trace.BalancerConnected, func(b *Builder, e *trace.Event, p *trace.Balanced) {
		b.s.Balancer.conns.set(p.Client, p.Server)
	})
	say(trace.BalancerServer, func(e *trace.Event, p *trace.BalancedServer) string {
		if p.Up {
			return fmt.Sprintf("the load balancer gives connections to %s at %s: %s", p.Server, p.Address, p.Reason)
		}
		return fmt.Sprintf("the load balancer gives no more connections to %s at %s: %s", p.Server, p.Address, p.Reason)
	})
	say(trace.BalancerConnected, func(e *trace.Event, p *trace.Balanced) string {
		return fmt.Sprintf("%s connects to %s by way of the load balancer: all that it asks and watches goes there", p.Client, p.Server)
	})
}

// serverGone forgets the connections to a server that has ended.
func (b *Builder) serverGone(server string) {
	for client, s := range entries(b.s.Balancer.conns) {
		if s == server {
			b.s.Balancer.conns.delete(client)
		}
	}
}
