package clustermap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	of     trace.Ref // the workload
	ghost  bool      // room is being made for it on a node where it is not yet
}

// solid is how many of the pods are there.
func solid(pods []cell) int {
	n := 0
	for _, c := range pods {
		if !c.ghost {
			n++
		}
	}
	return n
}

// boxW is the least width of a node's box.
const boxW = 23

func (m *Map) drawNodes(s *pane.Sheet, f *pane.Frame, y int) int {
	p := m.population(f)
	names := p.names
	if len(names) == 0 {
		return s.Say(y+1, "No node has joined yet. A node appears here when its kubelet registers it with the API server.", theme.Muted)
	}
	rest := f.Rows - y - 2 // for the legend and what is pending
	switch cols, h, rows := p.boxes(names, s.W(), rest); {
	case len(names) > 24:
		y = p.drawMany(s, f, y, names)
	case h == 0:
		y = p.drawLines(s, f, y, names)
	default:
		y = p.drawBoxes(s, f, y, names, cols, h, rows)
	}
	if len(p.pending) > 0 {
		x := s.Row(y).Text(0, 0, "pending ", theme.Warn)
		y = flow(s, f, x, y, s.W(), p.pending) + 1
	}
	return p.drawLegend(s, y)
}

// boxes decides how many boxes stand beside one another and how high they are;
// 0 where there is no room for boxes. A box has a row for each pod if that
// fits, else a cell.
func (p *population) boxes(names []string, w, room int) (cols, h int, podRows bool) {
	cols = max(1, min(len(names), w/boxW))
	rows := (len(names) + cols - 1) / cols
	most := 0
	for _, n := range names {
		most = max(most, len(p.byNode[n]))
	}
	if h = 3 + max(most, 1); w/cols >= 36 && rows*h <= room {
		return cols, h, true
	}
	per := max((w/cols-3)/3, 1)
	if h = 2 + max((most+per-1)/per, 1); rows*h <= room {
		return cols, h, false
	}
	return cols, 0, false
}

func (p *population) drawBoxes(s *pane.Sheet, f *pane.Frame, y int, names []string, cols, h int, podRows bool) int {
	for i := 0; i < len(names); i += cols {
		for c, n := range names[i:min(i+cols, len(names))] {
			x0, x1 := s.W()*c/cols, s.W()*(c+1)/cols
			p.drawBox(s, f, grid.Rect{X: x0, Y: y, W: x1 - x0, H: h}, n, podRows)
		}
		y += h
	}
	return y
}

func (p *population) drawBox(s *pane.Sheet, f *pane.Frame, r grid.Rect, name string, podRows bool) {
	a := s.Rows(r.Y, r.H).Sub(r.X, 0, r.W, r.H)
	on, glyph, st, word := nodeSubject(f, name)
	line := theme.Line
	if f.Fresh(on.Event) {
		line = theme.Accent
	}
	if !podRows && word == "" && taints(f.S.Node(name)) != "" {
		word = tainted
	}
	pods := p.byNode[name]
	title := []grid.Span{{Text: name + " ", Style: theme.Name}, {Text: string(glyph), Style: st}, {Text: word, Style: wordStyle(word, st)}}
	if room := r.W - 6 - grid.Width(name) - 2 - grid.Width(word); podRows {
		title = append(title, zoneSpan(f.S, name, room)...)
	}
	inside := a.Frame(title, line)
	s.Hot(r.X+3, r.Y, grid.Width(name), on)
	if !podRows { // cells, and the bar in the frame
		if w := min(8, r.W-grid.Width(name)-grid.Width(word)-12); w >= 4 && p.of(name).cpu > 0 {
			p.cpuBar(a, r.W-w-2, 0, w, name)
			a.Put(r.W-w-3, 0, ' ', line)
			a.Put(r.W-2, 0, ' ', line)
		}
		flow(s, f, r.X+2, r.Y+1, r.X+r.W-1, pods)
		return
	}
	p.drawLoad(inside.Sub(1, 0, r.W-4, 1), f, name)
	for i, c := range pods {
		drawPod(s.Part(r.X+2, r.W-4), f, r.Y+2+i, c)
	}
	if len(pods) == 0 {
		inside.Text(1, 1, "no pods", theme.Muted)
	}
}

// cpuBar draws the part of a node's CPU that its pods requested.
func (p *population) cpuBar(a grid.Area, x, y, w int, name string) {
	if n := p.nodes[name]; n != nil {
		a.Bar(x, y, w, p.of(name).cores(), n.Status.Allocatable.Cpu().AsApproximateFloat64(), theme.Term0, theme.Line)
	}
}

// drawLoad draws what the pods of a node have requested, and its taints.
func (p *population) drawLoad(a grid.Area, f *pane.Frame, name string) {
	n := p.nodes[name]
	if n == nil {
		a.Text(0, 0, "not registered yet", theme.Muted)
		return
	}
	l := p.of(name)
	x := a.Text(0, 0, "cpu ", theme.Muted)
	p.cpuBar(a, x, 0, 6, name)
	x = a.Text(x+6, 0, fmt.Sprintf(" %s/%s", words.Cores(l.cores()), words.Cores(n.Status.Allocatable.Cpu().AsApproximateFloat64())), theme.Number)
	if a.W()-x > 26 {
		all := n.Status.Allocatable.Memory().AsApproximateFloat64()
		x = a.Text(x+2, 0, "mem ", theme.Muted)
		a.Bar(x, 0, 6, float64(l.memory), all, theme.Term0, theme.Line)
		x = a.Text(x+6, 0, " "+words.Memory(float64(l.memory))+"/"+words.Memory(all), theme.Number)
	}
	if text := taints(f.S.Node(name)); text != "" {
		a.Fit(x+2, 0, a.W()-x-2, text, theme.Warn)
	} else if a.W()-x > 12 {
		a.Text(x+2, 0, words.Count(l.pods, "pod"), theme.Muted)
	}
}

// taints are a node's taints in short: without the domain that all those of
// Kubernetes have, and without what "cordoned" beside the node's name says.
func taints(n *view.Node) string {
	var list []string
	if n != nil {
		for _, t := range n.Taints {
			if t != cordon {
				list = append(list, strings.TrimPrefix(t, "node.kubernetes.io/"))
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "taint " + strings.Join(list, " ")
}

// cordon is the taint of a node that kubectl cordon has closed to new pods.
const (
	cordon   = corev1.TaintNodeUnschedulable + ":NoSchedule"
	cordoned = " cordoned"
	tainted  = " tainted"
)

// wordStyle is the style of the word beside a node's name: a cordoned or
// tainted node is healthy, but not open to all.
func wordStyle(word string, st grid.Style) grid.Style {
	if word == cordoned || word == tainted {
		return theme.Warn
	}
	return st
}

// drawPod draws a pod as a row of its node's box.
func drawPod(s *pane.Sheet, f *pane.Frame, y int, c cell) {
	a := s.Row(y)
	st := c.mark.Style
	if f.Fresh(c.obj.Changed) {
		st |= grid.Fresh | grid.Bold
	}
	a.Put(0, 0, c.letter, st)
	a.Put(1, 0, c.mark.Glyph, st)
	word := c.mark.Word
	if word == "Running" {
		word = c.pod.Status.PodIP
	}
	if n := podmark.Restarts(c.pod); n > 0 {
		word = fmt.Sprintf("%s ↻%d", word, n)
	}
	room := s.W() - 3
	if w := grid.Width(word); w+8 <= room {
		a.Right(s.W(), 0, word, st&^grid.Bold)
		room -= w + 1
	}
	name, text := c.obj.Name(), theme.Text
	if c.ghost {
		text = theme.Muted
	}
	if grid.Width(name) > room { // the end tells pods of a workload apart
		name = grid.CutLeft(name, room)
	}
	a.Text(3, 0, name, text|st&grid.Fresh)
	s.Hot(0, y, s.W(), podSubject(c))
}

// drawLines draws a node a line: for windows too low for boxes.
func (p *population) drawLines(s *pane.Sheet, f *pane.Frame, y int, names []string) int {
	wide, asked := 0, false
	for _, n := range names {
		wide = max(wide, min(len(n), 14))
		asked = asked || p.of(n).cpu > 0
	}
	for _, n := range names {
		on, glyph, st, word := nodeSubject(f, n)
		a := s.Row(y)
		nst := theme.Name
		if f.Fresh(on.Event) {
			nst |= grid.Fresh
		}
		a.Fit(0, 0, wide, n, nst)
		s.Hot(0, y, wide, on)
		a.Put(wide+1, 0, glyph, st)
		x := wide + 3
		if word != "" {
			x = a.Text(wide+2, 0, word, wordStyle(word, st)) + 1
		}
		if asked && s.W() > x+17 { // bars that are all empty say nothing
			p.cpuBar(a, x, 0, 5, n)
			x += 6
		}
		for _, z := range zoneSpan(f.S, n, min(10, s.W()-x-30)) {
			x = a.Text(x-1, 0, z.Text, z.Style) + 1
		}
		y = flow(s, f, x, y, s.W(), p.byNode[n]) + 1
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
	if c.ghost {
		at := c.pod.Status.NominatedNodeName
		on := pane.OnPod(c.obj.Ref.Key())
		on.ID, on.Ref, on.Event, on.Node = "room/"+c.obj.Ref.Key(), c.obj.Ref, c.obj.Changed, at
		on.Words = fmt.Sprintf("Room is being made on %s for pod %s of %s: pods of lower priority go, and then it may come.", at, c.obj.Ref.Key(), c.owner)
		return on
	}
	where := "no node yet"
	if c.pod.Spec.NodeName != "" {
		where = "on " + c.pod.Spec.NodeName
	}
	w := fmt.Sprintf("Pod %s of %s: %s, %s", c.obj.Ref.Key(), c.owner, c.mark.Word, where)
	if c.pod.Status.PodIP != "" {
		w += ", address " + c.pod.Status.PodIP
	}
	on := pane.OnPod(c.obj.Ref.Key())
	on.Ref, on.Event, on.Node, on.Words = c.obj.Ref, c.obj.Changed, c.pod.Spec.NodeName, w+"."
	return on
}

func nodeSubject(f *pane.Frame, name string) (on pane.Subject, glyph rune, st grid.Style, word string) {
	on = pane.OnNode(name)
	if o := f.S.Object("nodes", "", name); o != nil {
		on.Event = o.Changed
	}
	if zone := zoneOf(f.S, name); zone != "" {
		defer func() { on.Words += " Zone " + zone + "." }()
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
		if slices.Contains(n.Taints, cordon) {
			word = cordoned
		}
		return on, '●', theme.Good, word
	case "False":
		on.Words = "Node " + name + " is not Ready, says the " + n.ReadyBy + ". " + n.Note + on.Words
		return on, '✗', theme.Bad, " NotReady"
	}
	on.Words = "Node " + name + " does not report (Ready is Unknown). " + n.Note + on.Words
	return on, '?', theme.Warn, " Unknown"
}

// zoneOf is the zone that a node's label names, or "".
func zoneOf(s *view.State, name string) string {
	if o := s.Object("nodes", "", name); o != nil {
		if n, ok := o.Value.(*corev1.Node); ok {
			return n.Labels[corev1.LabelTopologyZone]
		}
	}
	return ""
}

// zoneSpan is a node's zone behind its name, where there is room for the end of it: that
// tells zones apart.
func zoneSpan(s *view.State, name string, room int) []grid.Span {
	zone := zoneOf(s, name)
	if zone == "" || room < 4 {
		return nil
	}
	return []grid.Span{{Text: " " + grid.CutLeft(zone, room-1), Style: theme.Muted}}
}

// drawMany draws a node a cell: its state and how many pods it has, and how many of them
// are ready or completed where not all are.
func (p *population) drawMany(s *pane.Sheet, f *pane.Frame, y int, names []string) int {
	wide := 0
	for _, n := range names {
		wide = max(wide, len(n))
	}
	name := wide
	wide += 10
	cols := max(1, s.W()/wide)
	rows := (len(names) + cols - 1) / cols
	for i, n := range names {
		col, r := i/rows, i%rows
		on, glyph, st, _ := nodeSubject(f, n)
		pods := p.byNode[n]
		fine, there := 0, solid(pods)
		for _, c := range pods {
			if c.mark.Glyph == '●' || c.mark.Glyph == '✓' { // ready, or completed
				fine++
			}
		}
		a := s.Row(y + r)
		x := a.Text(col*wide, 0, grid.Pad(n, name)+" ", theme.Name)
		a.Put(x, 0, glyph, st)
		text, count := fmt.Sprintf("%3d", there), theme.Muted
		switch {
		case fine < there: // so many of them are well
			text, count = fmt.Sprintf("%3d/%d", fine, there), theme.Warn
		case there > 0:
			count = theme.Number
		}
		a.Text(x+1, 0, text, count)
		on.Words += " " + words.Count(there, "pod") + ", " + fmt.Sprint(fine) + " of them ready or completed."
		s.Hot(col*wide, y+r, wide-1, on)
	}
	return y + rows
}

// drawLegend says whose letters these are and what the shapes that occur mean.
func (p *population) drawLegend(s *pane.Sheet, y int) int {
	legend := p.legend()
	letters := slices.Sorted(maps.Keys(legend))
	var pairs [][2]string
	for _, l := range letters {
		pairs = append(pairs, [2]string{string(l), grid.Cut(legend[l], 22)})
	}
	pairs = append(pairs, marksOf(p.marks)...)
	if len(pairs) == 0 {
		return y
	}
	return s.Legend(y, pairs...)
}

// marksOf are the marks that occur, and what they mean.
func marksOf(there map[rune]int) (pairs [][2]string) {
	for _, m := range podmark.Legend {
		if there[[]rune(m[0])[0]] > 0 {
			pairs = append(pairs, m)
		}
	}
	return pairs
}
