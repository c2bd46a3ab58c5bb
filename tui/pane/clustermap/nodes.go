package clustermap

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// cell is a pod on the map.
type cell struct {
	obj    *view.Object
	pod    *corev1.Pod
	letter rune
	mark   podmark.Mark
	owner  string
}

func (m *Map) cells(f *pane.Frame) (byNode map[string][]cell, pending []cell, legend map[rune]string) {
	byNode, legend = map[string][]cell{}, map[rune]string{}
	f.S.EachObject("pods", m.namespace, func(o *view.Object) bool {
		p, ok := o.Value.(*corev1.Pod)
		if !ok {
			return true
		}
		c := cell{obj: o, pod: p, mark: podmark.Of(p), owner: podmark.Workload(f.S, o)}
		if !f.Match(o.Name(), o.Namespace(), c.owner, c.mark.Word, p.Spec.NodeName) {
			return true
		}
		c.letter = podmark.Letter(o.Namespace(), c.owner)
		if have, ok := legend[c.letter]; !ok {
			legend[c.letter] = c.owner
		} else if have != c.owner {
			legend[c.letter] = have + "…"
			if len(have) > 3 && have[len(have)-3:] == "…" {
				legend[c.letter] = have
			}
		}
		if p.Spec.NodeName == "" {
			pending = append(pending, c)
		} else {
			byNode[p.Spec.NodeName] = append(byNode[p.Spec.NodeName], c)
		}
		return true
	})
	return byNode, pending, legend
}

func (m *Map) drawNodes(s *pane.Sheet, f *pane.Frame, y int) {
	byNode, pending, legend := m.cells(f)
	names := nodeNames(f.S)
	if len(names) == 0 {
		s.Row(y+1).Text(0, 0, "no node has joined yet", theme.Muted)
		return
	}
	if len(names) > 24 {
		y = m.drawMany(s, f, y, names, byNode)
	} else if cols := max(1, s.W()/26); y+3*((len(names)+cols-1)/cols)+2 > f.Rows {
		y = m.drawLines(s, f, y, names, byNode)
	} else {
		y = m.drawBoxes(s, f, y, names, byNode)
	}
	if len(pending) > 0 {
		x := s.Row(y).Text(0, 0, "pending ", theme.Muted)
		y = flow(s, f, x, y, s.W(), pending) + 1
	}
	drawLegend(s, y, legend)
}

func (m *Map) drawBoxes(s *pane.Sheet, f *pane.Frame, y int, names []string, byNode map[string][]cell) int {
	cols := max(1, min(len(names), s.W()/26))
	for i := 0; i < len(names); i += cols {
		row := names[i:min(i+cols, len(names))]
		w := s.W() / cols
		h := 3
		for _, n := range row {
			per := max((w-3)/3, 1)
			h = max(h, 2+(len(byNode[n])+per-1)/per)
		}
		for c, n := range row {
			x0 := s.W() * c / cols
			x1 := s.W() * (c + 1) / cols
			m.drawBox(s, f, grid.Rect{X: x0, Y: y, W: x1 - x0, H: h}, n, byNode[n])
		}
		y += h
	}
	return y
}

func (m *Map) drawBox(s *pane.Sheet, f *pane.Frame, r grid.Rect, name string, pods []cell) {
	a := s.Rows(r.Y, r.H).Sub(r.X, 0, r.W, r.H)
	on, glyph, st, word := nodeSubject(f, name)
	line := theme.Line
	if f.Fresh(on.Event) {
		line = theme.Accent
	}
	a.Frame([]grid.Span{{Text: name + " ", Style: theme.Name}, {Text: string(glyph), Style: st}, {Text: word, Style: st}}, line)
	s.Hot(r.X+3, r.Y, grid.Width(name), on)
	var node *corev1.Node
	if o := f.S.Object("nodes", "", name); o != nil {
		node, _ = o.Value.(*corev1.Node)
	}
	if used, all := load(node, pods); all > 0 && r.W > grid.Width(name)+20 {
		w := min(8, r.W-grid.Width(name)-grid.Width(word)-12)
		if w >= 4 {
			a.Put(r.W-w-3, 0, ' ', line)
			a.Bar(r.W-w-2, 0, w, used, all, theme.Term0, theme.Line)
			a.Put(r.W-2, 0, ' ', line)
		}
	}
	flow(s, f, r.X+2, r.Y+1, r.X+r.W-1, pods)
}

// drawLines draws a node a line: for windows too low for boxes.
func (m *Map) drawLines(s *pane.Sheet, f *pane.Frame, y int, names []string, byNode map[string][]cell) int {
	wide := 0
	for _, n := range names {
		wide = max(wide, min(len(n), 14))
	}
	for _, n := range names {
		on, glyph, st, _ := nodeSubject(f, n)
		a := s.Row(y)
		nst := theme.Name
		if f.Fresh(on.Event) {
			nst |= grid.Fresh
		}
		a.Fit(0, 0, wide, n, nst)
		s.Hot(0, y, wide, on)
		a.Put(wide+1, 0, glyph, st)
		x := wide + 3
		if o := f.S.Object("nodes", "", n); o != nil && s.W() > wide+20 {
			if node, ok := o.Value.(*corev1.Node); ok {
				if used, all := load(node, byNode[n]); all > 0 {
					a.Bar(x, 0, 5, used, all, theme.Term0, theme.Line)
					x += 6
				}
			}
		}
		y = flow(s, f, x, y, s.W(), byNode[n]) + 1
	}
	return y
}

// flow draws cells one after another from x, y on, in rows that end before
// column end, and gives the last row.
func flow(s *pane.Sheet, f *pane.Frame, x, y, end int, pods []cell) int {
	from := x
	for _, c := range pods {
		if x+2 > end {
			x, y = from, y+1
		}
		st := c.mark.Style
		if f.Fresh(c.obj.Changed) {
			st |= grid.Fresh | grid.Bold
		}
		a := s.Row(y)
		a.Put(x, 0, c.letter, st)
		a.Put(x+1, 0, c.mark.Glyph, st)
		s.Hot(x, y, 2, podSubject(c))
		x += 3
	}
	return y
}

func podSubject(c cell) pane.Subject {
	where := "no node yet"
	if c.pod.Spec.NodeName != "" {
		where = "on " + c.pod.Spec.NodeName
	}
	w := fmt.Sprintf("Pod %s of %s: %s, %s", c.obj.Ref.Key(), c.owner, c.mark.Word, where)
	if c.pod.Status.PodIP != "" {
		w += ", address " + c.pod.Status.PodIP
	}
	return pane.Subject{
		ID: "pod/" + c.obj.Ref.Key(), Ref: c.obj.Ref, Event: c.obj.Changed, Target: "pod/" + c.obj.Ref.Key(),
		Node: c.pod.Spec.NodeName, Pod: c.obj.Ref.Key(), Words: w + ".", Copy: c.obj.Ref.Key(),
	}
}

func nodeSubject(f *pane.Frame, name string) (on pane.Subject, glyph rune, st grid.Style, word string) {
	on = pane.Subject{
		ID: "node/" + name, Ref: trace.Ref{APIVersion: "v1", Kind: "Node", Name: name}, Target: "node/" + name,
		Node: name, Copy: name,
	}
	if o := f.S.Object("nodes", "", name); o != nil {
		on.Event = o.Changed
	}
	n := f.S.Node(name)
	if n == nil || n.Ready == "" {
		on.Words = "Node " + name + " has not reported yet."
		return on, '?', theme.Muted, ""
	}
	on.Event = n.Reported
	for _, t := range n.Taints {
		on.Words += " Taint " + t + "."
	}
	switch n.Ready {
	case "True":
		on.Words = "Node " + name + " is Ready, says the " + n.ReadyBy + "." + on.Words
		return on, '●', theme.Good, ""
	case "False":
		on.Words = "Node " + name + " is not Ready, says the " + n.ReadyBy + ". " + n.Note + on.Words
		return on, '✗', theme.Bad, " NotReady"
	}
	on.Words = "Nobody hears from node " + name + " (Ready is Unknown). " + n.Note + on.Words
	return on, '?', theme.Warn, " Unknown"
}

// drawMany draws a node a cell: its state and how many pods it has.
func (m *Map) drawMany(s *pane.Sheet, f *pane.Frame, y int, names []string, byNode map[string][]cell) int {
	wide := 0
	for _, n := range names {
		wide = max(wide, len(n))
	}
	wide += 7
	cols := max(1, s.W()/wide)
	rows := (len(names) + cols - 1) / cols
	for i, n := range names {
		c, r := i/rows, i%rows
		on, glyph, st, _ := nodeSubject(f, n)
		pods := byNode[n]
		worst := podmark.Mark{Glyph: ' '}
		for _, p := range pods {
			if p.mark.Style == theme.Bad || p.mark.Style == theme.Warn {
				worst = p.mark
			}
		}
		a := s.Row(y + r)
		x := a.Text(c*wide, 0, n+" ", theme.Name)
		a.Put(x, 0, glyph, st)
		x = a.Text(x+1, 0, fmt.Sprintf("%3d", len(pods)), theme.Muted)
		a.Put(x, 0, worst.Glyph, worst.Style)
		on.Words += " " + words.Count(len(pods), "pod") + "."
		s.Hot(c*wide, y+r, wide-1, on)
	}
	return y + rows
}

func drawLegend(s *pane.Sheet, y int, legend map[rune]string) {
	letters := make([]rune, 0, len(legend))
	for l := range legend {
		letters = append(letters, l)
	}
	sort.Slice(letters, func(i, j int) bool { return letters[i] < letters[j] })
	x := 0
	for _, l := range letters {
		text := string(l) + " " + grid.Cut(legend[l], 22)
		if x+grid.Width(text) > s.W() {
			x, y = 0, y+1
		}
		a := s.Row(y)
		a.Put(x, 0, l, theme.Text|grid.Bold)
		x = a.Text(x+1, 0, text[1:], theme.Muted) + 2
	}
}
