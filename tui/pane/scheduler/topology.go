package scheduler

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawDomains is the view of the constraints of the shown cycle: for each a picture of its domains
// with the pods that count.
func (p *Scheduler) drawDomains(s *pane.Sheet, f *pane.Frame) {
	c := p.cycle(f)
	if c == nil || c.Decision == nil || len(c.Decision.Topology) == 0 {
		y := 0
		if c != nil {
			y = drawHead(s, f, y, c)
		}
		s.Say(y, "Nothing spreads this pod, and neither it nor a pod that is there has affinity or anti-affinity to the other. Where a pod has topologySpreadConstraints "+
			"or affinity to other pods, the domains and the pods that count are drawn here.", theme.Muted)
		return
	}
	y := drawHead(s, f, 0, c)
	for i := range c.Decision.Topology {
		t := &c.Decision.Topology[i]
		note := ""
		if t.What == trace.TopologySpread && t.Hard {
			note = "the fewest pods in a domain: " + fmt.Sprint(t.Min)
		}
		y = s.Heading(y, t.What, note)
		for _, l := range grid.Lines(view.TopologyTitle(t), s.W()) {
			s.Row(y).Text(0, 0, l, theme.Text)
			y++
		}
		y = drawDomainsOf(s, f, y, c, i, t)
	}
	if n := c.Decision.Unlisted; n > 0 {
		s.Say(y, fmt.Sprintf("… and %d more constraints.", n), theme.Muted)
	}
}

// drawDomainsOf draws a row for each domain: a square for each pod, and what the constraint says.
func drawDomainsOf(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle, at int, t *trace.TopologyConstraint) int {
	if len(t.Domains) == 0 {
		return s.Say(y, view.TopologySummary(t), theme.Muted)
	}
	const most = 12 // squares
	name, bar, verdict := 4, 1, 4
	for i := range t.Domains {
		d := &t.Domains[i]
		name, bar = max(name, min(len(d.Value), 20)), max(bar, min(d.Count, most))
		verdict = max(verdict, len(view.DomainVerdict(t, d)))
	}
	for i := range t.Domains {
		d := &t.Domains[i]
		if !f.Match(append([]string{d.Value}, d.Pods...)...) {
			continue
		}
		mark, st := " ", theme.Good
		switch {
		case d.Refused:
			mark, st = "✗", theme.Bad
		case t.Hard:
			mark = "✓"
		default:
			st = theme.Number
		}
		a := s.Row(y)
		a.Fit(0, 0, name, d.Value, theme.Name)
		x := name + 1
		a.Text(x, 0, strings.Repeat("■", min(d.Count, most)), st)
		x += bar + 1
		x = a.Text(x, 0, grid.PadLeft(fmt.Sprint(d.Count), 3)+" ", theme.Number)
		x = a.Text(x, 0, mark+" "+grid.Pad(view.DomainVerdict(t, d), verdict), st)
		if d.Chosen {
			x = a.Text(x, 0, " ◀ chosen", theme.Good|grid.Bold)
		}
		if room := s.W() - x - 2; room > 8 {
			a.Fit(x+2, 0, room, pods(d), theme.Muted)
		}
		s.Hot(0, y, min(x, s.W()), pane.Subject{
			ID: fmt.Sprintf("domain/%d/%s", at, d.Value), Event: c.Decided, Pod: c.Pod, Kind: trace.SchedDecision,
			Words: view.TopologyTitle(t) + ": " + view.DomainWords(t, d) + ".",
		})
		y++
	}
	if t.More > 0 {
		y = s.Say(y, fmt.Sprintf("… and %d more domains, which have neither the fewest pods nor the most", t.More), theme.Muted)
	}
	return y
}

// pods are those of a domain without their namespace.
func pods(d *trace.TopologyDomain) string {
	var names []string
	for _, key := range d.Pods {
		names = append(names, key[strings.LastIndexByte(key, '/')+1:])
	}
	text := strings.Join(names, " ")
	if more := d.Count - len(d.Pods); more > 0 && text != "" {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// drawTopology draws, below the outcome of a cycle, what of the pod's own constraints rejects or allows
// in a line each; the view domains has the whole.
func drawTopology(s *pane.Sheet, y int, c *view.Cycle) int {
	if c.Decision == nil {
		return y
	}
	for i := range c.Decision.Topology {
		t := &c.Decision.Topology[i]
		if !t.Hard || len(t.Domains) == 0 {
			continue
		}
		key := t.Key[strings.LastIndexByte(t.Key, '/')+1:]
		x := s.Row(y).Text(0, 0, grid.Pad(short[t.What], 6)+" ", theme.Muted)
		x = s.Row(y).Text(x, 0, key+" ", theme.Text)
		for j := range t.Domains {
			d := &t.Domains[j]
			text, st := fmt.Sprintf("✓%s %d", d.Value, d.Count), theme.Good
			if d.Refused {
				text, st = fmt.Sprintf("✗%s %d", d.Value, d.Count), theme.Bad
			}
			if x+grid.Width(text)+2 > s.W() {
				s.Row(y).Text(x, 0, "…", theme.Muted)
				break
			}
			end := s.Row(y).Text(x, 0, text, st)
			s.Hot(x, y, end-x, pane.Subject{ID: fmt.Sprintf("domain/%d/%s", i, d.Value), Event: c.Decided, Pod: c.Pod, Kind: trace.SchedDecision, Words: view.DomainWords(t, d) + "."})
			x = end + 2
		}
		if t.What == trace.TopologySpread {
			s.Row(y).Fit(x, 0, max(s.W()-x, 0), fmt.Sprintf("maxSkew %d", t.MaxSkew), theme.Muted)
		}
		y++
	}
	return y
}

var short = map[string]string{
	trace.TopologySpread: "spread", trace.TopologyNear: "near", trace.TopologyAway: "away", trace.TopologyKeptAway: "kept", trace.TopologyOthers: "others",
}
