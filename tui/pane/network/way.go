package network

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/view"
	"kviz/tui/podmark"
	"kviz/tui/theme"
)

// way is how packets to a Service go: who asked last, the Service's address, the rules of a
// node, the pods.
type way struct {
	key     string // namespace/name
	address string // ip:port
	node    string // whose rules these are
	chain   string // of the Service there; "" where there is none
	ends    []end
	flow    *view.Flow // the one that is shown; nil where nobody has asked
	came    int        // how far it has come: one of the places below
	taken   int        // the end that it goes to; -1 where that is not decided
	drew    string     // what decided
	bad     string     // why it came no further
}

// The places of a way.
const (
	asks = iota
	atService
	atRules
	atPod
)

// end is a pod that packets can go to, or could.
type end struct {
	address string // ip:port
	pod     *view.Object
	node    string
	listed  bool   // in an EndpointSlice, and ready
	outside bool   // in one that names no pod: a program beside the pods, as the API server is
	chance  string // "p 0.50", "else"; "" where no rule leads there
}

// ip is the address without its port.
func (e end) ip() string { ip, _, _ := strings.Cut(e.address, ":"); return ip }

// wayOf follows the rules of a node for a Service, beside what its EndpointSlices say.
func (p *Network) wayOf(s *view.State, svc *view.Object, n *view.Node, flow *view.Flow) *way {
	obj, ok := svc.Value.(*corev1.Service)
	if !ok || len(obj.Spec.Ports) == 0 {
		return nil
	}
	w := &way{key: svc.Ref.Key(), address: portOf(obj.Spec.ClusterIP, obj.Spec.Ports[0].Port), taken: -1, flow: flow}
	if n != nil {
		w.node = n.Name
		r := p.ruled(n, w.address)
		w.chain, w.ends = r.chain, slices.Clone(r.ends)
	}
	w.list(s, svc)
	for i, e := range w.ends {
		if e.pod == nil && i < most {
			w.ends[i].pod = podAt(s, e.ip())
		}
		if pod := w.ends[i].pod; pod != nil && e.node == "" {
			w.ends[i].node = pod.Value.(*corev1.Pod).Spec.NodeName
		}
	}
	if flow != nil {
		w.follow(flow)
	}
	return w
}

// ruled is what the rules of a node do with a Service's address.
type ruled struct {
	chain string
	ends  []end           // where they lead, in their order
	ips   map[string]bool // of the ends
}

// ruled are the rules of a node for a Service's address. They are remembered for as long as the
// node is the same: a state's node never changes.
func (p *Network) ruled(n *view.Node, address string) ruled {
	if p.rules.address != address || len(p.rules.of) > 10000 {
		p.rules.address, p.rules.of = address, map[*view.Node]ruled{}
	}
	r, known := p.rules.of[n]
	if !known {
		r = ruled{ips: map[string]bool{}}
		r.chain, r.ends = p.read(n, address)
		for _, e := range r.ends {
			r.ips[e.ip()] = true
		}
		p.rules.of[n] = r
	}
	return r
}

// read reads the rules of a node: the chain of an address, and where it leads.
func (p *Network) read(n *view.Node, address string) (chain string, ends []end) {
	services := n.Chain("nat", "KUBE-SERVICES")
	if services == nil {
		return "", nil
	}
	for _, r := range services.Rules() {
		if b := p.brief(r.Text); strings.HasPrefix(b.cond, "dst "+address+" ") && strings.HasPrefix(b.chain, "KUBE-SVC-") {
			chain = b.chain
		}
	}
	c := n.Chain("nat", chain)
	if chain == "" || c == nil {
		return chain, nil
	}
	for _, r := range c.Rules() {
		b := p.brief(r.Text)
		sep := n.Chain("nat", b.chain)
		if !strings.HasPrefix(b.chain, "KUBE-SEP-") || sep == nil {
			continue
		}
		chance := "else"
		if _, x, ok := strings.Cut(b.cond, "p="); ok {
			x, _, _ = strings.Cut(x, " ")
			if chance = "p " + x; len(x) > 4 {
				chance = "p " + x[:4]
			}
		}
		for _, d := range sep.Rules() {
			if to, ok := strings.CutPrefix(p.brief(d.Text).to, "DNAT "); ok {
				ends = append(ends, end{address: to, chance: chance})
			}
		}
	}
	return chain, ends
}

// list takes in what the EndpointSlices of the Service say.
func (w *way) list(s *view.State, svc *view.Object) {
	known := map[string]int{}
	for i, e := range w.ends {
		known[e.ip()] = i
	}
	for _, o := range s.Objects("endpointslices", svc.Namespace()) {
		slice, ok := o.Value.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != svc.Name() {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, ip := range e.Addresses {
				i, ok := known[ip]
				if !ok {
					i = len(w.ends)
					known[ip], w.ends = i, append(w.ends, end{address: ip})
				}
				x := &w.ends[i]
				x.listed = e.Conditions.Ready == nil || *e.Conditions.Ready
				if e.NodeName != nil {
					x.node = *e.NodeName
				}
				if ref := e.TargetRef; ref == nil {
					x.outside = true
				} else if ref.Kind == "Pod" {
					x.pod = s.Object("pods", ref.Namespace, ref.Name)
				}
			}
		}
	}
}

// follow finds how far a packet has come, and what decided where it goes.
func (w *way) follow(flow *view.Flow) {
	last := ""
	for _, h := range flow.Hops() {
		chain := h.Where[strings.LastIndexByte(h.Where, ' ')+1:]
		switch {
		case strings.HasPrefix(h.Verdict, "DNAT "):
			to := strings.TrimPrefix(h.Verdict, "DNAT ")
			w.came = max(w.came, atRules)
			w.taken = slices.IndexFunc(w.ends, func(e end) bool { return e.ip() == strings.Split(to, ":")[0] })
		case strings.HasPrefix(chain, "KUBE-SVC-"):
			w.came = max(w.came, atRules)
			if strings.HasPrefix(h.Why, "drew ") {
				w.drew, _, _ = strings.Cut(h.Why, ",")
				w.drew = w.drew[:min(len(w.drew), len("drew 0.71"))]
			}
		case strings.HasPrefix(h.Verdict, "jump KUBE-SVC-"):
			w.came = max(w.came, atService)
		case chain == "pod" && h.Verdict == "ACCEPT":
			w.came = atPod
		}
		last = h.Why
	}
	switch {
	case flow.End == nil:
	case flow.End.Result == "answered":
		w.came = atPod
		if w.taken < 0 && flow.End.Backend != "" {
			w.taken = slices.IndexFunc(w.ends, func(e end) bool { return e.ip() == strings.Split(flow.End.Backend, ":")[0] })
		}
	default:
		if w.bad = flow.End.Result; last != "" {
			w.bad += ": " + last
		}
	}
}

// asked reports whether a flow went to a Service: by its address, or by its name.
func asked(flow *view.Flow, address, name string) bool {
	for _, h := range flow.Hops() {
		if h.Dst == address {
			return true
		}
	}
	if flow.End == nil {
		return false
	}
	to, _, _ := strings.Cut(flow.End.To, ":")
	return flow.End.To == address || to == name || strings.HasPrefix(to, name+".")
}

// podAt is the pod that has an address.
func podAt(s *view.State, ip string) (pod *view.Object) {
	s.EachObject("pods", "", func(o *view.Object) bool {
		if x, ok := o.Value.(*corev1.Pod); ok && x.Status.PodIP == ip && !x.Spec.HostNetwork {
			pod = o
		}
		return pod == nil
	})
	return pod
}

// differing says of each node whether its rules lead where the EndpointSlices say; what it does
// otherwise is "" where they do.
func (p *Network) differing(s *view.State, w *way) (nodes []string, what map[string]string) {
	what = map[string]string{}
	listed := map[string]bool{}
	for _, e := range w.ends {
		if e.listed {
			listed[e.ip()] = true
		}
	}
	for _, n := range s.Nodes() {
		if n.RuleCount == 0 {
			continue
		}
		nodes = append(nodes, n.Name)
		r := p.ruled(n, w.address)
		for _, e := range w.ends {
			switch ip := e.ip(); {
			case r.ips[ip] && !listed[ip]:
				what[n.Name] = "still sends to " + ip
			case listed[ip] && !r.ips[ip]:
				what[n.Name] = "does not know " + ip
			}
		}
		for _, e := range r.ends {
			if !listed[e.ip()] {
				what[n.Name] = "still sends to " + e.ip()
			}
		}
	}
	return nodes, what
}

// mark is a pod's letter and mark.
func (e end) mark(s *view.State) (string, podmark.Mark) {
	switch {
	case e.pod != nil:
	case e.outside && e.listed:
		return " ", podmark.Mark{Glyph: '●', Style: theme.Good, Word: "ready"}
	case e.outside:
		return " ", podmark.Mark{Glyph: '○', Style: theme.Warn, Word: "not ready"}
	default:
		return "?", podmark.Mark{Glyph: '✗', Word: "gone"}
	}
	pod, _ := e.pod.Value.(*corev1.Pod)
	return string(podmark.Letter(e.pod.Namespace(), podmark.Workload(s, e.pod))), podmark.Of(pod)
}
