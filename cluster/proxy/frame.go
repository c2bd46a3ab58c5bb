package proxy

import (
	"kviz/cluster/network"
)

// jump is a rule in one of the kernel's chains that leads into kube-proxy's.
// They are prepended one after another, so the last one comes first.
type jump struct {
	table, to, from string
	words           []string
}

// jumps is proxier.go iptablesJumpChains and iptablesKubeletJumpChains.
var jumps = []jump{
	{network.Filter, externalChain, "INPUT", words(isNew, comment("kubernetes externally-visible service portals"))},
	{network.Filter, externalChain, "FORWARD", words(isNew, comment("kubernetes externally-visible service portals"))},
	{network.Filter, nodePortsChain, "INPUT", comment("kubernetes health check service ports")},
	{network.Filter, servicesChain, "FORWARD", words(isNew, comment("kubernetes service portals"))},
	{network.Filter, servicesChain, "OUTPUT", words(isNew, comment("kubernetes service portals"))},
	{network.Filter, forwardChain, "FORWARD", comment("kubernetes forwarding rules")},
	{network.Filter, firewallChain, "INPUT", words(isNew, comment("kubernetes load balancer firewall"))},
	{network.Filter, firewallChain, "OUTPUT", words(isNew, comment("kubernetes load balancer firewall"))},
	{network.Filter, firewallChain, "FORWARD", words(isNew, comment("kubernetes load balancer firewall"))},
	{network.NAT, servicesChain, "OUTPUT", comment("kubernetes service portals")},
	{network.NAT, servicesChain, "PREROUTING", comment("kubernetes service portals")},
	{network.NAT, postroutingChain, "POSTROUTING", comment("kubernetes postrouting rules")},
	{network.Filter, kubeletFirewall, "INPUT", nil},
	{network.Filter, kubeletFirewall, "OUTPUT", nil},
}

var isNew = []string{"-m", "conntrack", "--ctstate", "NEW"}

// frame holds the chains that are there whatever Services exist.
type frame struct {
	filter, nat map[string][]*network.Rule
}

// newFrame writes the frame: the first and last lines of syncProxyRules.
func newFrame(counters bool) frame {
	f := frame{map[string][]*network.Rule{kubeletFirewall: nil}, map[string][]*network.Rule{}}
	for i := len(jumps) - 1; i >= 0; i-- {
		j := jumps[i]
		r := network.NewRule("", words([]string{"-A", j.from}, j.words, []string{"-j", j.to})...)
		if j.table == network.NAT {
			f.nat[j.from] = append(f.nat[j.from], r)
		} else {
			f.filter[j.from] = append(f.filter[j.from], r)
		}
	}
	nat := func(w ...string) { add(f.nat, w) }
	nat("-A", postroutingChain, "-m", "mark", "!", "--mark", masqueradeMark+"/"+masqueradeMark, "-j", "RETURN")
	nat("-A", postroutingChain, "-j", "MARK", "--xor-mark", masqueradeMark)
	nat(words([]string{"-A", postroutingChain}, comment("kubernetes service traffic requiring SNAT"), []string{"-j", "MASQUERADE", "--random-fully"})...)
	nat("-A", markMasqChain, "-j", "MARK", "--or-mark", masqueradeMark)

	filter := func(w ...string) { add(f.filter, w) }
	filter(words([]string{"-A", kubeletFirewall}, comment("block incoming localnet connections"),
		[]string{"-d", "127.0.0.0/8", "!", "-s", "127.0.0.0/8", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "DROP"})...)
	invalid := []string{"-A", forwardChain, "-m", "conntrack", "--ctstate", "INVALID"}
	if counters {
		invalid = append(invalid, "-m", "nfacct", "--nfacct-name", invalidCount)
	}
	filter(append(invalid, "-j", "DROP")...)
	filter(words([]string{"-A", forwardChain}, comment("kubernetes forwarding rules"), []string{"-m", "mark", "--mark", masqueradeMark + "/" + masqueradeMark, "-j", "ACCEPT"})...)
	filter(words([]string{"-A", forwardChain}, comment("kubernetes forwarding conntrack rule"), []string{"-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT"})...)
	return f
}

func add(table map[string][]*network.Rule, w []string) {
	r := network.NewRule("", w...)
	table[r.Chain] = append(table[r.Chain], r)
}

// frames are made once: they are equal on all nodes.
var frames = [2]frame{newFrame(false), newFrame(true)}

// lastService is the rule at the end of KUBE-SERVICES: what is for the node
// itself may be for a node port.
var lastService = network.NewRule("", words([]string{"-A", servicesChain},
	comment("kubernetes service nodeports; NOTE: this must be the last rule in this chain"),
	[]string{"-m", "addrtype", "--dst-type", "LOCAL", "-j", nodePortsChain})...)
