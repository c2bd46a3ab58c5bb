package proxy

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"

	"kviz/cluster/network"
)

func itoa(n int) string { return strconv.Itoa(n) }

// The chains of the frame (pkg/proxy/iptables/proxier.go).
const (
	servicesChain    = "KUBE-SERVICES"
	externalChain    = "KUBE-EXTERNAL-SERVICES"
	nodePortsChain   = "KUBE-NODEPORTS"
	postroutingChain = "KUBE-POSTROUTING"
	markMasqChain    = "KUBE-MARK-MASQ"
	forwardChain     = "KUBE-FORWARD"
	firewallChain    = "KUBE-PROXY-FIREWALL"
	canaryChain      = "KUBE-PROXY-CANARY"
	kubeletFirewall  = "KUBE-FIREWALL"

	masqueradeMark = "0x00004000"
	localhostCount = "localhost_nps_accepted_pkts"
	invalidCount   = "ct_state_invalid_dropped_pkts"
)

// chainName is a prefix and 16 characters of a hash: iptables takes 28 at most.
//
//	chainName("KUBE-SVC-", "default/web:http" + "tcp") = "KUBE-SVC-CDGGSHYLG3RE2FKL"
func chainName(prefix, of string) string {
	sum := sha256.Sum256([]byte(of))
	return prefix + base32.StdEncoding.EncodeToString(sum[:])[:16]
}

// block is all that one Service port contributes: rules of the shared chains,
// and chains of its own. It is immutable and shared by all nodes for which it is
// equal.
type block struct {
	port   string // sort key: "namespace/name:port" and protocol
	nat    map[string][]*network.Rule
	filter map[string][]*network.Rule
	// own are the chains in nat that belong to the port, in the order written.
	own       []string
	endpoints int

	healthPort int      // the Service's health check node port; 0: none
	localReady []string // addresses of the ready endpoints on the node, where it has one
}

// builder writes one block.
type builder struct {
	b    *block
	s    *servicePort
	c    *chosen
	opts options
}

// options are what rules depend on besides Services and endpoints.
type options struct {
	clusterCIDR string
	nodeIP      string
	counters    bool // nfacct counters exist
	large       bool // over a thousand endpoints: comments are left out
}

func (w *builder) natRule(words ...string) { w.rule(w.b.nat, words) }

func (w *builder) filterRule(words ...string) { w.rule(w.b.filter, words) }

func (w *builder) rule(table map[string][]*network.Rule, words []string) {
	r := network.NewRule(w.s.name, words...)
	table[r.Chain] = append(table[r.Chain], r)
}

func (w *builder) chain(name string) {
	w.b.own = append(w.b.own, name)
	if w.b.nat[name] == nil {
		w.b.nat[name] = []*network.Rule{}
	}
}

// plan is what the policies make of a Service port.
type plan struct {
	svc, svl, ext, fw string // chain names
	internal          string // where ClusterIP traffic goes
	externalPolicy    string
	hasInternal       bool
	hasExternal       bool
	usesFirewall      bool
}

// buildBlock writes the rules of one Service port: the body of upstream's
// syncProxyRules loop, in its order.
func buildBlock(s *servicePort, c *chosen, opts options) *block {
	w := &builder{s: s, c: c, opts: opts, b: &block{port: s.name + "/" + s.protocol, nat: map[string][]*network.Rule{}, filter: map[string][]*network.Rule{}, endpoints: len(c.all)}}
	id := s.name + s.protocol
	p := plan{
		svc: chainName("KUBE-SVC-", id), svl: chainName("KUBE-SVL-", id), ext: chainName("KUBE-EXT-", id), fw: chainName("KUBE-FW-", id),
		hasInternal: c.any, hasExternal: c.any,
	}
	p.internal, p.externalPolicy = p.svc, p.svc
	if s.internalLocal {
		p.internal, p.hasInternal = p.svl, c.any && len(c.local) > 0
	}
	if s.externalLocal {
		p.externalPolicy, p.hasExternal = p.svl, c.any && len(c.local) > 0
	}
	p.usesFirewall = c.any && len(s.balancerIPs) > 0 && len(s.sourceRanges) > 0
	w.captureClusterIP(&p)
	w.captureExternalIPs(&p)
	w.captureBalancer(&p)
	w.captureNodePort(&p)
	if s.healthPort != 0 {
		w.b.healthPort = s.healthPort
		for i := range c.local {
			if c.local[i].ready {
				w.b.localReady = append(w.b.localReady, c.local[i].ip)
			}
		}
		w.filterRule("-A", nodePortsChain, "-m", "comment", "--comment", fmt.Sprintf("%q", s.name+" health check node port"),
			"-m", "tcp", "-p", "tcp", "--dport", itoa(s.healthPort), "-j", "ACCEPT")
	}
	w.policyChains(&p)
	return w.b
}

// match is "-m tcp -p tcp -d IP --dport PORT".
func (w *builder) match(ip string, port int) []string {
	m := []string{"-m", w.s.protocol, "-p", w.s.protocol}
	if ip != "" {
		m = append(m, "-d", ip)
	}
	return append(m, "--dport", itoa(port))
}

func words(groups ...[]string) []string {
	var out []string
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// comment is a comment match with a quoted text.
func comment(format string, args ...any) []string {
	return []string{"-m", "comment", "--comment", `"` + fmt.Sprintf(format, args...) + `"`}
}

// filterTarget says what happens to traffic without an endpoint: REJECT if there
// is none anywhere, DROP if there is none for this node.
func (w *builder) filterTarget() (target string, why []string) {
	if !w.c.any {
		return "REJECT", comment("%s has no endpoints", w.s.name)
	}
	return "DROP", comment("%s has no local endpoints", w.s.name)
}

func (w *builder) captureClusterIP(p *plan) {
	match := w.match(w.s.clusterIP, w.s.port)
	if p.hasInternal {
		w.natRule(words([]string{"-A", servicesChain}, comment("%s cluster IP", w.s.name), match, []string{"-j", p.internal})...)
		return
	}
	target, why := w.filterTarget()
	w.filterRule(words([]string{"-A", servicesChain}, why, match, []string{"-j", target})...)
}

func (w *builder) captureExternalIPs(p *plan) {
	for _, ip := range w.s.externalIPs {
		match := w.match(ip, w.s.port)
		if w.c.any {
			w.natRule(words([]string{"-A", servicesChain}, comment("%s external IP", w.s.name), match, []string{"-j", p.ext})...)
		}
		w.noExternal(p, match)
	}
}

// noExternal refuses what no endpoint of this node may answer.
func (w *builder) noExternal(p *plan, match []string) {
	if !p.hasExternal {
		target, why := w.filterTarget()
		w.filterRule(words([]string{"-A", externalChain}, why, match, []string{"-j", target})...)
	}
}

func (w *builder) captureBalancer(p *plan) {
	to := p.ext
	if p.usesFirewall {
		to = p.fw
	}
	for _, ip := range w.s.balancerIPs {
		match := w.match(ip, w.s.port)
		if w.c.any {
			w.natRule(words([]string{"-A", servicesChain}, comment("%s loadbalancer IP", w.s.name), match, []string{"-j", to})...)
		}
		if p.usesFirewall {
			w.filterRule(words([]string{"-A", firewallChain}, comment("%s traffic not accepted by %s", w.s.name, p.fw), match, []string{"-j", "DROP"})...)
		}
	}
	for _, ip := range w.s.balancerIPs {
		w.noExternal(p, w.match(ip, w.s.port))
	}
}

func (w *builder) captureNodePort(p *plan) {
	if w.s.nodePort == 0 {
		return
	}
	plain := []string{"-m", "comment", "--comment", w.s.name}
	if w.c.any {
		if w.opts.counters {
			w.natRule(words([]string{"-A", nodePortsChain}, plain, w.match("127.0.0.0/8", w.s.nodePort),
				[]string{"-m", "nfacct", "--nfacct-name", localhostCount, "-j", p.ext})...)
		}
		w.natRule(words([]string{"-A", nodePortsChain}, plain, w.match("", w.s.nodePort), []string{"-j", p.ext})...)
	}
	w.noExternal(p, words([]string{"-m", "addrtype", "--dst-type", "LOCAL"}, w.match("", w.s.nodePort)))
}
