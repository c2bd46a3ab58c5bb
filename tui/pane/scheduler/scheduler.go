// Package scheduler is the pane of one scheduling cycle as a matrix of nodes and
// plugins, with the reasons of the nodes that fell out, the scores of the
// others, and the scheduler's three queues.
//
// Start reading at [Scheduler.Draw].
package scheduler

import (
	"fmt"
	"sort"
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

// Scheduler is the pane.
type Scheduler struct {
	pane.List
	number uint64 // cycle shown; 0 follows
}

var about = pane.Info{
	Name: "scheduler", Title: "Scheduler",
	Kinds: []string{"change", "cycle", "decision", "domain", "filter", "move", "node", "pod", "point", "profile", "score", "second", "took"},
	Means: "One scheduling cycle: the filters ask of every node whether it can run the pod, in order, and the first no ends the " +
		"row. Nodes that remain are scored; a raw score is brought to 0…100, weighted, and summed. The highest sum wins. With " +
		"one node left, scoring is skipped. Pods wait in three queues: active (to be placed now), backoff (tried lately, for a " +
		"while not again), unschedulable (until an event of the cluster could help). A pod that has its node may wait at Permit, until " +
		"a plugin allows or rejects it.",
	Legend: [][2]string{
		{"✓", "the filter lets the node pass"},
		{"✗a", "rejected, reason a below"},
		{"blank", "not asked: an earlier filter said no"},
		{"×3", "weight of a score plugin"},
		{"◀", "the node that was chosen"},
		{"+ - ~", "added, taken out, changed by the configuration file (view plugins)"},
	},
}

// New makes the pane.
func New() *Scheduler {
	p := &Scheduler{List: pane.NewList(about)}
	p.Key(keymap.Bind("sched.older", "older cycle", "The cycle before.", "<"), p.older)
	p.Key(keymap.Bind("sched.newer", "newest", "Follow the newest cycle.", "x"), pane.Then(func() { p.number = 0 }))
	p.Views("sched.scores", "view", p.scoreViews()...)
	p.Key(keymap.Bind(keymap.Open, "open", "Show the pod or node, or the scheduling cycle under the cursor.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if n, ok := on.Value.(uint64); ok {
			p.number = n
			return action.Redraw{}
		}
		return on.Open()
	})
	return p
}

func (p *Scheduler) older(_ pane.Subject, f *pane.Frame) action.Action {
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
	return action.Redraw{}
}

// Note implements [pane.Pane].
func (*Scheduler) Note(f *pane.Frame) string {
	s := &f.S.Scheduler
	return fmt.Sprintf("active %d, backoff %d, unschedulable %d · %d bound", len(s.PodsIn("active")), len(s.PodsIn("backoff")), len(s.PodsIn("unschedulable")), s.Bound)
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
func (p *Scheduler) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

func (p *Scheduler) draw(s *pane.Sheet, f *pane.Frame) {
	c := p.cycle(f)
	y := 0
	if c != nil {
		y = p.drawCycle(s, f, y, c)
		y = drawRoom(s, f, y, c)
		y = drawChanges(s, f, y, c)
		y = drawMoves(s, f, y, c)
		y = drawTimes(s, y, c)
		y = drawWalk(s, y, c)
	} else {
		y = drawAbsent(s, f, y)
	}
	y = drawAssigned(s, f, y)
	if s.W() >= 130 {
		left := s.W() / 2
		a, b := s.Halves(left)
		drawQueues(a, f, y)
		drawCycles(b, f, y, c)
		y = s.Divide(y, left, a, b)
		if room := f.Rows - y; room >= 4 {
			s.KubeEvents(y, room, f, func(e view.KubeEvent) bool { return strings.Contains(e.From, "scheduler") })
		}
		return
	}
	y = drawQueues(s, f, y)
	drawCycles(s, f, y, c)
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

// scoreViews are the numbers that the pane can show of a score.
func (p *Scheduler) scoreViews() (views []pane.View) {
	for _, v := range [][2]string{
		{"weighted", "weighted"},
		{"normalised", "normalised 0…100"},
		{"raw", "raw"},
	} {
		views = append(views, pane.View{Name: v[0], Means: v[1], Draw: p.draw})
	}
	return append(views,
		pane.View{Name: "domains", Means: "spread and affinity: the pods that count, by domain", Draw: p.drawDomains},
		pane.View{Name: "plugins", Means: "plugins by extension point, with their weights", Draw: p.drawPlugins})
}

// brief shortens a plugin's name to the width of a column.
func brief(name string, w int) string {
	if len(name) <= w {
		return name
	}
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
	y = drawHead(s, f, y, c)
	y = p.drawMatrix(s, f, y, c)
	y = drawOutcome(s, f, y, c)
	return drawTopology(s, y, c)
}

// drawHead draws what a cycle is: its number, its pod, the profile.
func drawHead(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	a := s.Row(y)
	x := a.Text(0, 0, fmt.Sprintf("cycle %d  ", c.Number), theme.Muted)
	x = a.Text(x, 0, c.Pod, theme.Name|grid.Bold)
	said := fmt.Sprintf("Scheduling cycle %d tries to place %s: attempt %d.", c.Number, c.Pod, c.Attempt)
	tried := fmt.Sprintf("  attempt %d, %s", c.Attempt, words.Count(c.NodeCount, "node"))
	with, means := profileName(c)
	if by := f.S.Scheduler.By(c.In); by != "" {
		x = a.Text(x, 0, tried+"  by ", theme.Muted)
		x = a.Text(x, 0, by, theme.Accent)
		said += fmt.Sprintf(" It is one of the scheduler %s, which runs in the pod %s.", by, c.In)
	} else {
		short := "  " + words.Count(c.NodeCount, "node")
		if room := s.W() - x - 2 - grid.Width(with); c.Attempt == 1 && grid.Width(tried) > room && grid.Width(short) <= room {
			tried = short
		}
		x = a.Text(x, 0, tried, theme.Muted)
	}
	s.Hot(0, y, x, pane.Subject{
		ID: "cycle", Ref: pane.PodRef(c.Pod), Pod: c.Pod, Event: c.Start, Kind: trace.SchedCycle,
		Words: said,
	})
	if room := s.W() - x - 2; room >= 10 {
		a.Fit(x+2, 0, room, with, theme.Muted)
		s.Hot(x+2, y, min(grid.Width(with), room), pane.Subject{ID: "profile", Event: c.ConfiguredBy, Pod: c.Pod, Kind: trace.SchedConfigured, Words: means})
	}
	return y + 1
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
	col, widest := 6, 9
	if s.W() >= 150 {
		widest = 18 // whole names
	}
	if n > 0 {
		col = max(3, min(widest, room/n))
	}
	maxFilters := len(filters)
	if n*col > room { // too narrow for all: the filters that let everything pass are folded
		filters = telling(c, filters)
		n = len(filters) + len(scores)
		if n > 0 {
			col = max(3, min(widest, room/n))
		}
	}
	filterCol := col
	if col < widest && n*col+len(filters) <= room {
		filterCol++
	}
	if s.W() >= 70 {
		a := s.Row(y)
		a.Fit(nameW+2, 0, len(filters)*filterCol-1, "filters: may it run here?", theme.Muted)
		if x := nameW + 2 + len(filters)*filterCol; len(scores) > 0 {
			a.Put(x, 0, '│', theme.Line)
			a.Fit(x+2, 0, s.W()-x-2, "scores: how well? "+p.View().Means+" (v)", theme.Muted)
		}
		y++
	}
	a := s.Row(y)
	for i, pl := range filters {
		a.Text(nameW+2+i*filterCol, 0, brief(pl, filterCol-1), theme.Muted)
	}
	sx := nameW + 2 + len(filters)*filterCol
	if len(scores) > 0 {
		a.Put(sx, 0, '│', theme.Line)
		for i, pl := range scores {
			label := brief(pl.Plugin, col-3) + fmt.Sprintf("×%d", pl.Weight)
			if col < 5 || grid.Width(brief(pl.Plugin, col-1)+fmt.Sprintf("×%d", pl.Weight)) > col-1 { // the name before the weight
				label = brief(pl.Plugin, col-1)
			}
			a.Right(sx+1+(i+1)*col, 0, grid.Cut(label, col-1), theme.Muted)
		}
		a.Right(sumAt(s, sx, len(scores), col), 0, "sum", theme.Title)
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
		s.Row(y).Text(0, 0, "+"+words.Count(hidden, "filter")+" more, which let every node pass", theme.Muted)
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
	on := pane.OnNode(name)
	on.Event, on.Words = v.Event, nodeWords(c, name)
	s.Hot(0, y, nameW, on)
	if judged {
		passed := map[string]bool{}
		for _, n := range v.Passed {
			passed[n] = true
		}
		for i, pl := range filters {
			x := nameW + 2 + i*((sx-nameW-2)/len(filters))
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
			a.Right(sumAt(s, sx, len(scores), col), 0, "–", theme.Muted)
		}
		if won {
			a.Text(sumAt(s, sx, len(scores), col)+1, 0, "◀ chosen", theme.Good|grid.Bold)
		}
		return
	}
	for i, want := range scores {
		for _, got := range sc.Scores {
			if got.Plugin != want.Plugin {
				continue
			}
			value := map[string]int64{"weighted": got.Weighted, "normalised": got.Normalized, "raw": got.Raw}[p.View().Name]
			text := fmt.Sprint(value)
			end := sx + 1 + (i+1)*col
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
	end := sumAt(s, sx, len(scores), col)
	a.Right(end, 0, fmt.Sprint(sc.Total), theme.Number|grid.Bold)
	if won && s.W()-end > 9 {
		a.Text(end+1, 0, "◀ chosen", theme.Good|grid.Bold)
	} else if won {
		a.Put(end+1, 0, '◀', theme.Good|grid.Bold)
	}
}

// sumAt is the column at which the sums end: right beside the scores.
func sumAt(s *pane.Sheet, sx, scores, col int) int { return min(sx+scores*col+8, s.W()-2) }

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
	case c.Decision != nil && c.Decision.Node == name && c.Decision.Like != "":
		return name + " was the next best for " + c.Decision.Like + " before it, which is alike: no other node was looked at."
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
		s.Row(y).Text(0, 0, "… not decided yet: step (.) to the next verdict", theme.Busy)
		return y + 1
	}
	st, text := theme.Good, ""
	switch {
	case d.Like != "":
		text = fmt.Sprintf("⇒ %s: as %s before it, which is alike: next best of that cycle", d.Node, d.Like)
	case d.Node != "" && d.Skipped:
		text = fmt.Sprintf("⇒ %s: the only feasible node, so scoring is skipped", d.Node)
	case d.Node != "":
		text = fmt.Sprintf("⇒ %s with %d points; %d of %d nodes feasible", d.Node, d.Total, d.Feasible, d.Evaluated)
		if most := c.Possible(); most > 0 {
			text = fmt.Sprintf("⇒ %s with %d of %d points; %d of %d nodes feasible", d.Node, d.Total, most, d.Feasible, d.Evaluated)
		}
		if len(d.TiedWith) > 0 {
			text += ", drawn from a tie with " + strings.Join(d.TiedWith, ", ")
		}
	default:
		st, text = theme.Bad, "⇒ no node: "+d.Message
	}
	switch {
	case c.Bind != nil:
		text += " · bound"
	case c.Permit != nil && len(c.Permit.Pending) > 0:
		text += " · waits at Permit"
	case c.Permit != nil && c.Permit.State != trace.PermitAllowed:
		st = theme.Warn
		text += " · " + c.Permit.State + " at Permit: " + c.Permit.Message
	}
	if f.Fresh(c.Decided) || f.Fresh(c.Bound) {
		st |= grid.Fresh
	}
	lines := grid.Lines(text, s.W())
	for i, l := range lines {
		s.Row(y+i).Text(0, 0, l, st|grid.Bold)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: "decision", Event: c.Decided, Pod: c.Pod, Ref: pane.PodRef(c.Pod), Kind: trace.SchedDecision, Words: strings.TrimPrefix(text, "⇒ ")})
	y += len(lines)
	if text := c.RunnerUp(); text != "" {
		on := pane.Subject{ID: "second", Event: c.Decided, Pod: c.Pod, Kind: trace.SchedDecision, Words: text + "."}
		for i, l := range grid.Lines(text, max(s.W()-2, 20)) {
			s.Row(y).Text(2, 0, l, theme.Muted)
			if i == 0 {
				s.Hot(2, y, grid.Width(l), on)
			}
			y++
		}
	}
	return y
}
