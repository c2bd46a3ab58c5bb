package proxy

import (
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/network"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What iptables-restore takes: to start, and for each rule it is given.
const (
	restoreTime = 9 * time.Millisecond
	ruleTime    = 25 * time.Microsecond
)

// largeCluster is the number of endpoints above which comments are left out
// (proxier.go largeClusterEndpointsThreshold).
const largeCluster = 1000

// sync brings the node's rules in line (proxier.go syncProxyRules): the chains
// of Services that changed, and the chains they share; or everything, at the
// first time and when the tables were flushed. The tables change at once, at the
// end.
func (px *Proxy) sync(t *sim.Task) {
	defer func() {
		px.busy, px.done = false, t.Elapsed()
		if px.full || len(px.changed) > 0 {
			px.schedule()
		}
	}()
	w := &writing{px: px, t: t, why: px.changed, full: px.full, whole: px.whole}
	px.changed, px.full, px.whole = map[string][]trace.ID{}, false, nil
	w.causes()
	w.collect()
	w.chains()
	t.Sleep(restoreTime + time.Duration(w.size())*ruleTime)
	w.commit()
	px.syncs++
	t.SetCauses(w.all...)
	info := &trace.ProxySyncInfo{Node: px.cfg.Node.Name, Full: w.full, Added: w.added, Removed: w.removed}
	for _, bs := range px.blocks {
		info.Services += len(bs)
		for _, b := range bs {
			info.Endpoints += b.endpoints
		}
	}
	t.Emit(trace.Event{Kind: trace.ProxySync, Payload: info})
}

// writing is one sync.
type writing struct {
	px    *Proxy
	t     *sim.Task
	full  bool
	whole []trace.ID            // why it is full
	why   map[string][]trace.ID // by Service
	all   []trace.ID

	old     []*block // of the Services that changed
	filter  wanted
	nat     wanted
	gone    []string // chains of nat that go
	added   int
	removed int
}

// wanted are chains and the rules they shall have, in the order written.
type wanted struct {
	order []string
	rules map[string][]*network.Rule
}

func (w *wanted) set(chain string, rules []*network.Rule) {
	if w.rules == nil {
		w.rules = map[string][]*network.Rule{}
	}
	if _, ok := w.rules[chain]; !ok {
		w.order = append(w.order, chain)
	}
	w.rules[chain] = rules
}

// maxCauses bounds how many events a sync names as its causes.
const maxCauses = 16

func (w *writing) causes() {
	keys := make([]string, 0, len(w.why))
	for k := range w.why {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, id := range w.whole {
		if !id.IsZero() {
			w.all = append(w.all, id)
		}
	}
	for _, k := range keys {
		for _, id := range w.why[k] {
			if !id.IsZero() {
				w.all = append(w.all, id)
			}
		}
	}
	sort.Slice(w.all, func(i, j int) bool { return w.all[i].Compare(w.all[j]) < 0 })
	w.all = w.all[max(0, len(w.all)-maxCauses):]
	w.t.SetCauses(w.all...)
}

// collect computes the blocks of the Services that changed.
func (w *writing) collect() {
	px := w.px
	opts := px.options()
	touched := map[string]bool{}
	for k := range w.why {
		touched[k] = true
	}
	if w.full {
		for _, obj := range px.services.List() {
			s := obj.(*corev1.Service)
			touched[s.Namespace+"/"+s.Name] = true
		}
		for k := range px.blocks {
			touched[k] = true
		}
	}
	keys := make([]string, 0, len(touched))
	for k := range touched {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		w.old = append(w.old, px.blocks[k]...)
		delete(px.blocks, k)
		obj, ok := px.services.Get(k)
		if !ok {
			continue
		}
		var slices []*discoveryv1.EndpointSlice
		for _, s := range px.slices.ByIndex(bySvc, k) {
			slices = append(slices, s.(*discoveryv1.EndpointSlice))
		}
		if bs := px.cfg.Shared.of(obj.(*corev1.Service), slices, px.cfg.Node.Name, px.cfg.Zone, opts); len(bs) > 0 {
			px.blocks[k] = bs
			for _, b := range bs {
				for _, c := range b.own {
					w.nat.set(c, b.nat[c])
				}
			}
		}
	}
}

func (px *Proxy) options() options {
	total := 0
	for _, obj := range px.slices.List() {
		total += len(obj.(*discoveryv1.EndpointSlice).Endpoints)
	}
	return options{clusterCIDR: px.cfg.ClusterCIDR, nodeIP: px.cfg.Node.Address, counters: px.cfg.Counters, large: total > largeCluster}
}

// chains puts together the chains that Services share, and finds those that go.
func (w *writing) chains() {
	px := w.px
	all := make([]*block, 0, len(px.blocks))
	for _, bs := range px.blocks {
		all = append(all, bs...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].port < all[j].port })
	gather := func(pick func(*block) []*network.Rule) []*network.Rule {
		rules := []*network.Rule{}
		for _, b := range all {
			rules = append(rules, pick(b)...)
		}
		return rules
	}
	for _, c := range []string{servicesChain, externalChain, nodePortsChain, firewallChain} {
		w.filter.set(c, gather(func(b *block) []*network.Rule { return b.filter[c] }))
	}
	own := w.nat
	w.nat = wanted{}
	w.nat.set(servicesChain, append(gather(func(b *block) []*network.Rule { return b.nat[servicesChain] }), lastService))
	w.nat.set(nodePortsChain, gather(func(b *block) []*network.Rule { return b.nat[nodePortsChain] }))
	for _, c := range own.order {
		w.nat.set(c, own.rules[c])
	}
	if w.full {
		w.frame()
	}
	w.stale(all)
}

// frame adds the chains that are always there.
func (w *writing) frame() {
	f := frames[bit(w.px.cfg.Counters)]
	for _, c := range []string{"INPUT", "FORWARD", "OUTPUT", kubeletFirewall, forwardChain} {
		w.filter.set(c, f.filter[c])
	}
	w.filter.set(canaryChain, nil)
	for _, c := range []string{"PREROUTING", "OUTPUT", "POSTROUTING", postroutingChain, markMasqChain} {
		w.nat.set(c, f.nat[c])
	}
	w.nat.set(canaryChain, nil)
}

// stale finds the chains of Service ports that are no longer wanted: at a full
// sync by looking through the table, as a restarted proxy has to.
func (w *writing) stale(all []*block) {
	candidates := []string{}
	if w.full {
		for _, c := range w.px.cfg.Node.Tables.Table(network.NAT).Chains() {
			if isServiceChain(c) {
				candidates = append(candidates, c)
			}
		}
	} else {
		for _, b := range w.old {
			candidates = append(candidates, b.own...)
		}
	}
	for _, c := range candidates {
		if _, kept := w.nat.rules[c]; !kept {
			w.gone = append(w.gone, c)
		}
	}
	sort.Strings(w.gone)
}

// isServiceChain is proxier.go isServiceChainName.
func isServiceChain(c string) bool {
	for _, p := range []string{"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-SEP-"} {
		if strings.HasPrefix(c, p) {
			return true
		}
	}
	return false
}

func (w *writing) size() int {
	n := 0
	for _, rules := range w.filter.rules {
		n += len(rules)
	}
	for _, rules := range w.nat.rules {
		n += len(rules)
	}
	return n
}

// commit tells the difference, rule by rule, and then changes the tables at
// once.
func (w *writing) commit() {
	tables := w.px.cfg.Node.Tables
	filter := w.differ(tables.Table(network.Filter), &w.filter, nil)
	nat := w.differ(tables.Table(network.NAT), &w.nat, w.gone)
	tables.Table(network.Filter).Commit(filter, nil)
	tables.Table(network.NAT).Commit(nat, w.gone)
	if w.full {
		tables.Table(network.Mangle).Commit(map[string][]network.Entry{canaryChain: nil}, nil)
	}
}

// differ compares the wanted chains with what is there, and gives the chains to
// put in. Rules that stay keep the event that wrote them.
func (w *writing) differ(tab *network.Table, want *wanted, gone []string) map[string][]network.Entry {
	out := map[string][]network.Entry{}
	for _, c := range want.order {
		have, exists := tab.Chain(c)
		rules := want.rules[c]
		if exists && same(have, rules) {
			continue
		}
		old := map[string][]network.Entry{}
		for _, e := range have {
			old[e.Spec] = append(old[e.Spec], e)
		}
		keep := make([]*network.Entry, len(rules))
		for i, r := range rules {
			if es := old[r.Spec]; len(es) > 0 {
				keep[i] = &es[0]
				old[r.Spec] = es[1:]
			}
		}
		for _, e := range have {
			if es := old[e.Spec]; len(es) > 0 {
				old[e.Spec] = es[1:]
				w.tell(tab.Name, e.Rule, 0, true)
			}
		}
		entries := make([]network.Entry, len(rules))
		for i, r := range rules {
			if keep[i] != nil {
				entries[i] = network.Entry{Rule: r, At: keep[i].At}
			} else {
				entries[i] = network.Entry{Rule: r, At: w.tell(tab.Name, r, i+1, false)}
			}
		}
		out[c] = entries
	}
	for _, c := range gone {
		have, _ := tab.Chain(c)
		for _, e := range have {
			w.tell(tab.Name, e.Rule, 0, true)
		}
	}
	return out
}

func same(have []network.Entry, rules []*network.Rule) bool {
	if len(have) != len(rules) {
		return false
	}
	for i := range have {
		if have[i].Rule != rules[i] && have[i].Spec != rules[i].Spec {
			return false
		}
	}
	return true
}

// tell emits one rule's coming or going.
func (w *writing) tell(table string, r *network.Rule, pos int, removed bool) trace.ID {
	if removed {
		w.removed++
	} else {
		w.added++
	}
	if w.px.cfg.Quiet {
		return trace.ID{}
	}
	e := trace.Event{Kind: trace.RuleChange, Payload: &trace.Rule{
		Node: w.px.cfg.Node.Name, Table: table, Chain: r.Chain, Text: r.String(), Removed: removed, Pos: pos, Service: r.Service,
	}}
	if r.Service != "" {
		ns, name, _ := strings.Cut(r.Service, "/")
		name, _, _ = strings.Cut(name, ":")
		e.Object = trace.Ref{APIVersion: "v1", Kind: "Service", Namespace: ns, Name: name}
		for _, id := range w.why[ns+"/"+name] {
			if !id.IsZero() && len(e.Causes) < maxCauses {
				e.Causes = append(e.Causes, id)
			}
		}
	}
	return w.t.Emit(e)
}
