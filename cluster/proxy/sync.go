package proxy

import (
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/network"
	"kviz/cluster/record"
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
	if broken := t.HandleCrashOn(trace.Ref{}, "the rules of the node", func() { w.sync() }); broken != nil {
		px.retry(func() { px.full, px.whole = true, append(w.whole, t.Causes()...) })
	}
}

// retry has a sync run once the sync period is over: what just panicked would panic again at once.
func (px *Proxy) retry(mark func()) {
	px.k.After(syncPeriod, func() {
		if px.p.Alive() {
			mark()
			px.schedule()
		}
	})
}

// warn tells of a panic that an object was the reason of.
func (px *Proxy) warn(t *sim.Task, object trace.Ref, broken *sim.PanicError) {
	if px.rec == nil {
		px.rec = record.New(px.p, px.client, "kube-proxy")
	}
	px.rec.EventRef(t, object, corev1.EventTypeWarning, "ProxyPanic", "%s", broken.Note("kube-proxy", "proxy"))
}

func (w *writing) sync() {
	px, t, began := w.px, w.t, w.t.Elapsed()
	w.causes()
	w.collect()
	w.chains()
	t.Sleep(max(time.Nanosecond, began+w.takes()-t.Elapsed()))
	w.commit()
	px.serveChecks()
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

	old     []*block            // of the Services that changed
	had     map[string][]*block // by Service
	filter  wanted
	nat     wanted
	gone    []string // chains of nat that go
	tells   []telling
	told    int
	of      map[string][]trace.ID // see causesOf
	added   int
	removed int
	since   int // rules made, compared or told of since others had their turns
}

// takes is how long iptables-restore takes, without what comparing and telling take where the
// rules are many.
func (w *writing) takes() time.Duration {
	n := time.Duration(w.size())
	if n > dear {
		return restoreTime + n*(ruleTime-2*makeTime)
	}
	return restoreTime + n*ruleTime
}

// made counts rules, and has their time pass once there were many, so that others have
// their turns.
func (w *writing) made(n int) {
	w.since += n
	w.px.most = max(w.px.most, w.since)
	if w.since >= dear {
		n := w.since
		w.since = 0
		w.t.Sleep(time.Duration(n) * makeTime)
	}
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
			touched[informer.KeyOf(obj)] = true
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
	w.had = map[string][]*block{}
	for _, k := range keys {
		w.old = append(w.old, px.blocks[k]...)
		w.had[k] = px.blocks[k]
		delete(px.blocks, k)
		obj, ok := px.services.Get(k)
		if !ok {
			continue
		}
		var slices []*discoveryv1.EndpointSlice
		for _, s := range px.slices.ByIndex(bySvc, k) {
			slices = append(slices, s.(*discoveryv1.EndpointSlice))
		}
		if bs := w.blocksOf(k, obj, slices, opts); len(bs) > 0 {
			px.blocks[k] = bs
			for _, b := range bs {
				for _, c := range b.own {
					w.nat.set(c, b.nat[c])
				}
				w.made(len(b.own))
			}
		}
	}
}

// blocksOf are the blocks of a Service. One whose rules cannot be made keeps those that it has, and is
// tried again later; the others get theirs.
func (w *writing) blocksOf(key string, svc runtime.Object, slices []*discoveryv1.EndpointSlice, opts options) (bs []*block) {
	px := w.px
	object, causes := client.RefOf(svc), w.t.Causes()
	broken := w.t.HandleCrashOn(object, "the rules of the Service", func() { bs = px.cfg.Shared.of(w, svc.(*corev1.Service), slices, opts) })
	if broken == nil {
		return bs
	}
	px.warn(w.t, object, broken)
	why := w.why[key]
	px.retry(func() { px.changed[key] = append(px.changed[key], why...) })
	w.t.SetCauses(causes...)
	return w.had[key]
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
		w.made(1)
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
			w.made(len(b.own))
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

// commit tells the difference, rule by rule, and then changes the tables at once. A proxy
// that is killed meanwhile has started iptables-restore, which goes on.
func (w *writing) commit() {
	tables := w.px.cfg.Node.Tables
	filter := w.differ(tables.Table(network.Filter), &w.filter, nil)
	nat := w.differ(tables.Table(network.NAT), &w.nat, w.gone)
	defer func() {
		for w.told < len(w.tells) {
			w.tell(w.emit)
		}
		tables.Table(network.Filter).Commit(filter, nil)
		tables.Table(network.NAT).Commit(nat, w.gone)
		if w.full {
			tables.Table(network.Mangle).Commit(map[string][]network.Entry{canaryChain: nil}, nil)
		}
	}()
	for w.told < len(w.tells) {
		w.made(1)
		w.tell(w.t.Emit)
	}
}

// emit is [sim.Task.Emit] of a proxy that has been killed.
func (w *writing) emit(e trace.Event) trace.ID {
	if e.Lane = w.px.p.Lane; e.Causes == nil {
		e.Causes = w.t.Causes()
	}
	return w.px.k.Emit(e)
}

// differ compares the wanted chains with what is there, and gives the chains to
// put in. Rules that stay keep the event that wrote them.
func (w *writing) differ(tab *network.Table, want *wanted, gone []string) map[string][]network.Entry {
	out := map[string][]network.Entry{}
	for _, c := range want.order {
		have, exists := tab.Chain(c)
		rules := want.rules[c]
		w.made(1 + len(rules))
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
				w.tells = append(w.tells, telling{table: tab.Name, rule: e.Rule})
			}
		}
		entries := make([]network.Entry, len(rules))
		for i, r := range rules {
			if keep[i] != nil {
				entries[i] = network.Entry{Rule: r, At: keep[i].At}
			} else {
				entries[i].Rule = r
				w.tells = append(w.tells, telling{tab.Name, r, i + 1, &entries[i]})
			}
		}
		out[c] = entries
	}
	for _, c := range gone {
		have, _ := tab.Chain(c)
		for _, e := range have {
			w.tells = append(w.tells, telling{table: tab.Name, rule: e.Rule})
		}
		w.made(1 + len(have))
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

// telling is one rule's coming or going.
type telling struct {
	table string
	rule  *network.Rule
	pos   int
	entry *network.Entry // that came; nil: it goes
}

// tell emits the next.
func (w *writing) tell(emit func(trace.Event) trace.ID) {
	it := &w.tells[w.told]
	w.told++
	if it.entry == nil {
		w.removed++
	} else {
		w.added++
	}
	if w.px.cfg.Quiet {
		return
	}
	r := it.rule
	e := trace.Event{Kind: trace.RuleChange, Causes: w.causesOf(r.Service), Payload: &trace.Rule{
		Node: w.px.cfg.Node.Name, Table: it.table, Chain: r.Chain, Text: r.String(), Removed: it.entry == nil, Pos: it.pos, Service: r.Service,
	}}
	if r.Service != "" {
		ns, name, _ := strings.Cut(r.Service, "/")
		name, _, _ = strings.Cut(name, ":")
		e.Object = trace.Ref{APIVersion: "v1", Kind: "Service", Namespace: ns, Name: name}
	}
	if id := emit(e); it.entry != nil {
		it.entry.At = id
	}
}

// causesOf are the causes of the change of a Service, which "namespace/name:port" is one of;
// nil if there are none of its own.
func (w *writing) causesOf(port string) []trace.ID {
	of, known := w.of[port]
	if known || port == "" {
		return of
	}
	service, _, _ := strings.Cut(port, ":")
	for _, id := range w.why[service] {
		if !id.IsZero() && len(of) < maxCauses {
			of = append(of, id)
		}
	}
	if w.of == nil {
		w.of = map[string][]trace.ID{}
	}
	w.of[port] = of
	return of
}
