// Package balancer is the load balancer in front of several kube-apiservers: one
// address for every client, connections distributed round-robin, servers that do not
// answer left out.
//
// In a real cluster this is haproxy with keepalived, kube-vip, or a cloud's load
// balancer, and no part of Kubernetes: kubeadm's --control-plane-endpoint names its
// address. It balances connections, not requests (mode tcp): a client's HTTP/2
// connection carries all its requests and watches and stays with the server to which
// it was made, until one of the two closes it. So a server that is added gets new
// connections only, and one that is removed keeps those it has until it stops.
//
// Simulated: there are no bytes. A connection is a component's name; a command of the
// console makes one of its own, as every kubectl does; a program outside has those that
// it opened. Until there is a second server, and usually there is none, the balancer
// does not exist: requests go straight to the one server, and nothing of this is in the
// trace. Start reading at [Balancer.Handle].
package balancer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/serviceaccount"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simulated,
	What: "the load balancer in front of several API servers distributes connections that carry no bytes",
	Seen: "the balancer.connect events",
})

// Backend is a server as the balancer sees it.
type Backend struct {
	Name    string // as faults name it: "apiserver", "apiserver/b"
	Address string
	Server  *apiserver.Server

	up     bool
	leaves bool // it is to get nothing more, whatever its checks say
	odd    int  // checks in a row that said otherwise
}

// How a server is found to be up or down, as haproxy's "check inter 2s fall 3 rise 2"
// (kubeadm's guide docs/ha-considerations.md asks for /healthz; here /readyz).
const (
	every = 2 * time.Second
	fall  = 3
	rise  = 2
)

// Balancer is the load balancer. It is used on the kernel's goroutine only.
type Balancer struct {
	k        *sim.Kernel
	backends []*Backend
	conns    map[string]connection // by client
	turn     int                   // whose turn the next connection is
	p        *sim.Process          // its own, once there are several servers
}

// connection is a client's.
type connection struct {
	to *Backend
	of string // the command of the console that made it; "" for a client with one connection
}

// New makes a balancer with no server behind it.
func New(k *sim.Kernel) *Balancer { return &Balancer{k: k, conns: map[string]connection{}} }

// Add puts a server behind the balancer. The first is believed to be up; another
// gets connections when its checks say so.
func (b *Balancer) Add(s *Backend) {
	s.up = len(b.backends) == 0
	b.backends = append(b.backends, s)
}

// Drain gives a server no more connections, for good. Those it has stay until it ends.
func (b *Balancer) Drain(t *sim.Task, s *Backend) {
	s.up, s.leaves = false, true
	b.change(t, trace.BalancedServer{Server: s.Name, Address: s.Address, Reason: "it is being removed"})
}

// Remove takes a server away that has ended.
func (b *Balancer) Remove(t *sim.Task, s *Backend) {
	b.backends = slices.DeleteFunc(slices.Clone(b.backends), func(o *Backend) bool { return o == s })
	maps.DeleteFunc(b.conns, func(_ string, c connection) bool { return c.to == s })
	b.change(t, trace.BalancedServer{Server: s.Name, Address: s.Address, Removed: true, Reason: "it was removed"})
}

// change tells of a change of the balancer's own configuration.
func (b *Balancer) change(t *sim.Task, p trace.BalancedServer) {
	t.Emit(trace.Event{Lane: lane, Kind: trace.BalancerServer, Payload: &p})
}

// Believe takes a server to be up without a check: one that was there before the
// balancer.
func (s *Backend) Believe() { s.up = true }

// Backends are the servers, in the order in which they were added.
func (b *Balancer) Backends() []*Backend { return b.backends }

// Connections is how many clients are connected to a server.
func (b *Balancer) Connections(s *Backend) (n int) {
	for _, c := range b.conns {
		if c.to == s && s.Server.Ready() {
			n++
		}
	}
	return n
}

// Leaves reports whether a server is being removed.
func (s *Backend) Leaves() bool { return s.leaves }

// Up reports whether the balancer gives a server connections.
func (s *Backend) Up() bool { return s.up }

// Run is the balancer's process: it asks every server's /readyz.
func (b *Balancer) Run(p *sim.Process) {
	b.p = p
	clear(b.conns)
	p.Go("health-checks", func(t *sim.Task) {
		for _, s := range b.backends {
			reason := "it is checked every 2 s"
			if s.up {
				reason = "it was there before"
			}
			t.SetCauses(p.Began())
			b.tell(t, s, reason)
		}
		for ; ; t.Sleep(every) {
			t.SetCauses()
			for _, s := range b.backends {
				b.check(t, s)
			}
		}
	})
}

// check asks one server's /readyz and counts.
func (b *Balancer) check(t *sim.Task, s *Backend) {
	ready := s.Server.Ready()
	if ready == s.up || s.leaves {
		s.odd = 0
		return
	}
	s.odd++
	switch {
	case ready && s.odd >= rise:
		s.up = true
		b.tell(t, s, fmt.Sprintf("GET /readyz was answered %d times in a row", rise))
	case !ready && s.odd >= fall:
		s.up = false
		b.tell(t, s, fmt.Sprintf("GET /readyz was not answered %d times in a row", fall))
	default:
		return
	}
	s.odd = 0
}

func (b *Balancer) tell(t *sim.Task, s *Backend, reason string) {
	t.Emit(trace.Event{Kind: trace.BalancerServer, Payload: &trace.BalancedServer{Server: s.Name, Address: s.Address, Up: s.up, Reason: reason}})
}

// lane is the balancer's.
var lane = trace.Lane{Component: trace.CompBalancer}

// next is the next server that is up and takes a connection (haproxy: balance
// roundrobin, option redispatch); nil where none does.
func (b *Balancer) next() *Backend {
	for range b.backends {
		s := b.backends[b.turn%len(b.backends)]
		b.turn++
		if s.up && s.Server.Ready() {
			return s
		}
	}
	return nil
}

// key is what a connection is known by.
func key(req *request.Request) string {
	if req.Peer != "" {
		return req.Sender() + " " + req.Peer
	}
	return req.Sender()
}

// reach is the server that the sender's connection leads to: the one it has, or
// another, where its server's process has ended.
func (b *Balancer) reach(t *sim.Task, req *request.Request) (*Backend, error) {
	if !b.Stands() {
		return b.backends[0], nil
	}
	if !b.alive() {
		t.Sleep(refusedAfter)
		return nil, fmt.Errorf("the load balancer before the API servers is down: %w", client.ErrUnreachable)
	}
	k := key(req)
	c := b.conns[k]
	if c.to != nil && c.to.Server.Ready() && c.of == req.Command {
		return c.to, nil
	}
	delete(b.conns, k)
	s := b.next()
	if s == nil {
		t.Sleep(refusedAfter)
		return nil, fmt.Errorf("the load balancer has no API server that answers: %w", client.ErrUnreachable)
	}
	b.conns[k] = connection{s, req.Command}
	b.k.Emit(trace.Event{Lane: lane, Kind: trace.BalancerConnected, Causes: t.Causes(), Payload: &trace.Balanced{Client: req.Sender(), Server: s.Name}})
	return s, nil
}

// Handle takes a request to a server. On a connection that breaks the client hears so,
// as it would; its next request makes another.
func (b *Balancer) Handle(t *sim.Task, req *request.Request) *request.Response {
	s, err := b.reach(t, req)
	if err != nil {
		return &request.Response{Err: err}
	}
	resp := s.Server.Handle(t, req)
	if client.IsUnreachable(resp.Err) && b.conns[key(req)].to == s {
		delete(b.conns, key(req))
	}
	return resp
}

// Once sends each request by a connection of its own, which is
// closed when it is answered.
type Once struct{ *Balancer }

// Handle takes a request to the server whose turn it is.
func (o Once) Handle(t *sim.Task, req *request.Request) *request.Response {
	if s := o.next(); s != nil && o.alive() {
		return s.Server.Handle(t, req)
	}
	return o.Balancer.Handle(t, req)
}

const refusedAfter = 200 * time.Microsecond

// Stands reports whether there is a balancer: there is from the second server on, for
// good, as clients know its address.
func (b *Balancer) Stands() bool { return b.p != nil || len(b.backends) > 1 }

// alive reports whether the balancer takes connections.
func (b *Balancer) alive() bool { return b.p == nil || b.p.Alive() }

// Closed forgets the connections of a program outside from an address.
func (b *Balancer) Closed(peer string) {
	for k := range b.conns {
		if strings.HasSuffix(k, " "+peer) {
			delete(b.conns, k)
		}
	}
}

// first is the server that answers what is no request of the pipeline and costs no
// time: discovery, health, metrics. It is the first that is up.
func (b *Balancer) first() *apiserver.Server {
	for _, s := range b.backends {
		if s.up && s.Server.Ready() {
			return s.Server
		}
	}
	return b.backends[0].Server
}

// Access is [apiserver.Server.Access] of the server that the sender is connected to.
func (b *Balancer) Access(t *sim.Task, req *request.Request, verb, path string) error {
	s, err := b.reach(t, req)
	if err != nil {
		return err
	}
	return s.Server.Access(t, req, verb, path)
}

// Audits reports whether a server that may be asked keeps an audit log.
func (b *Balancer) Audits() bool {
	for _, s := range b.backends {
		if s.Server.Audits() {
			return true
		}
	}
	return false
}

// AuditAnswered is [apiserver.Server.AuditAnswered] of the server that the sender is
// connected to.
func (b *Balancer) AuditAnswered(t *sim.Task, req *request.Request, code int, status *metav1.Status) {
	if s, err := b.reach(t, req); err == nil && s.Server.Audits() {
		s.Server.AuditAnswered(t, req, code, status)
	}
}

// Resources is [apiserver.Server.Resources] of a server that is up.
func (b *Balancer) Resources() []*registry.Kind { return b.first().Resources() }

// Aggregated is [apiserver.Server.Aggregated] of a server that is up.
func (b *Balancer) Aggregated() aggregator.Aggregated { return b.first().Aggregated() }

// Ready reports whether a server behind the balancer is ready.
func (b *Balancer) Ready() bool { return b.alive() && b.first().Ready() }

// Answers reports whether somebody takes connections at the servers' address: the
// server, where there is one; else the balancer, if it has one to go to.
func (b *Balancer) Answers() bool { return !b.Stands() || b.Ready() }

// Encryption is [apiserver.Server.Encryption] of a server that is up.
func (b *Balancer) Encryption() *encrypt.AtRest { return b.first().Encryption() }

// ProbeStore is [apiserver.Server.ProbeStore] of a server that is up.
func (b *Balancer) ProbeStore(t *sim.Task) error { return b.first().ProbeStore(t) }

// OpenID is the first one's: they all have the same keys.
func (b *Balancer) OpenID() serviceaccount.OpenID { return b.first().OpenID() }

// WriteFlows is [apiserver.Server.WriteFlows] of a server that is up.
func (b *Balancer) WriteFlows(w io.Writer, dump string, details bool) bool {
	return b.first().WriteFlows(w, dump, details)
}

// WriteMetrics is [apiserver.Server.WriteMetrics] of a server that is up, which it
// names where there are several.
func (b *Balancer) WriteMetrics(w io.Writer) {
	s := b.first()
	if len(b.backends) > 1 {
		fmt.Fprintf(w, "# what follows is of %s\n", s.Name())
	}
	s.WriteMetrics(w)
}
