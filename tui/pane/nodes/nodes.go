// Package nodes is the pane of one node from the inside. What its kubelet has
// reported, the pods it works on, and for one pod every step of bringing it up
// or down: volumes, sandbox, network, images, containers, probes, back-offs.
//
// Start reading at [Nodes.Draw].
package nodes

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Nodes is the pane.
type Nodes struct {
	pane.List
	node pane.NodeChoice
}

var about = pane.Info{
	Name: "node", Title: "Node",
	Kinds: []string{"event", "kubelet", "link", "node", "pod", "process", "proxy"},
	Means: "One node from the inside. The kubelet has a worker for every pod; it mounts volumes, asks the runtime (CRI) for a " +
		"sandbox, which asks the network plugin (CNI) for an address, then pulls images and starts containers, and probes " +
		"them. The bars say when each step began and how long it took. Below the runtime everything is simulated: there are " +
		"no real containers.",
	Legend: [][2]string{
		{"●", "container running"},
		{"◐", "waiting or starting"},
		{"✗", "ended with an error"},
		{"✓", "ended well; probe succeeds; of a claim's way: it stands"},
		{"○", "of a claim's way: not yet"},
		{"pvc pv at", "claim, volume and attachment, where there is little room"},
		{"sync", "the worker brings the pod up and keeps it so"},
		{"kubelet", "the kubelet itself"},
		{"CRI", "a call to the container runtime"},
		{"CNI", "a call to the network plugin"},
		{"probe", "a probe's result"},
	},
}

// New makes the pane.
func New() *Nodes {
	p := &Nodes{List: pane.NewList(about)}
	p.Key(keymap.Bind("node.next", "other node", "The next node.", "o"), func(_ pane.Subject, f *pane.Frame) action.Action {
		p.node.Next(p.chosen(f), f)
		return action.Redraw{}
	})
	p.Key(keymap.Bind("node.follow", "follow", "Follow the node of what is selected or happens.", "x"), pane.Then(p.node.Follow))
	return p
}

// Note implements [pane.Pane].
func (p *Nodes) Note(f *pane.Frame) string {
	n := p.chosen(f)
	if n == nil {
		return ""
	}
	return n.Name + ", " + words.Count(len(n.Pods()), "pod")
}

// chosen is the node shown: the chosen one, that of what is selected
// elsewhere, that of the present event, or the first.
func (p *Nodes) chosen(f *pane.Frame) *view.Node { return p.node.Of(f, f.Sel.Node, f.Instance()) }

// Draw implements [pane.Pane].
func (p *Nodes) Draw(s *pane.Sheet, f *pane.Frame) {
	n := p.chosen(f)
	if n == nil {
		s.Say(0, "No node has reported yet. When a kubelet starts and registers its node, what it does appears here.", theme.Muted)
		return
	}
	y := drawNode(s, f, n)
	pods := n.Pods()
	if len(pods) == 0 {
		s.Say(y, "No pods here yet. When the scheduler binds one to this node, its kubelet's steps appear here.", theme.Muted)
		return
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *view.NodePod) bool { return !f.Match(p.Pod, p.Work) })
	chosen := p.pod(f, pods) // of those that the filter lets through
	list, steps := s, s
	left := s.W() * 36 / 100
	if s.W() >= 96 {
		list, steps = s.Halves(left)
	}
	from := y
	for _, pod := range pods {
		drawPod(list, f, y, pod, pod == chosen)
		y++
	}
	if chosen == nil {
		return
	}
	var end int
	if list != s {
		drawSteps(steps, f, from, chosen)
		end = s.Divide(from, left, list, steps)
	} else {
		drawSteps(s, f, y, chosen)
		end = s.Len()
	}
	if room := f.Rows - end; room >= 4 {
		s.KubeEvents(end, room, f, func(e view.KubeEvent) bool { return concerns(n, e) })
	}
}

// concerns reports whether an Event is about the node or one of its pods.
func concerns(n *view.Node, e view.KubeEvent) bool {
	switch e.Regarding.Kind {
	case "Node":
		return e.Regarding.Name == n.Name
	case "Pod":
		return n.Pod(e.Regarding.Key()) != nil
	}
	return false
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

func drawPod(s *pane.Sheet, f *pane.Frame, y int, p *view.NodePod, chosen bool) {
	a, w := s.Row(y), s.W()
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
	word = grid.Cut(word, max(w/2, 8))
	var marks []grid.Span
	for _, c := range p.Containers() {
		g, gst := containerMark(c.ContainerState)
		marks = append(marks, grid.Span{Text: string(g), Style: gst})
	}
	right := max(w-grid.Width(word)-len(marks)-2, 0)
	name := p.Pod
	if room := max(right-2, 4); grid.Width(name) > room { // the end tells pods of a workload apart
		name = grid.CutLeft(name, room)
	}
	a.Text(1, 0, name, st)
	x := a.Spans(right, 0, marks...)
	a.Text(x+1, 0, word, wst)
	on := pane.OnPod(p.Pod)
	on.Node, on.Event, on.Kind, on.Words = p.Node, p.Event, trace.PodWorker, podWords(p)
	s.Hot(0, y, w, on)
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
