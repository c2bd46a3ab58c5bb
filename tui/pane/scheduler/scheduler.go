// Package scheduler is pane 6: one scheduling cycle as a matrix of nodes and
// plugins, with the reasons of the nodes that fell out, the scores of the
// others, and the scheduler's three queues.
package scheduler

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

// Scheduler is the pane.
type Scheduler struct {
	number uint64 // cycle shown; 0 follows
	scores int    // which score: 0 weighted, 1 normalised, 2 raw
}

// New makes the pane.
func New() *Scheduler { return &Scheduler{} }

const (
	keyOlder  = "sched.older"
	keyNewer  = "sched.newer"
	keyScores = "sched.scores"
)

// Info implements [pane.Pane].
func (*Scheduler) Info() pane.Info {
	return pane.Info{
		Number: 6, Name: "scheduler", Title: "Scheduler",
		Means: "One scheduling cycle: the filters ask of every node whether it can run the pod, in order, and the first no ends the " +
			"row. Nodes that remain are scored; a raw score is brought to 0…100, weighted, and summed. The highest sum wins. With " +
			"one node left, scoring is skipped.",
		Legend: [][2]string{{"✓", "the filter lets the node pass"}, {"✗a", "rejected, reason a below"}, {"blank", "not asked: an earlier filter said no"}, {"◀", "the node that was chosen"}},
		Keys: []keymap.Binding{
			keymap.Bind(keyOlder, "older cycle", "The cycle before.", "<"),
			keymap.Bind(keyNewer, "newest", "Follow the newest cycle.", "x"),
			keymap.Bind(keyScores, "raw/weighted", "Change between weighted, normalised and raw scores.", "v"),
		},
	}
}

// Note implements [pane.Pane].
func (*Scheduler) Note(f *pane.Frame) string {
	s := &f.S.Scheduler
	return fmt.Sprintf("active %d, backoff %d, unschedulable %d · %d bound", len(s.PodsIn("active")), len(s.PodsIn("backoff")), len(s.PodsIn("unschedulable")), s.Bound)
}

// Do implements [pane.Pane].
func (p *Scheduler) Do(action string, on pane.Subject, f *pane.Frame) pane.Ask {
	switch action {
	case keyScores:
		p.scores = (p.scores + 1) % 3
	case keyNewer:
		p.number = 0
	case keyOlder:
		c := p.cycle(f)
		if c == nil {
			return nil
		}
		all := f.S.Scheduler.RecentCycles()
		for i, x := range all {
			if x.Number == c.Number && i > 0 {
				p.number = all[i-1].Number
			}
		}
	case keymap.Open:
		if on.Ref.Name != "" {
			return pane.Show{Ref: on.Ref}
		}
		if !on.Event.IsZero() {
			return pane.Goto{ID: on.Event}
		}
		return nil
	default:
		return nil
	}
	return pane.Redraw{}
}

// cycle is the cycle to show: the chosen one, that of the pod selected
// elsewhere, that of the present event, or the newest.
func (p *Scheduler) cycle(f *pane.Frame) *view.Cycle {
	if p.number != 0 {
		if c := f.S.Scheduler.Cycle(p.number); c != nil {
			return c
		}
	}
	if f.Sel.Pod != "" {
		if c := f.S.Scheduler.CycleOf(f.Sel.Pod); c != nil {
			return c
		}
	}
	return f.S.Scheduler.Last()
}

// Draw implements [pane.Pane].
func (p *Scheduler) Draw(s *pane.Sheet, f *pane.Frame) {
	y := 0
	if c := p.cycle(f); c != nil {
		y = p.drawCycle(s, f, y, c)
	} else {
		s.Row(0).Text(0, 0, "no scheduling cycle yet", theme.Muted)
		y++
	}
	drawQueues(s, f, y)
}

func podRef(key string) trace.Ref {
	ns, name, ok := strings.Cut(key, "/")
	if !ok {
		ns, name = "", key
	}
	return trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: name}
}

// plugins lists the filter and score plugins that spoke in a cycle.
func plugins(c *view.Cycle) (filters []string, scores []trace.PluginScore) {
	seen := map[string]bool{}
	add := func(n string) {
		if n != "" && !seen[n] {
			seen[n] = true
			filters = append(filters, n)
		}
	}
	longest := 0
	for _, v := range c.Filters() { // the row that came furthest gives the order
		if len(v.Passed) >= longest {
			longest = len(v.Passed)
		}
	}
	for _, v := range c.Filters() {
		if len(v.Passed) == longest {
			for _, n := range v.Passed {
				add(n)
			}
			break
		}
	}
	for _, v := range c.Filters() {
		for _, n := range v.Passed {
			add(n)
		}
		add(v.By)
	}
	for _, v := range c.Scores() {
		if len(v.Scores) > len(scores) {
			scores = v.Scores
		}
	}
	return filters, scores
}

// brief shortens a plugin's name to the width of a column.
func brief(name string, w int) string {
	name = strings.NewReplacer("NodeResources", "", "TaintToleration", "Taint", "NodeUnschedulable", "Unsched", "NodeAffinity", "Affin",
		"InterPodAffinity", "PodAff", "PodTopologySpread", "Spread", "BalancedAllocation", "Balance", "LeastAllocated", "Least",
		"ImageLocality", "Image", "VolumeBinding", "VolBind", "VolumeRestrictions", "VolRest", "VolumeZone", "VolZone", "NodeVolumeLimits", "VolLim",
		"NodePorts", "Ports", "NodeName", "Name").Replace(name)
	if w < 5 && len(name) > w {
		return name[:max(w, 1)]
	}
	return grid.Cut(name, w)
}

func (p *Scheduler) drawCycle(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	a := s.Row(y)
	x := a.Text(0, 0, fmt.Sprintf("cycle %d  ", c.Number), theme.Muted)
	x = a.Text(x, 0, c.Pod, theme.Name|grid.Bold)
	x = a.Text(x, 0, fmt.Sprintf("  attempt %d, %s", c.Attempt, words.Count(c.NodeCount, "node")), theme.Muted)
	kind := []string{"weighted", "normalised 0…100", "raw"}[p.scores]
	if len(c.Scores()) > 0 && x+len(kind)+10 < s.W() {
		a.Right(s.W(), 0, "scores: "+kind, theme.Muted)
	}
	s.Hot(0, y, x, pane.Subject{
		ID: "cycle", Ref: podRef(c.Pod), Pod: c.Pod, Event: c.Start, Kind: trace.SchedCycle,
		Words: fmt.Sprintf("Scheduling cycle %d tries to place %s: attempt %d.", c.Number, c.Pod, c.Attempt),
	})
	y++
	y = p.drawMatrix(s, f, y, c)
	return drawOutcome(s, f, y, c)
}

func (p *Scheduler) drawMatrix(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	filters, scores := plugins(c)
	names := c.NodeNames()
	if len(names) == 0 {
		return drawPoints(s, f, y, c)
	}
	nameW := 6
	for _, n := range names {
		nameW = max(nameW, min(len(n), 16))
	}
	room := s.W() - nameW - 2 - 8
	n := len(filters) + len(scores)
	col := 6
	if n > 0 {
		col = max(3, min(9, room/n))
	}
	maxFilters := len(filters)
	if n*col > room { // too narrow for all: the filters that let everything pass are folded
		filters = telling(c, filters)
		n = len(filters) + len(scores)
		if n > 0 {
			col = max(3, min(9, room/n))
		}
	}
	a := s.Row(y)
	for i, pl := range filters {
		a.Text(nameW+2+i*col, 0, brief(pl, col-1), theme.Muted)
	}
	sx := nameW + 2 + len(filters)*col
	if len(scores) > 0 {
		a.Put(sx, 0, '│', theme.Line)
		for i, pl := range scores {
			label := brief(pl.Plugin, col-3) + fmt.Sprintf("×%d", pl.Weight)
			a.Right(sx+1+(i+1)*col, 0, grid.Cut(label, col-1), theme.Muted)
		}
		a.Right(s.W()-2, 0, "sum", theme.Title)
	}
	y++
	reasons := map[string]rune{}
	var order []string
	sort.SliceStable(names, func(i, j int) bool { return better(c, names[i], names[j]) })
	for _, name := range names {
		if !f.Match(name) {
			continue
		}
		p.drawNode(s, f, y, c, name, filters, scores, nameW, col, sx, reasons, &order)
		y++
		if y > 400 {
			s.Row(y).Text(0, 0, fmt.Sprintf("… of %d nodes", len(names)), theme.Muted)
			y++
			break
		}
	}
	if hidden := maxFilters - len(filters); hidden > 0 {
		s.Row(y).Text(0, 0, fmt.Sprintf("+%d filters that let every node pass", hidden), theme.Muted)
		y++
	}
	for _, r := range order {
		for i, l := range grid.Lines(string(reasons[r])+"  "+r, s.W()-2) {
			s.Row(y).Text(min(i*3, 3), 0, l, theme.Bad)
			y++
		}
	}
	return y
}

// telling are the filters that rejected a node, and the last one that passed.
func telling(c *view.Cycle, filters []string) []string {
	said := map[string]bool{}
	for _, v := range c.Filters() {
		said[v.By] = true
	}
	var out []string
	for i, n := range filters {
		if said[n] || i == len(filters)-1 {
			out = append(out, n)
		}
	}
	return out
}

// better orders the chosen node first, then by sum, then the rejected ones.
func better(c *view.Cycle, a, b string) bool {
	sa, oka := c.Score(a)
	sb, okb := c.Score(b)
	if oka && okb && sa.Total != sb.Total {
		return sa.Total > sb.Total
	}
	if oka != okb {
		return oka
	}
	fa, _ := c.Filter(a)
	fb, _ := c.Filter(b)
	if fa.FilterVerdict != nil && fb.FilterVerdict != nil && fa.Feasible() != fb.Feasible() {
		return fa.Feasible()
	}
	return false
}

func (p *Scheduler) drawNode(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle, name string, filters []string, scores []trace.PluginScore,
	nameW, col, sx int, reasons map[string]rune, order *[]string,
) {
	a := s.Row(y)
	won := c.Decision != nil && c.Decision.Node == name
	v, judged := c.Filter(name)
	st := theme.Name
	if won {
		st = theme.Good | grid.Bold
	}
	if judged && f.Fresh(v.Event) {
		st |= grid.Fresh
	}
	a.Fit(0, 0, nameW, name, st)
	s.Hot(0, y, nameW, pane.Subject{
		ID: "node/" + name, Node: name, Ref: trace.Ref{APIVersion: "v1", Kind: "Node", Name: name}, Target: "node/" + name,
		Event: v.Event, Words: nodeWords(c, name),
	})
	if judged {
		passed := map[string]bool{}
		for _, n := range v.Passed {
			passed[n] = true
		}
		for i, pl := range filters {
			x := nameW + 2 + i*col
			switch {
			case pl == v.By:
				text := "✗" + string(letter(reasons, order, strings.Join(v.Reasons, "; ")))
				a.Text(x, 0, text, theme.Bad|grid.Bold)
				s.Hot(x, y, 2, pane.Subject{
					ID: "filter/" + name + "/" + pl, Node: name, Event: v.Event, Kind: trace.SchedFilter,
					Words: fmt.Sprintf("%s rejected: %s says: %s (%s).", name, pl, strings.Join(v.Reasons, "; "), v.Code),
				})
			case passed[pl]:
				a.Text(x, 0, "✓", theme.Good)
				s.Hot(x, y, 1, pane.Subject{
					ID: "filter/" + name + "/" + pl, Node: name, Event: v.Event, Kind: trace.SchedFilter,
					Words: fmt.Sprintf("%s lets %s pass.", pl, name),
				})
			}
		}
	}
	if len(scores) > 0 {
		a.Put(sx, 0, '│', theme.Line)
	}
	sc, ok := c.Score(name)
	if !ok {
		if len(scores) > 0 {
			a.Right(s.W()-2, 0, "–", theme.Muted)
		}
		if won {
			a.Put(s.W()-1, 0, '◀', theme.Good|grid.Bold)
		}
		return
	}
	for i, want := range scores {
		for _, got := range sc.Scores {
			if got.Plugin != want.Plugin {
				continue
			}
			value := [...]int64{got.Weighted, got.Normalized, got.Raw}[p.scores]
			text := fmt.Sprint(value)
			end := sx + (i+1)*col
			a.Right(end, 0, text, theme.Number)
			how := ""
			if got.How != "" {
				how = " " + got.How
			}
			s.Hot(end-len(text), y, len(text), pane.Subject{
				ID: "score/" + name + "/" + got.Plugin, Node: name, Event: sc.Event, Kind: trace.SchedScore,
				Words: fmt.Sprintf("%s on %s: raw %d, normalised %d, ×%d = %d.%s", got.Plugin, name, got.Raw, got.Normalized, got.Weight, got.Weighted, how),
			})
		}
	}
	a.Right(s.W()-2, 0, fmt.Sprint(sc.Total), theme.Number|grid.Bold)
	if won {
		a.Put(s.W()-1, 0, '◀', theme.Good|grid.Bold)
	}
}

func letter(reasons map[string]rune, order *[]string, reason string) rune {
	if l, ok := reasons[reason]; ok {
		return l
	}
	l := rune('a' + len(reasons)%26)
	reasons[reason] = l
	*order = append(*order, reason)
	return l
}

func nodeWords(c *view.Cycle, name string) string {
	v, ok := c.Filter(name)
	switch {
	case ok && !v.Feasible():
		return fmt.Sprintf("%s rejected by %s: %s.", name, v.By, strings.Join(v.Reasons, "; "))
	case c.Decision != nil && c.Decision.Node == name && c.Decision.Skipped:
		return name + " is the only node that can run it: scoring was skipped."
	case c.Decision != nil && c.Decision.Node == name:
		return fmt.Sprintf("%s was chosen with %d points.", name, c.Decision.Total)
	}
	if sc, ok := c.Score(name); ok {
		return fmt.Sprintf("%s can run it and has %d points.", name, sc.Total)
	}
	return name + " can run it."
}

func drawPoints(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	for i, pt := range c.Points() {
		st := theme.Text
		if f.Fresh(pt.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{ID: fmt.Sprintf("point/%d", i), Event: pt.Event, Kind: trace.SchedPoint, Words: pt.Point + ": " + strings.Join(pt.Plugins, ", ") + " " + pt.Note},
			grid.Span{Text: grid.Pad(pt.Point, 16), Style: st}, grid.Span{Text: strings.Join(pt.Plugins, ", "), Style: theme.Muted})
		y++
	}
	return y
}

func drawOutcome(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	d := c.Decision
	if d == nil {
		s.Row(y).Text(0, 0, "… not decided yet", theme.Busy)
		return y + 1
	}
	st, text := theme.Good, ""
	switch {
	case d.Node != "" && d.Skipped:
		text = fmt.Sprintf("⇒ %s: the only feasible node, scoring skipped", d.Node)
	case d.Node != "":
		text = fmt.Sprintf("⇒ %s with %d points; %d of %d nodes feasible", d.Node, d.Total, d.Feasible, d.Evaluated)
		if len(d.TiedWith) > 0 {
			text += ", drawn from a tie with " + strings.Join(d.TiedWith, ", ")
		}
	default:
		st, text = theme.Bad, "⇒ no node: "+d.Message
	}
	if c.Bind != nil {
		text += " · bound"
	}
	if f.Fresh(c.Decided) || f.Fresh(c.Bound) {
		st |= grid.Fresh
	}
	lines := grid.Lines(text, s.W())
	for i, l := range lines {
		s.Row(y+i).Text(0, 0, l, st|grid.Bold)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: "decision", Event: c.Decided, Pod: c.Pod, Ref: podRef(c.Pod), Kind: trace.SchedDecision, Words: strings.TrimPrefix(text, "⇒ ")})
	return y + len(lines)
}

// drawQueues draws the pods in the scheduler's queues.
func drawQueues(s *pane.Sheet, f *pane.Frame, y int) {
	a := s.Row(y)
	x := a.Text(0, 0, "queues ", theme.Title)
	a.HLine(x, 0, s.W()-x, theme.Line)
	y++
	marks := map[string]string{"active": "▸", "backoff": "◷", "unschedulable": "✗", "gated": "‖"}
	for _, q := range []string{"active", "backoff", "unschedulable", "gated"} {
		pods := f.S.Scheduler.PodsIn(q)
		if q == "gated" && len(pods) == 0 {
			continue
		}
		st := theme.Text
		if q == "unschedulable" || q == "backoff" {
			st = theme.Warn
		}
		a := s.Row(y)
		a.Text(0, 0, marks[q]+" "+q, theme.Muted)
		x := 17
		if len(pods) == 0 {
			a.Text(x, 0, "–", theme.Muted)
		}
		for i, pod := range pods {
			text := pod.Pod
			if pod.Attempts > 1 {
				text += fmt.Sprintf(" (%d tries)", pod.Attempts)
			}
			if x > 17 && x+grid.Width(text) > s.W() {
				x, y = 17, y+1
				if y > 3000 {
					s.Row(y).Text(x, 0, fmt.Sprintf("… +%d", len(pods)-i), theme.Muted)
					break
				}
			}
			style := st
			if f.Fresh(pod.Event) {
				style |= grid.Fresh
			}
			end := s.Row(y).Text(x, 0, text, style)
			s.Hot(x, y, end-x, pane.Subject{
				ID: "pod/" + pod.Pod, Pod: pod.Pod, Ref: podRef(pod.Pod), Event: pod.Event, Kind: trace.SchedQueue,
				Words: fmt.Sprintf("Pod %s is in the %s queue, moved there by %s, %s so far.", pod.Pod, pod.Queue, pod.Cause, words.Count(pod.Attempts, "attempt")),
			})
			x = end + 2
		}
		y++
	}
}
