// Package nodes is pane 7: one node from the inside. What its kubelet has
// reported, the pods it works on, and for one pod every step of bringing it up
// or down: volumes, sandbox, network, images, containers, probes, back-offs.
package nodes

import (
	"fmt"
	"sort"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Nodes is the pane.
type Nodes struct {
	node string // "" follows
}

// New makes the pane.
func New() *Nodes { return &Nodes{} }

const (
	keyNext   = "node.next"
	keyFollow = "node.follow"
)

// Info implements [pane.Pane].
func (*Nodes) Info() pane.Info {
	return pane.Info{
		Number: 7, Name: "node", Title: "Node",
		Means: "One node from the inside. The kubelet has a worker for every pod; it mounts volumes, asks the runtime (CRI) for a " +
			"sandbox, which asks the network plugin (CNI) for an address, then pulls images and starts containers, and probes " +
			"them. Below the runtime everything is simulated: there are no real containers.",
		Legend: [][2]string{{"●", "container running"}, {"◐", "waiting or starting"}, {"✗", "ended with an error"}, {"✓", "ended well; probe succeeds"}},
		Keys: []keymap.Binding{
			keymap.Bind(keyNext, "other node", "The next node.", "o"),
			keymap.Bind(keyFollow, "follow", "Follow the node of what is selected or happens.", "x"),
		},
	}
}

// Note implements [pane.Pane].
func (p *Nodes) Note(f *pane.Frame) string {
	n := p.chosen(f)
	if n == nil {
		return ""
	}
	return n.Name + ", " + words.Count(len(n.Pods()), "pod")
}

// Do implements [pane.Pane].
func (p *Nodes) Do(action string, on pane.Subject, f *pane.Frame) pane.Ask {
	switch action {
	case keyNext:
		all := f.S.Nodes()
		now := p.chosen(f)
		for i, n := range all {
			if n == now {
				p.node = all[(i+1)%len(all)].Name
				break
			}
		}
		return pane.Redraw{}
	case keyFollow:
		p.node = ""
		return pane.Redraw{}
	case keymap.Open:
		if on.Ref.Name != "" {
			return pane.Show{Ref: on.Ref}
		}
		if !on.Event.IsZero() {
			return pane.Goto{ID: on.Event}
		}
	}
	return nil
}

// chosen is the node shown: the chosen one, that of what is selected
// elsewhere, that of the present event, or the first.
func (p *Nodes) chosen(f *pane.Frame) *view.Node {
	if n := f.S.Node(p.node); n != nil {
		return n
	}
	if n := f.S.Node(f.Sel.Node); n != nil {
		return n
	}
	if e := f.Event(); e != nil && e.Lane.Instance != "" {
		if n := f.S.Node(e.Lane.Instance); n != nil {
			return n
		}
	}
	if all := f.S.Nodes(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Draw implements [pane.Pane].
func (p *Nodes) Draw(s *pane.Sheet, f *pane.Frame) {
	n := p.chosen(f)
	if n == nil {
		s.Row(0).Text(0, 0, "no node has reported yet", theme.Muted)
		return
	}
	y := drawNode(s, f, n)
	pods := n.Pods()
	if len(pods) == 0 {
		s.Row(y).Text(0, 0, "no pods", theme.Muted)
		return
	}
	chosen := p.pod(f, pods)
	wide := s.W() >= 96
	listW := s.W()
	if wide {
		listW = s.W() * 42 / 100
	}
	from := y
	for _, pod := range pods {
		if !f.Match(pod.Pod, pod.Work) {
			continue
		}
		drawPod(s, f, y, listW, pod, pod == chosen)
		y++
	}
	if chosen == nil {
		return
	}
	if wide {
		drawSteps(s, f, from, listW+2, chosen)
		for i := from; i < s.Len(); i++ {
			s.Row(i).Put(listW, 0, '│', theme.Line)
		}
		return
	}
	drawSteps(s, f, y, 0, chosen)
}

func drawNode(s *pane.Sheet, f *pane.Frame, n *view.Node) int {
	glyph, st, word := "●", theme.Good, "Ready"
	switch n.Ready {
	case "False":
		glyph, st, word = "✗", theme.Bad, "not Ready"
	case "Unknown":
		glyph, st, word = "?", theme.Warn, "Ready unknown"
	case "":
		glyph, st, word = "?", theme.Muted, "no report yet"
	}
	if f.Fresh(n.Reported) {
		st |= grid.Fresh
	}
	on := pane.Subject{
		ID: "node/" + n.Name, Node: n.Name, Ref: trace.Ref{APIVersion: "v1", Kind: "Node", Name: n.Name}, Target: "node/" + n.Name,
		Event: n.Reported, Kind: trace.NodeStatus, Words: fmt.Sprintf("Node %s: %s, says the %s. %s", n.Name, word, n.ReadyBy, n.Note),
	}
	y := 0
	x := s.Line(y, on, grid.Span{Text: n.Name + " ", Style: theme.Name | grid.Bold}, grid.Span{Text: glyph + " " + word, Style: st})
	if n.ReadyBy != "" {
		s.Row(y).Fit(x+1, 0, s.W()-x-1, "says the "+n.ReadyBy+", "+words.Dur(f.S.At-n.ReportedAt)+" ago", theme.Muted)
	}
	y++
	names := make([]string, 0, len(n.Conditions))
	for c := range n.Conditions {
		if c != "Ready" {
			names = append(names, c)
		}
	}
	sort.Strings(names)
	if len(names) > 0 {
		a := s.Row(y)
		x := 0
		for _, c := range names {
			mark, st := "✓ ", theme.Muted
			if n.Conditions[c] != "False" {
				mark, st = "! ", theme.Warn
			}
			if x+len(c)+2 > s.W() {
				y++
				a, x = s.Row(y), 0
			}
			x = a.Text(x, 0, mark+c, st) + 2
		}
		y++
	}
	for _, t := range n.Taints {
		s.Row(y).Text(0, 0, "taint "+t, theme.Warn)
		y++
	}
	if n.Note != "" {
		y += s.Rows(y, len(grid.Lines(n.Note, s.W()))).Wrap(0, 0, s.W(), 3, n.Note, theme.Warn)
	}
	s.Row(y).HLine(0, 0, s.W(), theme.Line)
	return y + 1
}

// pod is the pod told in detail: under the cursor, selected elsewhere, that of
// the present event, or the one that changed last.
func (p *Nodes) pod(f *pane.Frame, pods []*view.NodePod) *view.NodePod {
	want := f.Sel.Pod
	if f.Focused {
		want = strings.TrimPrefix(f.Cursor, "pod/")
		if i := strings.Index(want, "#"); i >= 0 {
			want = want[:i]
		}
	}
	var newest *view.NodePod
	for _, q := range pods {
		if q.Pod == want {
			return q
		}
		if newest == nil || q.Event.Compare(newest.Event) > 0 {
			newest = q
		}
	}
	return newest
}

func drawPod(s *pane.Sheet, f *pane.Frame, y, w int, p *view.NodePod, chosen bool) {
	a := s.Row(y).Sub(0, 0, w, 1)
	if chosen {
		a.Put(0, 0, '▸', theme.Accent)
	}
	st := theme.Text
	if f.Fresh(p.Event) {
		st |= grid.Fresh
	}
	word, wst := p.Work, theme.Muted
	switch {
	case p.Admitted == "refused":
		word, wst = "refused: "+p.Reason, theme.Bad
	case p.Work == "terminating":
		wst = theme.Warn
	}
	right := w - grid.Width(word) - 1
	cells := ""
	var marks []grid.Span
	for _, c := range p.Containers() {
		g, gst := containerMark(c.ContainerState)
		marks = append(marks, grid.Span{Text: string(g), Style: gst})
		cells += string(g)
	}
	right -= len(marks) + 1
	a.Fit(1, 0, max(right-2, 4), p.Pod, st)
	x := a.Spans(max(right, 0), 0, marks...)
	a.Text(x+1, 0, word, wst)
	s.Hot(0, y, w, pane.Subject{
		ID: "pod/" + p.Pod, Pod: p.Pod, Node: p.Node, Ref: podRef(p.Pod), Target: "pod/" + p.Pod, Event: p.Event, Kind: trace.PodWorker,
		Words: podWords(p),
	})
}

func podRef(key string) trace.Ref {
	ns, name, _ := strings.Cut(key, "/")
	return trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: name}
}

func podWords(p *view.NodePod) string {
	w := "Pod " + p.Pod + ": its worker is in " + p.Work
	if p.Address != "" {
		w += ", address " + p.Address
	}
	for _, c := range p.Containers() {
		w += ", " + c.Container + " " + c.State
		if c.Reason != "" {
			w += " (" + c.Reason + ")"
		}
	}
	return w + "."
}

func containerMark(c *trace.ContainerState) (rune, grid.Style) {
	switch c.State {
	case "running":
		return '●', theme.Good
	case "terminated":
		if c.ExitCode == 0 {
			return '✓', theme.Muted
		}
		return '✗', theme.Bad
	}
	if strings.Contains(c.Reason, "BackOff") || strings.Contains(c.Reason, "Err") {
		return '✗', theme.Bad
	}
	return '◐', theme.Busy
}

// drawSteps draws one pod's containers, probes and steps from column x on.
func drawSteps(s *pane.Sheet, f *pane.Frame, y, x0 int, p *view.NodePod) {
	w := s.W() - x0
	row := func() grid.Area { return s.Row(y).Sub(x0, 0, w, 1) }
	a := row()
	x := a.Text(0, 0, p.Pod+" ", theme.Title)
	x = a.Text(x, 0, p.Address+" ", theme.Number)
	a.HLine(x, 0, w-x, theme.Line)
	y++
	for _, c := range p.Containers() {
		g, st := containerMark(c.ContainerState)
		if f.Fresh(c.Event) {
			st |= grid.Fresh
		}
		text := c.State
		if c.Reason != "" {
			text += " " + c.Reason
		}
		if c.Restarts > 0 {
			text += fmt.Sprintf(", %s", words.Count(int(c.Restarts), "restart"))
		}
		name := c.Container
		if c.Init {
			name += " (init)"
		}
		a := row()
		a.Put(0, 0, g, st)
		x := a.Text(2, 0, name+" ", theme.Name)
		a.Fit(x, 0, w-x, text, st&0xff)
		s.Hot(x0, y, w, pane.Subject{
			ID: "pod/" + p.Pod + "#c/" + c.Container, Pod: p.Pod, Node: p.Node, Event: c.Event, Target: "pod/" + p.Pod, Kind: trace.ContainerChange,
			Words: fmt.Sprintf("Container %s: %s since %s.", name, text, words.Clock(c.Since)),
		})
		y++
	}
	for _, pr := range p.Probes() {
		mark, st, text := "✓", theme.Good, "succeeds"
		if !pr.OK {
			mark, st = "✗", theme.Bad
			text = fmt.Sprintf("fails %d/%d: %s", pr.Failures, pr.Threshold, pr.Output)
		}
		if f.Fresh(pr.Event) {
			st |= grid.Fresh
		}
		a := row()
		a.Text(0, 0, mark+" "+pr.Probe.Probe+" ", st)
		a.Fit(14, 0, w-14, pr.Container+": "+text, theme.Muted)
		s.Hot(x0, y, w, pane.Subject{
			ID: "pod/" + p.Pod + "#p/" + pr.Container + pr.Probe.Probe, Pod: p.Pod, Node: p.Node, Event: pr.Event, Kind: trace.ProbeResult,
			Words: fmt.Sprintf("The %s probe of %s %s", pr.Probe.Probe, pr.Container, text),
		})
		y++
	}
	steps := p.Steps()
	for i := len(steps) - 1; i >= 0; i-- {
		drawStep(s, f, y, x0, w, p, steps[i])
		y++
	}
}

func drawStep(s *pane.Sheet, f *pane.Frame, y, x0, w int, p *view.NodePod, t view.Step) {
	a := s.Row(y).Sub(x0, 0, w, 1)
	st := theme.Text
	if f.Fresh(t.Event) {
		st |= grid.Fresh
	}
	x := a.Text(0, 0, grid.PadLeft("#"+t.Event.String(), 6)+" ", theme.Event)
	who := "klt"
	switch t.Kind {
	case trace.CRICall:
		who = "CRI"
	case trace.CNICall:
		who = "CNI"
	case trace.ProbeResult:
		who = "prb"
	}
	x = a.Text(x, 0, who+" ", theme.Muted)
	if t.Error != "" {
		st = theme.Bad
	}
	x = a.Text(x, 0, t.What, st)
	if t.Container != "" {
		x = a.Text(x, 0, " "+t.Container, theme.Name)
	}
	took := ""
	if t.Took > 0 {
		took = words.Dur(t.Took)
	}
	rest := t.Detail
	if t.Error != "" {
		rest = t.Error
	}
	a.Fit(x+1, 0, w-x-2-len(took), rest, theme.Muted)
	a.Right(w, 0, took, theme.Number)
	s.Hot(x0, y, w, pane.Subject{
		ID: "pod/" + p.Pod + "#" + t.Event.String(), Pod: p.Pod, Node: p.Node, Event: t.Event, Kind: t.Kind,
		Words: strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", t.What, t.Container, t.Detail, t.Error, took)),
	})
}
