package network

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// From says who opens a connection: a pod, a node itself (Pod empty), or, with
// IP, somebody outside the cluster whose packets arrive at Node.
type From struct {
	Node string
	Pod  string // namespace/name
	IP   string
}

func (f From) String() string {
	switch {
	case f.Pod != "":
		return f.Pod
	case f.IP != "":
		return f.IP
	}
	return f.Node
}

// Request is a connection to open.
type Request struct {
	Host  string // an address, or a name for the resolver
	Port  int
	Path  string        // of an HTTP request; "" only connects
	Limit time.Duration // 0: as long as the kernel tries
	// SourcePort 0 is a new one: a new connection. The port of an earlier one
	// meets its conntrack entry.
	SourcePort int
	UDP        bool
}

// The ends of a connection attempt, as [trace.Flow] says them.
const (
	Answered     = "answered"
	Refused      = "connection refused"
	TimedOut     = "timed out"
	Unreachable  = "no route to host"
	Unresolvable = "could not resolve host"
)

// Result is how a connection attempt ended.
type Result struct {
	Flow    uint64
	Outcome string
	To      string // address that was meant, after resolving
	Backend string // address that answered or refused: "10.244.1.2:80"
	Pod     string // namespace/name
	Answer  runtime.Answer
	Took    time.Duration
	Rules   int // how many rules the packet was compared with
	Port    int // source port
	ID      trace.ID
}

// How long an attempt takes that nobody answers: the kernel's SYN retries, and
// its search for a neighbour that is not there.
const (
	synTimeout = 134 * time.Second
	arpTimeout = 3 * time.Second
)

// Dial opens a connection and reports how that ended. It takes virtual time.
func (n *Network) Dial(t *sim.Task, from From, req Request) Result {
	n.flows++
	w := &walk{n: n, t: t, req: req, from: from, began: t.Elapsed(), last: t.Causes()}
	w.res.Flow = n.flows
	w.where = n.nodes[from.Node]
	outside := from.IP != "" && from.Node == "" // not at a node yet
	if !outside && (w.where == nil || !w.where.listeners.Powered()) {
		return w.end(Unreachable)
	}
	src, err := n.source(from)
	if err != nil {
		return w.end(Unreachable)
	}
	dst, err := netip.ParseAddr(req.Host)
	if err != nil {
		if outside { // who knows no name of the cluster
			return w.end(Unresolvable)
		}
		if dst, err = w.resolve(); err != nil {
			return w.end(Unresolvable)
		}
	}
	w.res.To = fmt.Sprintf("%s:%d", dst, req.Port)
	port := req.SourcePort
	if port == 0 {
		port = 32768 + n.rand.IntN(28232)
	}
	w.res.Port = port
	w.p = packet{src: src, dst: dst, sport: port, dport: req.Port, proto: "tcp", state: "NEW"}
	if req.UDP {
		w.p.proto = "udp"
	}
	if outside {
		end, ok := w.balance()
		switch {
		case !ok:
			return w.end(Unreachable)
		case end != "":
			return w.finish(end)
		}
	}
	if from.IP != "" && n.isolated[w.where.Name] {
		w.hop("link", nil, "lost", "nothing gets to "+w.where.Name)
		return w.finish(TimedOut)
	}
	return w.finish(w.travel())
}

// DialIn is a connection from a machine outside whose packets get to the node that
// has the address, or that the address's pod is on, or that a load balancer sends them to,
// unless nothing gets there.
func (n *Network) DialIn(t *sim.Task, ip string, req Request) Result {
	from := From{IP: ip}
	if dst, err := netip.ParseAddr(req.Host); err == nil {
		if node, _ := n.owner(dst); node != nil {
			from.Node = node.Name
		}
	}
	return n.Dial(t, from, req)
}

func (n *Network) source(from From) (netip.Addr, error) {
	node := n.nodes[from.Node]
	switch {
	case from.IP != "":
		return netip.ParseAddr(from.IP)
	case from.Pod == "":
		return node.address, nil
	}
	ns, name, _ := strings.Cut(from.Pod, "/")
	ip, ok := node.listeners.AddressOf(ns, name)
	if !ok {
		return netip.Addr{}, fmt.Errorf("network: pod %s has no address on %s", from.Pod, from.Node)
	}
	return netip.ParseAddr(ip)
}

func (w *walk) resolve() (netip.Addr, error) {
	if w.n.resolver == nil {
		return netip.Addr{}, errNoResolver
	}
	ns, _, _ := strings.Cut(w.from.Pod, "/")
	ips, err := w.n.resolver.Resolve(w.t, w.from.Node, ns, w.req.Host)
	if err == nil && len(ips) == 0 {
		err = errNoName
	}
	if err != nil && !errors.Is(err, errNoName) {
		w.hop("dns", nil, "no answer", "cluster DNS: "+err.Error())
		return netip.Addr{}, err
	}
	if err != nil {
		w.hop("dns", nil, "no such name", fmt.Sprintf("%s is no Service the cluster knows", w.req.Host))
		return netip.Addr{}, err
	}
	a, err := netip.ParseAddr(ips[0])
	if err == nil {
		w.hop("dns", nil, a.String(), fmt.Sprintf("%s is %s, says cluster DNS (which is asked directly, not by packets)", w.req.Host, strings.Join(ips, ", ")))
	}
	return a, err
}

// finish waits as long as the caller does for what the walk came to.
func (w *walk) finish(outcome string) Result {
	passed := w.t.Elapsed() - w.began
	wait := func(d time.Duration) {
		if w.req.Limit > 0 && w.req.Limit-passed < d {
			d, outcome = w.req.Limit-passed, TimedOut
		}
		w.t.Sleep(max(d, 0))
	}
	switch outcome {
	case TimedOut:
		wait(synTimeout)
	case Unreachable:
		wait(arpTimeout)
	case Answered:
		if w.res.Answer.Hung {
			wait(synTimeout)
			outcome = TimedOut
		}
	}
	return w.end(outcome)
}

func (w *walk) end(outcome string) Result {
	w.res.Outcome = outcome
	w.res.Took = w.t.Elapsed() - w.began
	f := &trace.Flow{Flow: w.res.Flow, From: w.from.String(), To: fmt.Sprintf("%s:%d", w.req.Host, w.req.Port), Proto: "tcp", Result: outcome}
	if w.req.UDP {
		f.Proto = "udp"
	}
	causes := append([]trace.ID(nil), w.last...)
	if outcome == Answered || outcome == Refused {
		f.Backend, f.Pod = w.res.Backend, w.res.Pod
	}
	if outcome == Answered {
		f.Body = strings.TrimSuffix(w.res.Answer.Body, "\n")
		if !w.res.Answer.By.IsZero() {
			causes = append(causes, w.res.Answer.By)
		}
	}
	w.res.ID = w.t.Emit(trace.Event{Kind: trace.PacketEnd, Lane: w.lane(), Causes: causes, Payload: f})
	return w.res
}
