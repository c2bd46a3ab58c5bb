package nodes

import (
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/belief"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawNode draws what is known of the node itself: whether it is ready and who
// says so, its processes and Lease, what its pods have requested, its
// conditions and taints.
func drawNode(s *pane.Sheet, f *pane.Frame, n *view.Node) int {
	glyph, st, word := "●", theme.Good, "Ready"
	switch n.Ready {
	case "False":
		glyph, st, word = "✗", theme.Bad, "not Ready"
	case "Unknown":
		glyph, st, word = "?", theme.Warn, "Ready unknown: its kubelet is silent"
	case "":
		glyph, st, word = "?", theme.Muted, "no report yet"
	}
	if node := object(f, n.Name); node != nil && node.Spec.Unschedulable {
		word += ",SchedulingDisabled" // as kubectl get nodes says it
	}
	if f.Fresh(n.Reported) {
		st |= grid.Fresh
	}
	on := pane.OnNode(n.Name)
	on.Event, on.Kind, on.Words = n.Reported, trace.NodeStatus, fmt.Sprintf("Node %s: %s, says the %s. %s", n.Name, word, n.ReadyBy, n.Note)
	x := s.Line(0, on, grid.Span{Text: n.Name + " ", Style: theme.Name | grid.Bold}, grid.Span{Text: glyph + " " + word, Style: st})
	if n.ReadyBy != "" {
		s.Row(0).Fit(x+2, 0, s.W()-x-2, "reported last by the "+n.ReadyBy+", "+words.Dur(f.S.At-n.ReportedAt)+" ago", theme.Muted)
	}
	y := belief.OfNode(f.S, n.Name).Draw(s, 1)
	y = drawProcesses(s, f, y, n)
	y = drawRequested(s, f, y, n)
	y = drawConditions(s, y, n)
	for _, t := range n.Taints {
		s.Row(y).Text(0, 0, "! taint "+t, theme.Warn)
		y++
	}
	if n.Note != "" && n.Ready != "True" {
		y = s.Say(y, n.Note, theme.Warn)
	}
	y = drawVolumes(s, f, y, n)
	return s.Heading(y, "pods", "a worker of the kubelet for each")
}

// drawProcesses draws the node's processes and when its Lease was renewed: a
// node whose Lease grows old is taken for dead.
func drawProcesses(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) int {
	a := s.Row(y)
	x := 0
	for _, name := range []string{"kubelet", "proxy", "runtime"} {
		p := f.S.Process(name + "/" + n.Name)
		if p == nil {
			continue
		}
		mark, st, say := "● ", theme.Good, name+" on "+n.Name+" is running."
		if !p.Up {
			mark, st, say = "✗ ", theme.Bad, name+" on "+n.Name+" is down. "+p.Reason
		}
		if f.Fresh(p.Event) {
			st |= grid.Fresh
		}
		end := a.Spans(x, 0, grid.Span{Text: mark, Style: st}, grid.Span{Text: name, Style: st})
		s.Hot(x, y, end-x, pane.Subject{ID: "process/" + p.Name, Target: p.Name, Node: n.Name, Event: p.Event, Words: say, Copy: p.Name})
		x = end + 2
	}
	if o := f.S.Object("leases", "kube-node-lease", n.Name); o != nil {
		age := f.S.At - o.At
		st, text := theme.Muted, "Lease renewed "+words.Dur(age)+" ago"
		if age.Seconds() > 40 { // node-monitor-grace-period
			st, text = theme.Bad, "✗ "+text
		}
		x = a.Text(x, 0, text, st) + 2
	}
	if node := object(f, n.Name); node != nil && s.W()-x > 20 {
		text := ""
		for _, at := range node.Status.Addresses {
			if at.Type == corev1.NodeInternalIP {
				text = "address " + at.Address
			}
		}
		if node.Spec.PodCIDR != "" {
			text += "  pods " + node.Spec.PodCIDR
		}
		a.Fit(x, 0, s.W()-x, strings.TrimSpace(text), theme.Muted)
	}
	return y + 1
}

func object(f *pane.Frame, name string) *corev1.Node {
	if o := f.S.Object("nodes", "", name); o != nil {
		node, _ := o.Value.(*corev1.Node)
		return node
	}
	return nil
}

// drawRequested draws how much of the node its pods have asked for: what the
// scheduler counts, not what they use.
func drawRequested(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) int {
	node := object(f, n.Name)
	if node == nil {
		return y
	}
	cpu, mem, pods := 0.0, 0.0, 0
	f.S.EachObject("pods", "", func(o *view.Object) bool {
		p, ok := o.Value.(*corev1.Pod)
		if !ok || p.Spec.NodeName != n.Name || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return true
		}
		pods++
		for _, c := range p.Spec.Containers {
			cpu += c.Resources.Requests.Cpu().AsApproximateFloat64()
			mem += c.Resources.Requests.Memory().AsApproximateFloat64()
		}
		return true
	})
	have := node.Status.Allocatable
	w := 10
	if s.W() < 70 {
		w = 5
	}
	a := s.Row(y)
	x := 0
	bar := func(name string, part, whole float64, text string) {
		if whole == 0 || x+len(name)+w+grid.Width(text)+2 > s.W() {
			return
		}
		x = a.Text(x, 0, name+" ", theme.Muted)
		a.Bar(x, 0, w, part, whole, theme.Term0, theme.Line)
		x = a.Text(x+w+1, 0, text, theme.Number) + 2
	}
	all := have.Cpu().AsApproximateFloat64()
	bar("cpu", cpu, all, words.Cores(cpu)+"/"+words.Cores(all))
	all = have.Memory().AsApproximateFloat64()
	bar("mem", mem, all, words.Memory(mem)+"/"+words.Memory(all))
	all = have.Pods().AsApproximateFloat64()
	bar("pods", float64(pods), all, fmt.Sprintf("%d/%.0f", pods, all))
	if s.W()-x > 20 {
		a.Text(x, 0, "requested/allocatable", theme.Muted)
	}
	return y + 1
}

// drawConditions draws the conditions besides Ready: good ones are absent.
func drawConditions(s *pane.Sheet, y int, n *view.Node) int {
	names := make([]string, 0, len(n.Conditions))
	for c := range n.Conditions {
		if c != "Ready" {
			names = append(names, c)
		}
	}
	sort.Strings(names)
	x := 0
	for _, c := range names {
		text, st := "no "+c, theme.Muted
		if n.Conditions[c] != "False" {
			text, st = "! "+c+" "+n.Conditions[c], theme.Warn
		}
		if x > 0 && x+grid.Width(text) > s.W() {
			y, x = y+1, 0
		}
		x = s.Row(y).Text(x, 0, text, st) + 2
	}
	if len(names) > 0 {
		y++
	}
	return y
}
