package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// Internet is a machine that is nowhere near the cluster: somebody at home. Its address is
// of a range for documentation (TEST-NET-1).
const Internet = "192.0.2.10"

// Balancers are the load balancers before the nodes, which have addresses of their own.
type Balancers interface {
	// Forward says where a connection to an address goes; ok is false where no load
	// balancer has the address.
	Forward(src, dst netip.Addr, port int, proto string) (f Forward, ok bool)
}

// Forward is what a load balancer does with a connection.
type Forward struct {
	Name string // of the balancer
	Node string // where the packet goes; "": nowhere
	Why  string // in a sentence
	// A balancer that opens a connection of its own has it come from Source and go to Port
	// of To, the node's address. One that does not (Port 0) leaves the packet as it is.
	Source, To netip.Addr
	Port       int
}

// SetBalancers sets who has the load balancers' addresses; nil is nobody.
func (n *Network) SetBalancers(b Balancers) { n.balancers = b }

// balance has the load balancer that has the destination's address send the packet on to a
// node; ok is false where there is no such balancer. end is not "" where the packet ends here.
func (w *walk) balance() (end string, ok bool) {
	if w.n.balancers == nil {
		return "", false
	}
	f, ok := w.n.balancers.Forward(w.p.src, w.p.dst, w.p.dport, w.p.proto)
	if !ok {
		return "", false
	}
	before := w.p
	node := w.n.nodes[f.Node]
	if node == nil {
		w.hop(f.Name, nil, "DROP", f.Why)
		return TimedOut, true
	}
	if f.Port != 0 {
		w.p.src, w.p.dst, w.p.dport = f.Source, f.To, f.Port
	}
	w.where = node
	w.hop(f.Name, nil, "via "+node.Address, fmt.Sprintf("%s goes to %s: %s", before.to(), node.Name, f.Why))
	w.t.Sleep(linkTime)
	return "", true
}

// Server is what listens on a port of a node itself, beside the pods: kube-proxy's health
// checks. It gives the answer to GET path; up is false once nothing listens any more.
type Server func(path string) (code int, body string, up bool)

// Serve has a server listen on a port of the node, in the place of one that did; nil ends it.
func (n *Node) Serve(port int, s Server) {
	if s == nil {
		delete(n.servers, port)
		return
	}
	n.servers[port] = s
}

// served is the answer of the node's own server on a port; ok is false where none listens.
func (n *Node) served(port int, path string) (a runtime.Answer, ok bool) {
	s := n.servers[port]
	if s == nil {
		return a, false
	}
	code, body, up := s(path)
	if !up {
		return a, false
	}
	return runtime.Answer{Accepted: true, Code: code, Body: body}, true
}

// healthz is where a load balancer looks whether a node is well.
const healthz = "/healthz"

// Healthy asks a server of kube-proxy on a node whether the node takes connections, as a
// load balancer does that checks its nodes. says is why it does not.
func (n *Network) Healthy(node string, port int) (ok bool, says string) {
	at := n.nodes[node]
	if at == nil || !at.listeners.Powered() || n.isolated[node] {
		return false, "it does not answer"
	}
	a, ok := at.served(port, healthz)
	if !ok {
		return false, fmt.Sprintf("nothing listens on its port %d: kube-proxy is down", port)
	}
	if a.Code == http.StatusOK {
		return true, ""
	}
	var check struct{ LocalEndpoints *int }
	if json.Unmarshal([]byte(a.Body), &check) == nil && check.LocalEndpoints != nil && *check.LocalEndpoints == 0 {
		return false, fmt.Sprintf("its health check on port %d says %d: it has no endpoint of the Service", port, a.Code)
	}
	return false, fmt.Sprintf("its health check on port %d says %d", port, a.Code)
}

// Address is a node's address; the zero Addr where there is no such node.
func (n *Network) Address(node string) netip.Addr {
	if at := n.nodes[node]; at != nil {
		return at.address
	}
	return netip.Addr{}
}

// CurlFrom is [Network.Curl] of a machine on the internet, whose packets reach load
// balancers and the nodes' own addresses, but no pod's.
func (n *Network) CurlFrom(t *sim.Task, ip, rawurl string, limit time.Duration) (body string, exit int, stderr string) {
	from := From{IP: ip}
	return n.curl(rawurl, limit, func(req Request) Result {
		if dst, err := netip.ParseAddr(req.Host); err == nil {
			if node, host := n.owner(dst); host {
				from.Node = node.Name
			}
		}
		return n.Dial(t, from, req)
	})
}
