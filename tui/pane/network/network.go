// Package network is pane 8: Services and what becomes of a packet to one. A
// Service's address exists nowhere; it is a few rules on every node. The pane
// draws those rules as a tree of decisions, the way of the last packet through
// them, and what the last sync of a node changed.
package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Network is the pane.
type Network struct {
	node  string // "" is the first
	part  int    // 0 rules, 1 last diff, 2 packets
	whole map[string]bool

	parsed map[string]parsed // rules taken apart, by their text
}

// New makes the pane.
func New() *Network { return &Network{whole: map[string]bool{}, parsed: map[string]parsed{}} }

const (
	keyNode = "net.node"
	keyPart = "net.part"
)

// Info implements [pane.Pane].
func (*Network) Info() pane.Info {
	return pane.Info{
		Number: 8, Name: "network", Title: "Network",
		Means: "Services, their endpoints, and the rules kube-proxy writes on each node. The tree shows the chains as decisions: what " +
			"a packet asks at each rule, and where it jumps. The way of the last packet is marked ▸. Packets are simulated; the " +
			"rules are those that the real kube-proxy writes. Put the cursor on a rule and press w for the reason it exists.",
		Legend: [][2]string{{"▸", "the last packet took this rule"}, {"✗", "it met this rule, no match"}, {"+ -", "rule added, removed in the last sync"}, {"●", "endpoint ready"}, {"○", "endpoint not ready"}},
		Keys: []keymap.Binding{
			keymap.Bind(keymap.Open, "open", "Show the Service, or go to the moment of the rule or hop.", "enter"),
			keymap.Bind(keyNode, "other node", "The rules of the next node.", "o"),
			keymap.Bind(keyPart, "rules/diff/packets", "Change between the rules, the last change of the rules, and packets.", "v"),
		},
	}
}

// Note implements [pane.Pane].
func (p *Network) Note(f *pane.Frame) string {
	n := p.chosen(f)
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", n.Name, words.Count(n.RuleCount, "rule"))
}

// Do implements [pane.Pane].
func (p *Network) Do(action string, on pane.Subject, f *pane.Frame) pane.Ask {
	switch action {
	case keyNode:
		all := f.S.Nodes()
		now := p.chosen(f)
		for i, n := range all {
			if n == now {
				p.node = all[(i+1)%len(all)].Name
				break
			}
		}
		return pane.Redraw{}
	case keyPart:
		p.part = (p.part + 1) % 3
		return pane.Redraw{}
	case keymap.Open:
		if c, ok := on.Value.(string); ok {
			p.whole[c] = !p.whole[c]
			return pane.Redraw{}
		}
		if on.Ref.Name != "" {
			return pane.Show{Ref: on.Ref}
		}
		if !on.Event.IsZero() {
			return pane.Goto{ID: on.Event}
		}
	}
	return nil
}

func (p *Network) chosen(f *pane.Frame) *view.Node {
	if n := f.S.Node(p.node); n != nil {
		return n
	}
	if e := f.Event(); e != nil && (e.Lane.Component == trace.CompProxy || e.Lane.Component == trace.CompNet) {
		if n := f.S.Node(e.Lane.Instance); n != nil {
			return n
		}
	}
	if n := f.S.Node(f.Sel.Node); n != nil {
		return n
	}
	for _, n := range f.S.Nodes() {
		if n.RuleCount > 0 {
			return n
		}
	}
	if all := f.S.Nodes(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Draw implements [pane.Pane].
func (p *Network) Draw(s *pane.Sheet, f *pane.Frame) {
	y := drawServices(s, f, 0)
	n := p.chosen(f)
	if n == nil {
		return
	}
	switch p.part {
	case 0:
		y = p.drawRules(s, f, y, n)
		p.drawFlow(s, f, y, lastFlow(f.S))
	case 1:
		drawDiff(s, f, y, n)
	case 2:
		p.drawFlows(s, f, y)
	}
}

func lastFlow(s *view.State) *view.Flow {
	all := s.Flows()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func heading(s *pane.Sheet, y int, name, note string) int {
	a := s.Row(y)
	x := a.Text(0, 0, name+" ", theme.Title)
	if note != "" {
		x = a.Fit(x, 0, s.W()-x-2, note, theme.Muted) + 1
	}
	a.HLine(x, 0, s.W()-x, theme.Line)
	return y + 1
}

func drawServices(s *pane.Sheet, f *pane.Frame, y int) int {
	any := false
	for _, o := range f.S.Objects("services", "") {
		svc, ok := o.Value.(*corev1.Service)
		if !ok || !f.Match(o.Name(), o.Namespace(), svc.Spec.ClusterIP) {
			continue
		}
		any = true
		st := theme.Name
		if f.Fresh(o.Changed) {
			st |= grid.Fresh
		}
		var ports []string
		for _, p := range svc.Spec.Ports {
			ports = append(ports, fmt.Sprint(p.Port))
		}
		spans := []grid.Span{{Text: o.Ref.Key() + " ", Style: st}, {Text: svc.Spec.ClusterIP + ":" + strings.Join(ports, ",") + " ", Style: theme.Number}}
		ready, all := endpoints(f.S, o)
		spans = append(spans, grid.Span{Text: strings.Repeat("●", min(ready, 8)), Style: theme.Good}, grid.Span{Text: strings.Repeat("○", min(all-ready, 8)), Style: theme.Warn},
			grid.Span{Text: fmt.Sprintf(" %d/%d ready", ready, all), Style: theme.Muted})
		s.Line(y, pane.Subject{
			ID: "svc/" + o.Ref.Key(), Ref: o.Ref, Event: o.Changed, Copy: svc.Spec.ClusterIP,
			Words: fmt.Sprintf("Service %s: %s, ports %s, %d of %d endpoints ready. Its address exists only in the rules of the nodes.", o.Ref.Key(), svc.Spec.ClusterIP, strings.Join(ports, ", "), ready, all),
		}, spans...)
		y++
	}
	if !any {
		none := "no Services"
		if f.Filter != "" {
			none = "no Service matches /" + f.Filter
		}
		s.Row(y).Text(0, 0, none, theme.Muted)
		y++
	}
	return y
}

// endpoints counts the endpoints in the slices of a Service.
func endpoints(s *view.State, svc *view.Object) (ready, all int) {
	s.EachObject("endpointslices", svc.Namespace(), func(o *view.Object) bool {
		sl, ok := o.Value.(*discoveryv1.EndpointSlice)
		if !ok || sl.Labels[discoveryv1.LabelServiceName] != svc.Name() {
			return true
		}
		for _, e := range sl.Endpoints {
			all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
		return true
	})
	return ready, all
}

func drawDiff(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) {
	note := "no sync yet"
	if n.Sync != nil {
		how := "partial"
		if n.Sync.Full {
			how = "full"
		}
		note = fmt.Sprintf("#%s %s sync: +%d -%d, %s, %s", n.Synced, how, n.Sync.Added, n.Sync.Removed, words.Count(n.Sync.Services, "service"), words.Count(n.Sync.Endpoints, "endpoint"))
	}
	y = heading(s, y, "last change on "+n.Name, note)
	for i, d := range n.LastDiff() {
		if !f.Match(d.Text, d.Chain, d.Service) {
			continue
		}
		sign, st := "+ ", theme.Added
		if d.Removed {
			sign, st = "- ", theme.Removed
		}
		if f.Fresh(d.Event) {
			st |= grid.Fresh
		}
		a := s.Row(y)
		a.Fit(0, 0, s.W(), sign+d.Text, st)
		s.Hot(0, y, s.W(), pane.Subject{
			ID: fmt.Sprintf("diff/%d", i), Event: d.Event, Node: n.Name, Kind: trace.RuleChange, Copy: d.Text,
			Words: fmt.Sprintf("%s %s/%s: %s", strings.TrimSpace(sign), d.Table, d.Chain, d.Text),
		})
		y++
	}
}
