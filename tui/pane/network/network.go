// Package network is the pane of Services and what happens to a packet sent to one. A Service's
// address exists nowhere; it is a few rules on every node. The pane draws the way to a Service
// as four boxes (path.go), from the client to the pods; its rules as a tree of decisions; the
// way of the last packet through them; and what the last sync of a node changed.
//
// Start reading at [Network.Draw].
package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Network is the pane.
type Network struct {
	pane.List
	node  pane.NodeChoice
	whole map[string]bool

	looked string   // the Service whose way is shown, by namespace/name
	rules  struct { // of nodes, for the address of the Service that is shown
		address string
		of      map[*view.Node]ruled
	}
	ends  []func() // put the cursor's stops on the pods of the way
	older int      // so many packets before the newest one are shown

	parsed map[string]parsed // rules taken apart, by their text
}

var about = pane.Info{
	Name: "network", Title: "Network",
	Kinds: []string{"chain", "diff", "hop", "more", "pod", "rule", "svc"},
	Means: "Services, their endpoints, and the rules kube-proxy writes on each node. The tree shows the chains as decisions: what " +
		"a packet asks at each rule, and where it jumps. The way of the last packet is marked ▸. A Service's chain is KUBE-SVC-…, " +
		"an endpoint's KUBE-SEP-…; p=0.5 is the chance that a rule is taken. Packets are simulated; the rules are those that the " +
		"real kube-proxy writes. Put the cursor on a rule and press w for the reason it exists.",
	Legend: [][2]string{{"▸", "the last packet took this rule"}, {"✗", "it met this rule, no match"}, {"+ -", "rule added, removed in the last sync"}, {"●", "endpoint ready"}, {"○", "endpoint not ready"}},
}

// New makes the pane.
func New() *Network {
	p := &Network{List: pane.NewList(about), whole: map[string]bool{}, parsed: map[string]parsed{}}
	p.Key(keymap.Bind(keymap.Open, "open", "Show the Service, or go to the moment of the rule or hop.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if c, ok := on.Value.(string); ok {
			p.whole[c] = !p.whole[c]
			return action.Redraw{}
		}
		return on.Open()
	})
	p.Key(keymap.Bind("net.node", "other node", "The rules of the next node.", "o"), func(_ pane.Subject, f *pane.Frame) action.Action {
		p.node.Next(p.chosen(f), f)
		return action.Redraw{}
	})
	p.Key(keymap.Bind("net.older", "older", "The way of the packet before, to the same Service.", "<"), pane.Then(func() { p.older++ }))
	p.Key(keymap.Bind("net.newest", "newest", "The way of the newest packet.", "x"), pane.Then(func() { p.older = 0 }))
	p.Views("net.part", "rules/diff/packets",
		pane.View{Name: "rules", Means: "the rules of a node, and the last packet through them", Draw: p.of(p.drawRulesAndPacket)},
		pane.View{Name: "diff", Means: "the last change of the rules", Draw: p.of(func(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) { drawDiff(s, f, y, n) })},
		pane.View{Name: "packets", Means: "the latest packets, hop by hop", Draw: p.of(func(s *pane.Sheet, f *pane.Frame, y int, _ *view.Node) { p.drawFlows(s, f, y, 8) })})
	return p
}

// Note implements [pane.Pane].
func (p *Network) Note(f *pane.Frame) string {
	n := p.chosen(f)
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", n.Name, words.Count(n.RuleCount, "rule"))
}

// chosen is the node shown: the chosen one, that of the present event, that of
// what is selected elsewhere, or the first with rules.
func (p *Network) chosen(f *pane.Frame) *view.Node {
	ruled := ""
	for _, n := range f.S.Nodes() {
		if n.RuleCount > 0 {
			ruled = n.Name
			break
		}
	}
	return p.node.Of(f, f.Instance(trace.CompProxy, trace.CompNet), f.Sel.Node, ruled)
}

// addressOf is a Service's address with its first port.
func addressOf(o *view.Object) string {
	if svc, ok := o.Value.(*corev1.Service); ok && len(svc.Spec.Ports) > 0 {
		return portOf(svc.Spec.ClusterIP, svc.Spec.Ports[0].Port)
	}
	return ""
}

func portOf(ip string, port int32) string { return fmt.Sprintf("%s:%d", ip, port) }

// Draw implements [pane.Pane].
func (p *Network) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

// of draws a view of the chosen node below the Services.
func (p *Network) of(draw func(s *pane.Sheet, f *pane.Frame, y int, n *view.Node)) func(*pane.Sheet, *pane.Frame) {
	return func(s *pane.Sheet, f *pane.Frame) {
		n := p.chosen(f)
		p.ends = p.ends[:0]
		y := drawServices(s, f, p.drawPath(s, f, 0, n))
		for _, hot := range p.ends { // the cursor begins at the Services
			hot()
		}
		if n == nil {
			s.Say(y, "No node yet. When kube-proxy runs on one, the rules that it writes for each Service appear here.", theme.Muted)
			return
		}
		draw(s, f, y, n)
	}
}

func (p *Network) drawRulesAndPacket(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) {
	switch {
	case s.W() >= 140: // the packets beside the rules
		left := s.W() * 56 / 100
		a, b := s.Halves(left)
		p.drawRules(a, f, y, n)
		end := p.drawFlows(b, f, y, 3)
		drawDiff(b, f, end, n)
		s.Divide(y, left, a, b)
	case f.Instance(trace.CompNet) != "": // a packet is under way: it comes first
		p.drawRules(s, f, p.drawFlow(s, f, y, lastFlow(f.S)), n)
	default:
		p.drawFlow(s, f, p.drawRules(s, f, y, n), lastFlow(f.S))
	}
}

func lastFlow(s *view.State) *view.Flow {
	all := s.Flows()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func drawServices(s *pane.Sheet, f *pane.Frame, y int) int {
	any, wide := false, 0
	for _, o := range f.S.Objects("services", "") {
		wide = max(wide, grid.Width(o.Ref.Key()))
	}
	wide = min(wide, max(s.W()/3, 20))
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
		spans := []grid.Span{{Text: grid.Pad(o.Ref.Key(), wide) + " ", Style: st}, {Text: grid.Pad(svc.Spec.ClusterIP+":"+strings.Join(ports, ","), 18) + " → ", Style: theme.Number}}
		ready, all := podmark.Endpoints(f.S, o)
		spans = append(spans, grid.Span{Text: strings.Repeat("●", min(ready, 8)), Style: theme.Good}, grid.Span{Text: strings.Repeat("○", min(all-ready, 8)), Style: theme.Warn},
			grid.Span{Text: fmt.Sprintf(" %d of %s ready", ready, words.Count(all, "endpoint")), Style: theme.Muted})
		s.Line(y, pane.Subject{
			ID: "svc/" + o.Ref.Key(), Ref: o.Ref, Event: o.Changed, Copy: svc.Spec.ClusterIP,
			Words: fmt.Sprintf("Service %s: %s, port %s, %d of %s ready. Its address exists only in the rules of the nodes.", o.Ref.Key(), svc.Spec.ClusterIP, strings.Join(ports, ", "), ready, words.Count(all, "endpoint")),
		}, spans...)
		y++
	}
	if !any {
		none := "No Services yet. A Service is an address that stands for the ready pods behind it."
		if f.Filter != "" {
			none = "No Service matches /" + f.Filter
		}
		y = s.Say(y, none, theme.Muted)
	}
	return y
}

func drawDiff(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) {
	note := "kube-proxy has not synced yet"
	if n.Sync != nil {
		how := "partial"
		if n.Sync.Full {
			how = "full"
		}
		note = fmt.Sprintf("#%s %s sync: +%d -%d, %s, %s", n.Synced, how, n.Sync.Added, n.Sync.Removed, words.Count(n.Sync.Services, "service"), words.Count(n.Sync.Endpoints, "endpoint"))
	}
	y = s.Heading(y, "last change on "+n.Name, note)
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
