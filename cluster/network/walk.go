package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// packet is the first packet of a connection, as it is at one place.
type packet struct {
	src, dst     netip.Addr
	sport, dport int
	proto        string
	mark         uint32
	state        string // NEW, ESTABLISHED
	dnat         bool
}

func (p *packet) to() string { return fmt.Sprintf("%s:%d", p.dst, p.dport) }

// tuple names a connection as a node first sees it.
type tuple struct {
	src, dst     netip.Addr
	sport, dport int
	proto        string
}

// Connection is a conntrack entry of a node: where a connection that was
// translated goes.
type Connection struct {
	Src, Dst string // as sent
	To       string // as translated
	Masq     bool
	Since    time.Duration
	dst      netip.Addr
	dport    int
	dnat     bool
}

// walk is one packet on its way.
type walk struct {
	n     *Network
	t     *sim.Task
	from  From
	req   Request
	p     packet
	where *Node
	began time.Duration
	last  []trace.ID // cause of the next hop
	res   Result
}

func (w *walk) lane() trace.Lane {
	node := w.from.Node
	if w.where != nil {
		node = w.where.Name
	}
	return trace.Lane{Component: trace.CompNet, Instance: node}
}

// hop emits one thing the packet met.
func (w *walk) hop(where string, e *Entry, verdict, why string) {
	h := &trace.Hop{Flow: w.res.Flow, Node: w.lane().Instance, Where: where, Verdict: verdict, Why: why}
	if w.p.src.IsValid() {
		h.Src, h.Dst = fmt.Sprintf("%s:%d", w.p.src, w.p.sport), w.p.to()
	}
	causes := w.last
	if e != nil {
		h.Rule, h.RuleAt = e.String(), e.At
		if !e.At.IsZero() && verdict != noMatch {
			causes = append(slices.Clone(causes), e.At)
		}
	}
	id := w.t.Emit(trace.Event{Kind: trace.PacketHop, Lane: w.lane(), Causes: causes, Payload: h})
	w.last = []trace.ID{id}
}

const noMatch = "no match"

// maxNodes bounds how many nodes a packet may visit, as its time to live does.
const maxNodes = 4

// linkTime is what a packet takes between two nodes, and hostTime within one.
const (
	linkTime = 350 * time.Microsecond
	hostTime = 60 * time.Microsecond
)

// travel takes the packet from node to node until something ends it.
func (w *walk) travel() string {
	local := w.from.Pod == "" && w.from.IP == ""
	for range maxNodes {
		w.t.Sleep(hostTime)
		verdict := w.node(local)
		local = false
		if verdict != "forward" {
			return verdict
		}
	}
	w.hop("route", nil, "DROP", "the packet went from node to node too often")
	return TimedOut
}

// node is the packet's way through one node's kernel:
//
//	sent by the node itself   nat OUTPUT → filter OUTPUT → nat POSTROUTING
//	for the node itself       nat PREROUTING → filter INPUT
//	for somebody else         nat PREROUTING → filter FORWARD → nat POSTROUTING
func (w *walk) node(local bool) string {
	first := "PREROUTING"
	if local {
		first = "OUTPUT"
	}
	as := tuple{w.p.src, w.p.dst, w.p.sport, w.p.dport, w.p.proto}
	was := w.p
	known := w.where.conntrack[as]
	if known != nil {
		w.p.state, w.p.dst, w.p.dport, w.p.dnat = "ESTABLISHED", known.dst, known.dport, known.dnat
		w.hop("conntrack", nil, "DNAT "+w.p.to(), "this connection is known: only the first packet of a connection meets the nat rules")
	} else {
		w.p.state, w.p.mark = "NEW", 0
		w.chain(NAT, first)
	}
	forUs := w.where.local(w.p.dst)
	stage := "FORWARD"
	switch {
	case local:
		stage = "OUTPUT"
	case forUs:
		stage = "INPUT"
	}
	if end := refusal(w.chain(Filter, stage)); end != "" {
		return end
	}
	if forUs {
		return w.deliver(true)
	}
	if known == nil {
		w.chain(NAT, "POSTROUTING")
		if w.p.dnat || w.p.src != was.src {
			w.where.forgetOld(w.t.Elapsed())
			w.where.conntrack[as] = &Connection{
				Src: fmt.Sprintf("%s:%d", was.src, was.sport), Dst: was.to(), To: w.p.to(), Masq: w.p.src != was.src,
				Since: w.t.Elapsed(), dst: w.p.dst, dport: w.p.dport, dnat: w.p.dnat,
			}
		}
	} else if known.Masq {
		w.p.src = w.where.address
	}
	return w.route()
}

// refusal is what the sender sees of a filter's verdict, "" if it may pass.
func refusal(verdict string) string {
	switch verdict {
	case "REJECT":
		return Refused // icmp port unreachable
	case "DROP":
		return TimedOut
	}
	return ""
}

// route sends the packet on: to a pod of this node, or to the next one.
func (w *walk) route() string {
	if w.where.pods.Contains(w.p.dst) {
		w.hop("route", nil, "dev cni0", fmt.Sprintf("%s is a pod of this node", w.p.dst))
		return w.deliver(false)
	}
	next, host := w.n.owner(w.p.dst)
	if next == nil {
		if end, ok := w.balance(); ok { // the packet leaves the nodes, and comes back
			if end != "" {
				return end
			}
			return "forward"
		}
		w.hop("route", nil, "DROP", fmt.Sprintf("no rule translated %s and nobody has this address: the packet leaves by the default route and is lost", w.p.dst))
		return TimedOut
	}
	why := fmt.Sprintf("%s belongs to the pods of %s (%s)", w.p.dst, next.Name, next.PodCIDR)
	if host {
		why = fmt.Sprintf("%s is %s", w.p.dst, next.Name)
	}
	if r := w.n.routes; r != nil && !host && !r.Routed(next.Name, next.PodCIDR) {
		w.hop("route", nil, "DROP", why+", but the cloud's table has no route there: the packet is lost")
		return TimedOut
	}
	w.hop("route", nil, "via "+next.Address, why)
	link := pair(w.where.Name, next.Name)
	if !w.n.linked(w.where, next) {
		w.hop("link", nil, "lost", fmt.Sprintf("nothing gets from %s to %s", w.where.Name, next.Name))
		return TimedOut
	}
	w.t.Sleep(linkTime + w.n.delay[link])
	w.where = next
	return "forward"
}

// deliver gives the packet to whoever listens.
func (w *walk) deliver(host bool) string {
	ip := w.p.dst.String()
	w.res.Backend = w.p.to()
	if !host && !w.where.listeners.Has(ip) {
		w.hop("route", nil, "unreachable", fmt.Sprintf("no pod has the address %s any more", ip))
		return Unreachable
	}
	if pod, ok := w.where.listeners.PodAt(ip); ok {
		w.res.Pod = pod
	}
	a, own := runtime.Answer{}, false
	if host {
		a, own = w.where.served(w.p.dport, w.req.Path)
	}
	if !own {
		a = w.where.listeners.Connect(ip, w.p.dport, w.req.Path)
	}
	w.res.Answer = a
	if a.Pod != "" {
		w.res.Pod = a.Pod
	}
	if !a.Accepted {
		w.hop("pod", nil, "RST", fmt.Sprintf("nothing listens on port %d", w.p.dport))
		return Refused
	}
	why := fmt.Sprintf("%s listens on port %d", w.res.Pod, w.p.dport)
	if own {
		why = fmt.Sprintf("kube-proxy of %s listens on port %d", w.where.Name, w.p.dport)
	}
	if a.Hung {
		why += " but does not answer"
	}
	w.hop("pod", nil, "ACCEPT", why)
	return Answered
}

// quietAfter is from how many rules of a chain that do not match on they are
// told in one event: a packet meets thousands of them in a big cluster.
const quietAfter = 24

// chain has the packet meet a chain's rules, and the chains they lead to. It
// gives a verdict: ACCEPT, DROP, REJECT, or "" at the chain's end.
func (w *walk) chain(table, name string) string {
	rules, _ := w.where.Tables.Table(table).Chain(name)
	where, passed := table+" "+name, 0
	for i := range rules {
		e := &rules[i]
		w.res.Rules++
		ok, why := w.match(e.Rule)
		if !ok {
			if passed++; passed <= quietAfter {
				w.hop(where, e, noMatch, why)
			}
			continue
		}
		if passed > quietAfter {
			w.hop(where, nil, noMatch, fmt.Sprintf("%d more rules do not match", passed-quietAfter))
			passed = 0
		}
		verdict, over := w.hit(table, where, e, why)
		if over {
			return verdict
		}
	}
	if passed > quietAfter {
		w.hop(where, nil, noMatch, fmt.Sprintf("%d more rules do not match", passed-quietAfter))
	}
	return ""
}

// hit does what a rule that matches says. over means that the chain ends.
func (w *walk) hit(table, where string, e *Entry, why string) (verdict string, over bool) {
	r := e.Rule
	if r.recentSet {
		w.remember(r.recent)
	}
	switch r.target {
	case "":
		w.hop(where, e, "count", why)
		return "", false
	case "ACCEPT", "DROP", "REJECT":
		w.hop(where, e, r.target, why)
		return r.target, true
	case "RETURN":
		w.hop(where, e, "RETURN", why)
		return "", true
	case "MARK":
		if r.orMark != 0 {
			w.p.mark |= r.orMark
			w.hop(where, e, fmt.Sprintf("MARK %#x", w.p.mark), "to be masqueraded when it leaves the node")
		} else {
			w.p.mark ^= r.xor
			w.hop(where, e, fmt.Sprintf("MARK %#x", w.p.mark), "the mark is taken off again")
		}
		return "", false
	case "MASQUERADE":
		before := w.p.src
		w.p.src = w.where.address
		w.hop(where, e, "MASQUERADE "+w.where.Address, fmt.Sprintf("the source %s becomes the node's, so that the answer comes back here", before))
		return "ACCEPT", true
	case "DNAT":
		host, port, _ := strings.Cut(r.to, ":")
		before := w.p.to()
		w.p.dst, w.p.dport, w.p.dnat = netip.MustParseAddr(host), number(port), true
		w.hop(where, e, "DNAT "+r.to, fmt.Sprintf("the destination %s becomes %s", before, r.to))
		return "ACCEPT", true
	}
	w.hop(where, e, "jump "+r.target, why)
	if v := w.chain(table, r.target); v != "" {
		return v, true
	}
	return "", false
}

func sortConnections(cs []Connection) {
	slices.SortFunc(cs, func(a, b Connection) int {
		if c := a.Since - b.Since; c != 0 {
			if c < 0 {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Src+a.Dst, b.Src+b.Dst)
	})
}

// A node keeps an entry as long as Linux keeps one of a closed TCP connection,
// and looks for old ones when it has many.
const (
	conntrackAge  = 120 * time.Second
	conntrackMany = 2048
)

func (n *Node) forgetOld(now time.Duration) {
	if len(n.conntrack) < conntrackMany {
		return
	}
	for k, c := range n.conntrack { // order does not matter: each is judged alone
		if now-c.Since > conntrackAge {
			delete(n.conntrack, k)
		}
	}
}
