package view

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Balancer is the load balancer before several API servers; it has no servers until
// there is a second one.
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
		if p.Removed {
			x.Servers = list
			b.removed(p.Server)
			return
		}
		x.Servers = append(list, BalancerServer{*p, e.ID})
		slices.SortFunc(x.Servers, func(a, b BalancerServer) int { return strings.Compare(a.Server, b.Server) })
	})
	on(trace.BalancerConnected, func(b *Builder, e *trace.Event, p *trace.Balanced) {
		b.s.Balancer.conns.set(p.Client, p.Server)
	})
	say(trace.BalancerServer, func(e *trace.Event, p *trace.BalancedServer) string {
		if p.Removed {
			return fmt.Sprintf("the API server %s at %s is gone: %s", p.Server, p.Address, p.Reason)
		}
		if p.Up {
			return fmt.Sprintf("the load balancer gives connections to %s at %s: %s", p.Server, p.Address, p.Reason)
		}
		return fmt.Sprintf("the load balancer gives no more connections to %s at %s: %s", p.Server, p.Address, p.Reason)
	})
	say(trace.BalancerConnected, func(e *trace.Event, p *trace.Balanced) string {
		return fmt.Sprintf("%s connects to %s by way of the load balancer: all that it asks and watches goes there", p.Client, p.Server)
	})
}

// removed forgets an API server that there is no more.
func (b *Builder) removed(server string) {
	b.s.Others = slices.DeleteFunc(slices.Clone(b.s.Others), func(o OtherServer) bool { return o.Server == server })
	b.s.Store.Clients = slices.DeleteFunc(slices.Clone(b.s.Store.Clients), func(x StoreClient) bool { return x.Client == server })
	b.s.processes.delete(server)
	name := strings.TrimPrefix(server, trace.CompAPIServer)
	for key, f := range entries(b.s.faults) {
		if f.Target == server || f.Target == "audit"+name || strings.HasPrefix(f.Target, "watch"+name+"/") {
			b.s.faults.delete(key)
		}
	}
}

// serverGone forgets the connections to a server that has ended.
func (b *Builder) serverGone(server string) {
	for client, s := range entries(b.s.Balancer.conns) {
		if s == server {
			b.s.Balancer.conns.delete(client)
		}
	}
}
