package network

import (
	"fmt"
	"sort"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawRules draws a node's chains as a tree of decisions, from the chains that
// nothing jumps to.
func (p *Network) drawRules(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) int {
	if n.RuleCount == 0 {
		return s.Say(y, "No rules on "+n.Name+" yet: kube-proxy writes them when it has synced.", theme.Muted)
	}
	d := &drawing{met: metRules(f.S), open: map[string]bool{}, found: map[string]bool{}}
	tables := n.Tables()
	sort.SliceStable(tables, func(i, j int) bool { return tables[i] == "nat" && tables[j] != "nat" }) // Services are there
	for _, table := range tables {
		chains := n.Chains(table)
		y = s.Heading(y, "table "+table+" on "+n.Name, words.Count(len(chains), "chain"))
		for _, c := range p.roots(chains) {
			if !d.leads(p, f, n, table, c) {
				continue
			}
			s.Row(y).Text(0, 0, c.Name, theme.Name|grid.Bold)
			s.Hot(0, y, s.W(), pane.Subject{ID: "chain/" + table + "/" + c.Name, Node: n.Name, Event: c.Rules()[0].Event, Words: "Chain " + c.Name + " of table " + table + "."})
			y = p.chain(s, f, y+1, n, table, c, 1, d)
		}
	}
	return y
}

// drawing is what one drawing of the rules keeps in mind.
type drawing struct {
	met  map[string]string // how the last packet fared at each rule, by its text
	open map[string]bool   // chains that are drawn open already

	found map[string]bool // chains known to lead to a rule that the filter wants, or not
}

// leads reports whether a chain holds, or leads to, a rule that the filter
// wants: what is on the way to a match is shown with it.
func (d *drawing) leads(p *Network, f *pane.Frame, n *view.Node, table string, c *view.Chain) bool {
	if f.Filter == "" {
		return true
	}
	key := table + c.Name
	if yes, known := d.found[key]; known {
		return yes
	}
	d.found[key] = false // a chain that leads back to itself
	for _, r := range c.Rules() {
		if d.wants(p, f, n, table, r) {
			d.found[key] = true
			return true
		}
	}
	return false
}

// wants reports whether a rule matches the filter or jumps to one that does.
func (d *drawing) wants(p *Network, f *pane.Frame, n *view.Node, table string, r view.Rule) bool {
	if f.Match(r.Text, r.Service) {
		return true
	}
	to := p.brief(r.Text).chain
	if to == "" {
		return false
	}
	next := n.Chain(table, to)
	return next != nil && d.leads(p, f, n, table, next)
}

// hooks are the kernel's own chains, as a packet meets them.
var hooks = []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// roots are the chains a packet enters by: the kernel's own, or where there
// are none, those that nothing jumps to.
func (p *Network) roots(chains []*view.Chain) []*view.Chain {
	var out []*view.Chain
	for _, h := range hooks {
		for _, c := range chains {
			if c.Name == h && len(c.Rules()) > 0 {
				out = append(out, c)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	target := map[string]bool{}
	for _, c := range chains {
		for _, r := range c.Rules() {
			target[p.brief(r.Text).chain] = true
		}
	}
	for _, c := range chains {
		if !target[c.Name] && len(c.Rules()) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// brief is [Brief] remembered.
func (p *Network) brief(rule string) parsed {
	b, ok := p.parsed[rule]
	if !ok {
		if len(p.parsed) > 20_000 {
			clear(p.parsed)
		}
		b.cond, b.to = Brief(rule)
		b.chain, _, _ = strings.Cut(b.to, " ")
		p.parsed[rule] = b
	}
	return b
}

// parsed is a rule as a condition and what follows.
type parsed struct{ cond, to, chain string }

// metRules says how the last packet fared at each rule, by its text.
func metRules(s *view.State) map[string]string {
	met := map[string]string{}
	if fl := lastFlow(s); fl != nil {
		for _, h := range fl.Hops() {
			if h.Rule != "" {
				met[strings.TrimSpace(h.Rule)] = h.Verdict
			}
		}
	}
	return met
}

// folded is how many rules of a chain are shown before the rest is folded.
const folded = 12

func (p *Network) chain(s *pane.Sheet, f *pane.Frame, y int, n *view.Node, table string, c *view.Chain, depth int, d *drawing) int {
	d.open[table+c.Name] = true
	rules := c.Rules()
	for i, r := range rules {
		if !d.wants(p, f, n, table, r) {
			continue
		}
		if i >= folded && !p.whole[c.Name] && f.Filter == "" {
			s.Line(y, pane.Subject{ID: "more/" + table + "/" + c.Name, Value: c.Name, Words: "Enter shows the rest of " + c.Name + "."},
				grid.Span{Text: strings.Repeat("  ", depth) + fmt.Sprintf("… %d more rules (enter shows them)", len(rules)-i), Style: theme.Muted})
			return y + 1
		}
		p.drawRule(s, f, y, n, table, c, i, r, depth, d.met)
		y++
		if to := p.brief(r.Text).chain; to != "" && depth < 6 && !d.open[table+to] {
			if next := n.Chain(table, to); next != nil && len(next.Rules()) > 0 {
				if verdict, ok := d.met[strings.TrimSpace(r.Text)]; !ok || verdict != "no match" || p.whole[to] {
					y = p.chain(s, f, y, n, table, next, depth+1, d)
				}
			}
		}
		if y > 1000 {
			s.Row(y).Text(0, 0, "… more; a filter narrows them (/)", theme.Muted)
			return y + 1
		}
	}
	return y
}

func (p *Network) drawRule(s *pane.Sheet, f *pane.Frame, y int, n *view.Node, table string, c *view.Chain, i int, r view.Rule, depth int, met map[string]string) {
	mark, st := "  ", theme.Text
	switch verdict, ok := met[strings.TrimSpace(r.Text)]; {
	case ok && verdict == "no match":
		mark, st = "✗ ", theme.Muted
	case ok:
		mark, st = "▸ ", theme.Accent
	case len(met) > 0:
		st = theme.Muted
	}
	if f.Fresh(r.Event) {
		mark, st = "+ ", theme.Added|grid.Fresh
	}
	b := p.brief(r.Text)
	cond, to := b.cond, b.to
	a := s.Row(y)
	x := a.Fit(depth*2-1, 0, s.W()-depth*2+1, mark+cond, st)
	if to != "" {
		x = a.Text(x, 0, " → ", theme.Muted)
		tst := theme.Name
		switch {
		case strings.HasPrefix(to, "DNAT"):
			tst = theme.Number | grid.Bold
		case to == "DROP" || to == "REJECT":
			tst = theme.Bad
		}
		x = a.Fit(x, 0, s.W()-x, to, tst)
	}
	if r.Service != "" && x+grid.Width(r.Service)+2 < s.W() {
		a.Text(max(x+2, min(s.W()-grid.Width(r.Service), 72)), 0, r.Service, theme.Muted)
	}
	s.Hot(0, y, s.W(), pane.Subject{
		ID: fmt.Sprintf("rule/%s/%s/%d/%d", table, c.Name, i, depth), Event: r.Event, Node: n.Name, Kind: trace.RuleChange, Copy: r.Text,
		Words: r.Text + "   (w: why is it there?)",
	})
}

// Brief writes a rule as iptables-save prints it as a condition and what
// follows: "dst 10.96.0.10:80 tcp" and "KUBE-SVC-X".
func Brief(rule string) (cond, to string) {
	f := fieldsQuoted(rule)
	var parts []string
	dst, port, target := "", "", ""
	not := ""
	for i := 0; i < len(f); i++ {
		arg := ""
		if i+1 < len(f) {
			arg = f[i+1]
		}
		switch f[i] {
		case "!":
			not = "not "
			continue
		case "-A", "-m", "--comment", "--mode":
			i++
		case "-d":
			dst = not + "dst " + strings.TrimSuffix(arg, "/32")
			i++
		case "-s":
			parts = append(parts, not+"src "+strings.TrimSuffix(arg, "/32"))
			i++
		case "-p":
			parts = append(parts, not+arg)
			i++
		case "--dport":
			port = ":" + arg
			i++
		case "--probability":
			parts = append(parts, "p="+trimZeros(arg))
			i++
		case "-j", "-g":
			to = arg
			i++
		case "--to-destination":
			target = " " + arg
			i++
		case "--ctstate", "--dst-type", "--mark", "--name":
			parts = append(parts, not+strings.TrimPrefix(f[i], "--")+" "+arg)
			i++
		default:
			if strings.HasPrefix(f[i], "--") && arg != "" && !strings.HasPrefix(arg, "-") {
				target += " " + arg
				i++
			} else if strings.HasPrefix(f[i], "-") && arg != "" && !strings.HasPrefix(arg, "-") {
				parts = append(parts, not+strings.TrimPrefix(f[i], "-")+" "+arg)
				i++
			}
		}
		not = ""
	}
	if dst == "" && port != "" {
		dst = "port "
		port = strings.TrimPrefix(port, ":")
	}
	cond = strings.TrimSpace(dst + port + " " + strings.Join(parts, " "))
	if cond == "" {
		cond = "always"
	}
	return cond, to + target
}

func trimZeros(p string) string {
	if len(p) > 6 {
		p = p[:6]
	}
	return strings.TrimRight(p, "0")
}

// fieldsQuoted splits at blanks, but not within double quotes.
func fieldsQuoted(s string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			if b.Len() > 0 {
				out = append(out, b.String())
				b.Reset()
			}
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// drawFlow draws the way of one packet.
func (p *Network) drawFlow(s *pane.Sheet, f *pane.Frame, y int, fl *view.Flow) int {
	if fl == nil {
		return y
	}
	note, st := "under way", theme.Busy
	if fl.End != nil {
		note = fl.End.From + " → " + fl.End.To + ": " + fl.End.Result
		st = theme.Bad
		if fl.End.Result == "answered" {
			st = theme.Good
			note += " by " + fl.End.Pod
		}
	}
	y = s.Heading(y, fmt.Sprintf("packet %d", fl.Number), note)
	for i, h := range fl.Hops() {
		a := s.Row(y)
		hst := theme.Text
		if h.Verdict == "no match" {
			hst = theme.Muted
		}
		if f.Fresh(h.Event) {
			hst |= grid.Fresh
			a.Put(0, 0, '▸', theme.Accent|grid.Bold)
		}
		x := a.Text(1, 0, grid.Pad(h.Node, 7)+" ", theme.Muted)
		x = a.Text(x, 0, h.Where+" ", theme.Name)
		if h.Rule != "" {
			x = a.Text(x, 0, p.brief(h.Rule).cond+" ", hst)
		}
		vst := theme.Accent
		if h.Verdict == "no match" {
			vst = theme.Muted
		} else if h.Verdict == "DROP" || strings.HasPrefix(h.Verdict, "REJECT") {
			vst = theme.Bad
		}
		x = a.Text(x, 0, "⇒ "+h.Verdict+" ", vst)
		a.Fit(x, 0, s.W()-x, h.Why, theme.Muted)
		why := h.RuleAt
		if why.IsZero() {
			why = h.Event
		}
		s.Hot(0, y, s.W(), pane.Subject{
			ID: fmt.Sprintf("hop/%d/%d", fl.Number, i), Event: why, Node: h.Node, Kind: trace.PacketHop,
			Words: fmt.Sprintf("%s on %s: %s %s. %s → %s. %s", h.Where, h.Node, h.Rule, h.Verdict, h.Src, h.Dst, h.Why),
		})
		y++
	}
	if fl.End != nil {
		s.Row(y).Fit(1, 0, s.W()-1, "⇒ "+fl.End.Result+" "+fl.End.Backend+" "+fl.End.Body, st|grid.Bold)
		y++
	}
	return y
}

// drawFlows draws the last packets, newest first.
func (p *Network) drawFlows(s *pane.Sheet, f *pane.Frame, y, most int) int {
	all := f.S.Flows()
	if len(all) == 0 {
		y = s.Heading(y, "packets", "")
		return s.Say(y, "No packet yet. kubectl exec POD -n demo -- curl hello-svc sends one, and its way through the rules appears here.", theme.Muted)
	}
	for i := len(all) - 1; i >= 0 && i >= len(all)-most; i-- {
		y = p.drawFlow(s, f, y, all[i])
	}
	return y
}
