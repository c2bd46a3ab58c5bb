package clustermap

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// nodes draws what hangs below the API server.
func (p *picture) nodes() {
	for _, at := range p.Places {
		name, ok := strings.CutPrefix(at.ID, "node/")
		if !ok {
			continue
		}
		switch p.Grain {
		case scene.Boxes:
			p.node(at, name)
		case scene.Tiles:
			p.tile(at, name)
		default:
			p.cell(at)
		}
	}
}

// node draws a node with room for its pods.
func (p *picture) node(at scene.Place, name string) {
	b := p.box(at.ID)
	on, _, _, word := nodeSubject(p.f, name)
	node := p.f.S.Node(name)
	how := p.pods.stands(p.f.S, name)
	glyph, st := how.mark()
	switch {
	case how.is == scene.Off:
		b.Standing = scene.Down
	case how.said == scene.Unheard || how.said == scene.Ails || how.is == scene.Ails || how.overdue || how.cut:
		b.Standing = scene.Degraded
	}
	if late := how.word(); late != "" {
		word = late
	}
	if word == "" && taints(node) != "" {
		word = tainted
	}
	head := []grid.Span{span(name+" ", theme.Name|grid.Bold), span(string(glyph), st)}
	if word != "" {
		head = append(head, span(word, wordStyle(word, st)))
	}
	zone := zoneSpan(p.f.S, name, p.behind(at, head))
	head = append(head, zone...)
	if how.cut {
		head = append(head, p.cutOff(at, head)...)
	}
	in := at.Inside()
	if at.Framed {
		b.Title = head
		p.hot(at.ID, on)
	} else {
		b.Rows = append(b.Rows, head)
		p.s.Hot(at.Rect.X, at.Rect.Y, grid.Width(name), on)
	}
	room := in.H
	if at.Framed {
		if how.differs() { // what is said and what is, with the pods of both
			b.Rows = append(b.Rows, p.sides(how, name, in.W, in.H)...)
			return
		}
		b.Rows = append(b.Rows, p.processes(name, in.W))
		room -= 2
	} else {
		room--
	}
	p.podRows(b, at, name, room)
	if at.Framed {
		for len(b.Rows) < in.H-1 {
			b.Rows = append(b.Rows, nil)
		}
		load := p.load(name, in.W)
		if zone == nil { // there was no room beside the name
			w := 1
			for _, x := range load {
				w += grid.Width(x.Text)
			}
			load = append(load, zoneSpan(p.f.S, name, in.W-w-1)...)
		}
		b.Rows = append(b.Rows, load)
	}
}

// processes is the row of a node's processes.
func (p *picture) processes(node string, w int) []grid.Span {
	names := []string{"kubelet", "runtime", "proxy"}
	gap := "  "
	if w < 32 {
		names[1], gap = "cri", " "
	}
	r := row()
	for i, kind := range []string{"kubelet", "runtime", "proxy"} {
		mark, st := "●", theme.Good
		if proc := p.f.S.Process(kind + "/" + node); proc != nil && !proc.Up {
			mark, st = "✗", theme.Bad
		} else if proc == nil && kind != "runtime" {
			mark, st = "○", theme.Muted
		}
		if kind == "runtime" { // it has no process of its own in the trace
			if p.f.S.Process("kubelet/"+node) == nil {
				mark, st = "○", theme.Muted
			} else if p.pods.stands(p.f.S, node).is == scene.Off {
				mark, st = "✗", theme.Bad
			}
		}
		if i == len(names)-1 {
			gap = ""
		}
		r = append(r, span(mark, st), span(" "+names[i]+gap, theme.Muted))
	}
	return r
}

// podRows draws a node's pods: a row each, or cells where there are more pods than rows.
func (p *picture) podRows(b *scene.Box, at scene.Place, node string, room int) {
	in := at.Inside()
	pods := p.pods.byNode[node]
	if len(pods) == 0 && room > 0 {
		b.Rows = append(b.Rows, row(span("no pods", theme.Muted)))
		return
	}
	lead := 1
	if !at.Framed {
		lead = 0
	}
	if len(pods) <= room {
		for _, c := range pods {
			p.s.Hot(in.X+lead, in.Y+len(b.Rows), in.W-lead, podSubject(c))
			b.Rows = append(b.Rows, p.podRow(c, in.W, lead))
		}
		return
	}
	per := max((in.W-lead)/3, 1)
	for i := 0; i < len(pods) && room > 0; room-- {
		r := []grid.Span{span(strings.Repeat(" ", lead), theme.Text)}
		for k := 0; k < per && i < len(pods); k++ {
			if room == 1 && k == per-1 && i < len(pods)-1 {
				r = append(r, span(fmt.Sprintf("+%d", len(pods)-i), theme.Muted))
				i = len(pods)
				break
			}
			c := pods[i]
			p.s.Hot(in.X+lead+3*k, in.Y+len(b.Rows), 2, podSubject(c))
			r = append(r, marked(c, p.f.Fresh(c.obj.Changed)), span(" ", theme.Text))
			i++
		}
		b.Rows = append(b.Rows, r)
	}
}

// podRow is a pod with its name and its address, or what keeps it from running.
func (p *picture) podRow(c cell, w, lead int) []grid.Span {
	word := c.mark.Word
	if word == "Running" {
		word = c.pod.Status.PodIP
	}
	if n := restarts(c); n > 0 {
		word = fmt.Sprintf("%s ↻%d", word, n)
	}
	name, st := c.obj.Name(), theme.Text
	if c.ghost {
		st = theme.Muted
	}
	room := w - lead - 3 - grid.Width(word) - 2
	if grid.Width(name) > room { // its end tells it from the others of its workload
		name = grid.CutLeft(name, max(room, 6))
	}
	if p.f.Fresh(c.obj.Changed) {
		st |= grid.Fresh
	}
	r := []grid.Span{span(strings.Repeat(" ", lead), theme.Text), marked(c, p.f.Fresh(c.obj.Changed)), span(" "+name, st)}
	if w > 16 {
		r = append(r, span("  "+word, c.mark.Style))
	}
	return r
}

// load is the row of what a node's pods have asked for, and of its Lease.
func (p *picture) load(node string, w int) []grid.Span {
	r := row()
	n := p.pods.nodes[node]
	if n == nil {
		return append(r, span("not registered yet", theme.Muted))
	}
	if w >= 32 {
		have, all := p.pods.of(node).cores(), n.Status.Allocatable.Cpu().AsApproximateFloat64()
		full := 0
		if all > 0 {
			full = min(int(have/all*6+0.5), 6)
		}
		if have > 0 {
			full = max(full, 1)
		}
		r = append(r, span("cpu ", theme.Muted), span(strings.Repeat("▓", full), theme.Term0), span(strings.Repeat("░", 6-full), theme.Line),
			span(fmt.Sprintf(" %s/%s   ", words.Cores(have), words.Cores(all)), theme.Number))
	}
	age, ok := p.f.S.LeaseAge(node)
	if !ok {
		return append(r, span("no Lease yet", theme.Muted))
	}
	st := theme.Muted
	if age >= view.NodeGrace {
		st = theme.Warn
	}
	return append(r, span("Lease ", theme.Muted), span(words.Dur(age.Truncate(time.Second))+" ago", st))
}

// behind is how much room there is behind what stands over a node's box: up to where the way to
// it ends.
func (p *picture) behind(at scene.Place, head []grid.Span) int {
	end, last := at.Rect.X, at.Rect.X+at.Rect.W
	if at.Framed {
		end, last = end+3, last-3
	}
	for _, x := range head {
		end += grid.Width(x.Text)
	}
	if i, _, ok := p.Way(scene.APIServer, at.ID); ok && at.Framed {
		if cells := p.Edges[i].Cells; cells[len(cells)-1].X > end {
			last = min(last, cells[len(cells)-1].X-1)
		}
	}
	return last - end
}

// cutOff puts an end to the way to a node, where it is seen: behind the node's name if that
// stands over it.
func (p *picture) cutOff(at scene.Place, head []grid.Span) []grid.Span {
	i, _, ok := p.Way(scene.APIServer, at.ID)
	if !ok {
		return nil
	}
	end := at.Rect.X + 3
	for _, x := range head {
		end += grid.Width(x.Text)
	}
	if cells := p.Edges[i].Cells; at.Framed && cells[len(cells)-1].X > end {
		p.Lines[i].Stop = true
		return nil
	}
	return []grid.Span{span(" ✗ cut", theme.Bad|grid.Bold)}
}

// fewMarks is for how many pods a tile has room at least beside the node's name.
const fewMarks = 4

// tile draws a node as its name and a mark for each of its pods.
func (p *picture) tile(at scene.Place, name string) {
	n := p.pods.records[name]
	if n == nil {
		return
	}
	on, how := n.on, p.pods.stands(p.f.S, name)
	p.heat.feels(name, how, solid(p.pods.byNode[name]))
	glyph, st := how.mark()
	mark := " "
	if glyph != '●' {
		mark = string(glyph)
	}
	label := grid.CutLeft(name, at.Rect.W-1-fewMarks)
	r := []grid.Span{span(mark, st), span(label+" ", theme.Name)}
	pods := p.pods.byNode[name]
	room := at.Rect.W - 2 - grid.Width(label)
	for i, c := range pods {
		if i == room-1 && len(pods) > room {
			r = append(r, span("+", theme.Muted))
			break
		}
		if how.differs() { // what is written of them may be true no more
			r = append(r, span("?", theme.Warn))
			continue
		}
		r = append(r, span(string(c.mark.Glyph), c.mark.Style))
	}
	p.box(at.ID).Rows = [][]grid.Span{r}
	on.Words += " " + words.Count(solid(pods), "pod") + "."
	p.s.Hot(at.Rect.X, at.Rect.Y, at.Rect.W, on)
}

// cell draws some nodes as one cell: as high as what their pods have asked for, with the
// mark of the worst of them.
func (p *picture) cell(at scene.Place) {
	var have, all int64
	worst, look := rune(0), theme.Good
	pods := 0
	var on pane.Subject
	for i, name := range at.Names {
		n := p.pods.records[name]
		if n == nil {
			continue
		}
		how := p.pods.stands(p.f.S, name)
		glyph, st := how.mark()
		p.heat.feels(name, how, p.pods.of(name).pods)
		if i == 0 || glyph != '●' && worst == 0 {
			on = n.on
		}
		if glyph != '●' && (worst == 0 || glyph == '✗') {
			worst, look = glyph, st
		}
		l := p.pods.of(name)
		have, all, pods = have+l.cpu, all+n.cpu, pods+l.pods
	}
	r := worst
	if r == 0 {
		r = grid.Level(int(have), int(all))
	}
	if n := len(at.Names); n > 1 {
		on.Words = fmt.Sprintf("%d nodes from %s on, %s.", n, at.Names[0], words.Count(pods, "pod"))
	} else {
		on.Words = p.cellWords(at.Names[0], on.Words, pods)
	}
	p.box(at.ID).Rows = [][]grid.Span{{span(string(r), look)}}
	p.s.Hot(at.Rect.X, at.Rect.Y, 1, on)
}

// cellWords says how one of many nodes stands and how many pods it has: known, or only believed.
func (p *picture) cellWords(name, said string, pods int) string {
	how := p.pods.stands(p.f.S, name)
	switch {
	case how.said == scene.Unheard:
		said = fmt.Sprintf("Node %s: said Unknown, silent for %s, %s believed to run", name, words.Dur(how.silent.Truncate(time.Second)), words.Count(pods, "pod"))
		if how.evictions > 0 && pods > 0 {
			said += ", evicted in " + words.Dur(how.evictions.Truncate(time.Second))
		}
		return said + "."
	case how.is == scene.Off && how.said == scene.Works:
		return fmt.Sprintf("Node %s is off and said to be Ready, %s believed to run.", name, words.Count(pods, "pod"))
	}
	return said + " " + words.Count(pods, "pod") + "."
}

// services draws each Service with a dotted way to the nodes of its ready endpoints.
func (p *picture) services() {
	for _, at := range p.Places {
		key, ok := strings.CutPrefix(at.ID, "svc/")
		if !ok || p.svcs[key] == nil {
			continue
		}
		s := p.svcs[key]
		st := theme.Good
		if s.ready == 0 || s.ready < s.all {
			st = theme.Warn
		}
		dots := strings.Repeat("●", s.ready) + strings.Repeat("○", max(s.all-s.ready, 0))
		if s.all > 6 {
			dots = fmt.Sprintf("%d/%d", s.ready, s.all)
		}
		if s.all == 0 {
			dots = "no endpoint"
			if grid.Width(s.obj.Name()+dots)+2 > at.Rect.W {
				dots = "○ none"
			}
		}
		address := s.svc.Spec.ClusterIP
		for i, port := range s.svc.Spec.Ports {
			address += []string{":", ","}[min(i, 1)] + fmt.Sprint(port.Port)
		}
		name, room := s.obj.Name(), at.Rect.W-grid.Width(dots)-2
		r := []grid.Span{}
		if grid.Width(name)+1+grid.Width(address) <= room {
			r = append(r, span(name, theme.Name), span(" "+address, theme.Number))
		} else {
			r = append(r, span(grid.Cut(name, room), theme.Name))
		}
		r = append(r, span(" "+dots+" ", st))
		used := 0
		for _, x := range r {
			used += grid.Width(x.Text)
		}
		drawn := false
		for i, e := range p.Edges {
			if e.Class == scene.Selects && e.From == at.ID {
				_, node, _ := strings.Cut(e.To, "/")
				if s.nodes[node] {
					p.Lines[i].Light, drawn = scene.Sound, true
				}
			}
		}
		if drawn && used < at.Rect.W {
			r = append(r, span(strings.Repeat("┄", at.Rect.W-used), theme.Muted))
		}
		p.box(at.ID).Rows = [][]grid.Span{r}
		p.s.Hot(at.Rect.X, at.Rect.Y, used-1, pane.Subject{
			ID: "svc/" + key, Ref: s.obj.Ref, Event: s.obj.Changed, Copy: s.svc.Spec.ClusterIP,
			Words: fmt.Sprintf("Service %s at %s: %d of %d endpoints ready. Its address exists only in the rules of the nodes.", key, address, s.ready, s.all),
		})
	}
}

// foot writes what does not stand in a place: what stands still and what goes on, pods
// without a node, workloads, what the marks mean, and where there is room the newest
// Kubernetes Events.
func (p *picture) foot() {
	at := p.Foot
	if at.H <= 0 {
		return
	}
	y, end := at.Y, at.Y+at.H
	if p.Form == scene.Full && at.H > 4 && !(p.f.Path != nil && at.H < 2+pathRows) {
		y++
	}
	part := p.s.Part(at.X, at.W)
	if p.floors.Store && y < end {
		p.drawFloors(part.Row(y))
		y++
	}
	if p.Grain != scene.Boxes && p.Form != scene.Strip && y < end {
		p.drawHeat(part, y, at.W)
		y++
	}
	if p.Grain == scene.Cells && p.Form != scene.Strip && end-y > 1 { // the legend stays
		p.drawPace(part, y, at.W)
		y++
	}
	if len(p.pods.pending) > 0 && y < end {
		x := part.Row(y).Text(0, 0, "no node yet ", theme.Warn)
		for _, c := range p.pods.pending[:min(len(p.pods.pending), max((at.W-x)/3, 0))] {
			m := marked(c, p.f.Fresh(c.obj.Changed))
			part.Row(y).Spans(x, 0, m)
			part.Hot(x, y, 2, podSubject(c))
			x += 3
		}
		y++
	}
	if end-y > 1 && p.Form != scene.Strip && p.volumesFoot(part, y, at.W) { // the legend stays
		y++
	}
	if p.f.Path != nil && end-y < 1+pathRows { // a row of it, and the legend where there is another
		y = p.path(part, y, min(y+1, end), at.W)
	}
	if y < end {
		rows := 1
		if p.f.Path == nil && end-y > 1 {
			rows = 2
		}
		y = p.legend(part, y, rows)
	}
	if p.f.Path != nil && end-y > pathRows { // a blank row before it
		y++
	}
	if end-y >= pathRows {
		y = p.path(part, y, end, at.W)
	}
	if left := end - y - 1; p.Form != scene.Strip && left >= 3 {
		part.KubeEvents(y+1, left, p.f, func(view.KubeEvent) bool { return true })
	}
}

// legend is one row, or two where all do not fit into it: whose letters these are and how each workload stands, then what
// the marks that occur mean.
func (p *picture) legend(s *pane.Sheet, y, rows int) int {
	a := s.Row(y)
	x := 0
	var last rune
	list := p.pods.standers(p.f)
	for i := 0; i < len(list); i++ {
		k := list[i]
		says, st := k.says(p.f.S)
		o := p.f.S.ObjectOf(k.of)
		beside, meant := companions(p.f.S, o, k.claims)
		text := fmt.Sprintf(" %s %s   ", grid.Cut(k.name, 22), strings.Join(append([]string{says}, beside...), " "))
		if k.letter == last { // whose letter it is too
			text = text[1:]
		}
		if x+1+grid.Width(text) > s.W()-2 {
			if rows--; rows == 0 {
				a.Text(x, 0, "…", theme.Muted)
				return y + 1
			}
			y++
			a, x, last = s.Row(y), 0, 0
			i--
			continue
		}
		if k.letter != last {
			x = a.Text(x, 0, string(k.letter), theme.Text|grid.Bold)
			last = k.letter
		}
		from := x
		x = a.Text(x, 0, text, st)
		if o != nil {
			s.Hot(from, y, grid.Width(strings.TrimSpace(text))+1, pane.Subject{
				ID: "work/" + o.Ref.String(), Ref: o.Ref, Event: o.Changed, Copy: o.Ref.Key(), Words: fmt.Sprintf("%s: %s, written last at revision %d.", o.Ref, strings.Join(append([]string{says}, meant...), ", "), o.Revision),
			})
		}
	}
	for _, m := range marksOf(p.pods.marks) {
		if x+2+grid.Width(m[1]) > s.W() {
			return y + 1
		}
		x = a.Spans(x, 0, span(m[0], theme.Name), span(" "+m[1]+"  ", theme.Muted))
	}
	if x == 0 {
		a.Text(0, 0, "no pods yet", theme.Muted)
	}
	return y + 1
}
