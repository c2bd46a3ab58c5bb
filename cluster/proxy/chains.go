package proxy

import (
	"fmt"
	"net/netip"
)

// policyChains writes the port's own chains: EXT, FW, SVC, SVL, SEP.
func (w *builder) policyChains(p *plan) {
	if p.hasInternal {
		// Traffic to the ClusterIP from outside the pod network is masqueraded,
		// or the answer would not find its way back.
		w.chainOnce(p.internal)
		w.natRule(words([]string{"-A", p.internal}, comment("%s cluster IP", w.s.name), w.match(w.s.clusterIP, w.s.port),
			[]string{"!", "-s", w.opts.clusterCIDR, "-j", markMasqChain})...)
	}
	if w.c.any && w.s.external() {
		w.externalChain(p)
	}
	if p.usesFirewall {
		w.firewallChain(p)
	}
	if len(w.c.cluster) > 0 && w.s.usesCluster() {
		w.balance(p.svc, w.c.cluster)
	}
	if len(w.c.local) > 0 && w.s.usesLocal() {
		w.balance(p.svl, w.c.local)
	}
	for i := range w.c.all {
		w.endpointChain(&w.c.all[i])
	}
}

func (w *builder) chainOnce(name string) {
	if !contains(w.b.own, name) {
		w.chain(name)
	}
}

// externalChain is where traffic from outside arrives: NodePort, external IP,
// load balancer.
func (w *builder) externalChain(p *plan) {
	w.chain(p.ext)
	a := []string{"-A", p.ext}
	if !w.s.externalLocal {
		w.natRule(words(a, comment("masquerade traffic for %s external destinations", w.s.name), []string{"-j", markMasqChain})...)
	} else {
		w.natRule(words(a, comment("pod traffic for %s external destinations", w.s.name), []string{"-s", w.opts.clusterCIDR, "-j", p.svc})...)
		w.natRule(words(a, comment("masquerade LOCAL traffic for %s external destinations", w.s.name), []string{"-m", "addrtype", "--src-type", "LOCAL", "-j", markMasqChain})...)
		w.natRule(words(a, comment("route LOCAL traffic for %s external destinations", w.s.name), []string{"-m", "addrtype", "--src-type", "LOCAL", "-j", p.svc})...)
	}
	if p.hasExternal {
		w.natRule(words(a, []string{"-j", p.externalPolicy})...)
	}
}

// firewallChain lets only the wanted source ranges through to a load balancer's
// address.
func (w *builder) firewallChain(p *plan) {
	w.chain(p.fw)
	head := words([]string{"-A", p.fw}, comment("%s loadbalancer IP", w.s.name))
	fromNode := false
	for _, cidr := range w.s.sourceRanges {
		w.natRule(words(head, []string{"-s", cidr, "-j", p.ext})...)
		pfx, err1 := netip.ParsePrefix(cidr)
		ip, err2 := netip.ParseAddr(w.opts.nodeIP)
		fromNode = fromNode || err1 == nil && err2 == nil && pfx.Contains(ip)
	}
	if fromNode {
		for _, ip := range w.s.balancerIPs {
			w.natRule(words(head, []string{"-s", ip, "-j", p.ext})...)
		}
	}
	w.natRule(words([]string{"-A", p.fw}, comment("other traffic to %s will be dropped by KUBE-PROXY-FIREWALL", w.s.name))...)
}

func (w *builder) sep(e *endpoint) string {
	return chainName("KUBE-SEP-", w.s.name+w.s.protocol+e.address)
}

// balance spreads traffic over endpoints: first those who were here before, if
// the Service wants that, then by chance: 1/n, 1/(n-1), … and the last takes
// what is left, so that each gets the same share
// (proxier.go writeServiceToEndpointRules).
func (w *builder) balance(chain string, eps []endpoint) {
	w.chainOnce(chain)
	if w.s.sticky {
		for i := range eps {
			sep := w.sep(&eps[i])
			w.natRule(words([]string{"-A", chain}, w.arrow(&eps[i]),
				[]string{"-m", "recent", "--name", sep, "--rcheck", "--seconds", itoa(w.s.stickySeconds), "--reap", "-j", sep})...)
		}
	}
	for i := range eps {
		var chance []string
		if i < len(eps)-1 {
			chance = []string{"-m", "statistic", "--mode", "random", "--probability", fmt.Sprintf("%0.10f", 1/float64(len(eps)-i))}
		}
		w.natRule(words([]string{"-A", chain}, w.arrow(&eps[i]), chance, []string{"-j", w.sep(&eps[i])})...)
	}
}

// endpointChain rewrites the destination. A pod that reaches itself through its
// Service is masqueraded, or it would answer itself directly.
func (w *builder) endpointChain(e *endpoint) {
	sep := w.sep(e)
	w.chain(sep)
	head := []string{"-A", sep}
	if !w.opts.large {
		head = append(head, "-m", "comment", "--comment", w.s.name)
	}
	w.natRule(words(head, []string{"-s", e.ip, "-j", markMasqChain})...)
	var remember []string
	if w.s.sticky {
		remember = []string{"-m", "recent", "--name", sep, "--set"}
	}
	w.natRule(words(head, remember, []string{"-m", w.s.protocol, "-p", w.s.protocol, "-j", "DNAT", "--to-destination", e.address})...)
}

// arrow is the comment that says which endpoint a rule leads to.
func (w *builder) arrow(e *endpoint) []string {
	if w.opts.large {
		return nil
	}
	return comment("%s -> %s", w.s.name, e.address)
}
