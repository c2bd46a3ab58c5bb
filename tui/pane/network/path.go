package network

import (
	"fmt"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawPath draws the way to the Service that is looked at, in four boxes: who asks, the Service,
// the rules of a node, the pods; then what the EndpointSlices and the rules of every node say.
func (p *Network) drawPath(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) int {
	svc := p.service(f)
	if svc == nil || n == nil || f.Rows < lowest {
		return y
	}
	w := p.wayOf(f.S, svc, n, p.flowTo(f, svc))
	if w == nil {
		return y
	}
	if s.W() < 76 {
		y = p.pathInRows(s, f, y, w)
	} else {
		y = p.pathInBoxes(s, f, y, w)
	}
	return p.beliefs(s, f, y, w)
}

// lowest is how many rows the pane has at least for the way to have room above the rules.
const lowest = 10

// service is the one that is looked at: under the cursor, here or elsewhere, or the one that was
// asked last, or the first of a person.
func (p *Network) service(f *pane.Frame) *view.Object {
	find := func(key string) *view.Object {
		ns, name, _ := strings.Cut(key, "/")
		return f.S.Object("services", ns, name)
	}
	if key, ok := strings.CutPrefix(f.Cursor, "svc/"); ok && f.Focused {
		p.looked = key
	} else if f.Sel.Ref.Kind == "Service" {
		p.looked = f.Sel.Ref.Key()
	}
	if o := find(p.looked); o != nil {
		return o
	}
	var first, any *view.Object
	for _, o := range f.S.Objects("services", "") {
		if !f.Match(o.Name(), o.Namespace()) {
			continue
		}
		if any == nil {
			any = o
		}
		if own := o.Namespace() == "kube-system" || o.Ref.Key() == "default/kubernetes"; first == nil && !own {
			first = o
		}
	}
	if first == nil {
		return any
	}
	return first
}

// flowTo is the packet to a Service that is shown: the newest, or an older one.
func (p *Network) flowTo(f *pane.Frame, svc *view.Object) *view.Flow {
	address := addressOf(svc)
	var found []*view.Flow
	for _, fl := range f.S.Flows() {
		if asked(fl, address, svc.Name()) {
			found = append(found, fl)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[max(len(found)-1-p.older, 0)]
}

// who asked, and for what.
func (w *way) who(s *view.State) (name, what string) {
	if w.flow == nil {
		return "nobody yet", "curl " + w.key
	}
	name, what = "a packet", ""
	if hops := w.flow.Hops(); len(hops) > 0 {
		for _, h := range hops {
			if h.Src == "" { // a name is looked up first
				continue
			}
			name, _, _ = strings.Cut(h.Src, ":")
			if pod := podAt(s, name); pod != nil {
				name = pod.Name()
			}
			break
		}
	}
	if e := w.flow.End; e != nil {
		name, what = e.From[strings.LastIndexByte(e.From, '/')+1:], "asks "+e.To
	}
	return name, what
}

// look is how what leads to a place is drawn: heavy where the packet has come along it.
func (w *way) look(place int) (line string, st grid.Style) {
	if w.flow != nil && w.came >= place {
		return "━", theme.Accent | grid.Bold
	}
	return "─", theme.Line
}

// most is how many pods have a row of their own.
const most = 6

// pathInBoxes draws the way from left to right. It gives the row below.
func (p *Network) pathInBoxes(s *pane.Sheet, f *pane.Frame, y int, w *way) int {
	widths, gaps := [3]int{12, 18, 12}, [3]int{3, 3, 8}
	if s.W() >= 110 {
		widths, gaps = [3]int{22, 22, 21}, [3]int{5, 5, 14}
	}
	ends := w.ends[:min(len(w.ends), most)]
	h := max(len(ends), 2) + 2
	var xs [4]int
	for i := range widths {
		xs[i+1] = xs[i] + widths[i] + gaps[i]
	}
	rest := s.W() - xs[3]
	box := func(i, width, high int, title string, place int, rows ...[]grid.Span) {
		a := s.Rows(y, high).Sub(xs[i], 0, width, high)
		line := theme.Line
		if w.flow != nil && w.came == place {
			line = theme.Accent
			if w.bad != "" {
				line = theme.Bad
			}
		}
		in := a.Frame([]grid.Span{{Text: title, Style: theme.Title}}, line)
		for k, r := range rows {
			in.Spans(0, k, r...)
		}
		if w.bad != "" && w.came == place {
			a.Text(width-4, 0, " ✗ ", theme.Bad|grid.Bold)
		}
	}
	one := func(text string, st grid.Style) []grid.Span { return []grid.Span{{Text: text, Style: st}} }
	name, what := w.who(f.S)
	box(0, widths[0], 4, "asks", asks, one(name, theme.Name), one(what, theme.Muted))
	_, short, _ := strings.Cut(w.key, "/")
	box(1, widths[1], 4, "Service", atService, one(short, theme.Name|grid.Bold), one(w.address, theme.Number))
	rules := [][]grid.Span{one("no rule", theme.Warn)}
	if w.chain != "" {
		rules[0] = one(w.chain, theme.Name)
	}
	if w.drew != "" {
		rules = append(rules, one(w.drew, theme.Number))
	}
	if w.taken >= 0 && len(w.ends) > 1 {
		rules = append(rules, one(ordinal(w.taken)+" way", theme.Muted))
	}
	box(2, widths[2], h, "rules", atRules, rules...)
	var pods [][]grid.Span
	for i, e := range ends {
		letter, mark := e.mark(f.S)
		st := theme.Text
		if i == w.taken {
			st = theme.Accent | grid.Bold
		}
		pods = append(pods, []grid.Span{{Text: letter + string(mark.Glyph), Style: mark.Style}, {Text: " " + e.words(rest-5), Style: st}})
		p.ends = append(p.ends, func() { hotEnd(s, xs[3]+1, y+1+i, rest-2, e) })
	}
	if len(pods) == 0 {
		pods = append(pods, one("no endpoint", theme.Warn))
	}
	box(3, rest, h, "Pods", atPod, pods...)
	w.draw(s.Rows(y, h), xs, widths, gaps, ends)
	y += h
	if more := len(w.ends) - len(ends); more > 0 {
		s.Row(y-1).Text(xs[3]+2, 0, fmt.Sprintf(" … %d more ", more), theme.Muted)
	}
	return y
}

// draw draws the lines between the boxes, and the packet on the one along which it came last.
func (w *way) draw(a grid.Area, xs [4]int, widths, gaps [3]int, ends []end) {
	for i := range 2 {
		line, st := w.look(i + 1)
		x := xs[i] + widths[i]
		a.Text(x, 1, strings.Repeat(line, gaps[i]-1)+"▶", st)
		if w.flow != nil && w.came == i+1 && w.flow.End == nil && w.taken < 0 {
			a.Put(x+gaps[i]/2, 1, '▪', theme.Title)
		}
	}
	x, n := xs[2]+widths[2], gaps[2]
	for i, e := range ends {
		line, st, end := "─", theme.Line, "▶"
		label := e.chance
		switch {
		case e.chance == "":
			line, st, label, end = "┄", theme.Warn, "no rule", "┄"
		case i == w.taken:
			line, st = "━", theme.Accent|grid.Bold
		}
		if len(label)+3 > n {
			label = strings.Replace(label, "p 0.", "p .", 1)
		}
		text := strings.Repeat(line, n-1) + end
		a.Text(x, 1+i, text, st)
		if len(label)+2 < n {
			a.Text(x+1, 1+i, label, st)
		}
		if i == w.taken {
			a.Put(x+n-2, 1+i, '▪', theme.Title)
		}
	}
}

// words are what stands for a pod: its name, its address, its node, as far as there is room.
func (e end) words(w int) string {
	name := "a pod that is gone"
	switch {
	case e.pod != nil:
		name = e.pod.Name()
	case e.outside:
		name = "no pod"
	}
	tail := " " + e.ip()
	if w > 48 {
		tail += "  " + e.node
	}
	if e.outside && grid.Width(name+tail) > w { // the address tells more than "no pod"
		return grid.Cut(strings.TrimPrefix(tail, " "), w)
	}
	if grid.Width(name+tail) > w {
		name = grid.CutLeft(name, max(w-grid.Width(tail), 5))
	}
	return name + tail
}

func hotEnd(s *pane.Sheet, x, y, w int, e end) {
	if e.pod == nil {
		return
	}
	on := pane.OnPod(e.pod.Ref.Key())
	on.Ref, on.Event, on.Node = e.pod.Ref, e.pod.Changed, e.node
	on.Words = fmt.Sprintf("Pod %s at %s on %s", e.pod.Ref.Key(), e.ip(), e.node)
	switch {
	case e.chance == "" && e.listed:
		on.Words += " is a ready endpoint, and no rule leads there yet."
	case e.chance == "":
		on.Words += " is not ready: no rule leads there."
	case !e.listed:
		on.Words += " is no ready endpoint any more, but a rule still leads there."
	default:
		on.Words += " is an endpoint of the Service: " + e.chance + "."
	}
	s.Hot(x, y, w, on)
}

// pathInRows draws the way from top to bottom, where there is no room for boxes.
func (p *Network) pathInRows(s *pane.Sheet, f *pane.Frame, y int, w *way) int {
	row := func(place int, title string, spans ...grid.Span) {
		mark, st := "  ", theme.Line
		if w.flow != nil && w.came >= place {
			mark, st = "▪ ", theme.Accent|grid.Bold
		}
		if w.bad != "" && w.came == place {
			mark, st = "✗ ", theme.Bad|grid.Bold
		}
		s.Row(y).Spans(0, 0, append([]grid.Span{{Text: mark, Style: st}, {Text: grid.Pad(title, 8), Style: theme.Muted}}, spans...)...)
		y++
	}
	name, what := w.who(f.S)
	row(asks, "asks", grid.Span{Text: name + " ", Style: theme.Name}, grid.Span{Text: what, Style: theme.Muted})
	row(atService, "Service", grid.Span{Text: w.key + " ", Style: theme.Name}, grid.Span{Text: w.address, Style: theme.Number})
	row(atRules, "rules", grid.Span{Text: w.chain + " ", Style: theme.Name}, grid.Span{Text: w.drew, Style: theme.Number})
	for i, e := range w.ends[:min(len(w.ends), most)] {
		letter, mark := e.mark(f.S)
		at, st := atPod+1, theme.Text
		if i == w.taken {
			at, st = atPod, theme.Accent|grid.Bold
		}
		chance := e.chance
		if chance == "" {
			chance = "no rule"
		}
		at0 := y
		p.ends = append(p.ends, func() { hotEnd(s, 0, at0, s.W(), e) })
		row(at, chance, grid.Span{Text: letter + string(mark.Glyph), Style: mark.Style}, grid.Span{Text: " " + e.words(s.W()-14), Style: st})
	}
	return y
}

// beliefs are the rows below: what the EndpointSlices list, and whose rules say something else.
func (p *Network) beliefs(s *pane.Sheet, f *pane.Frame, y int, w *way) int {
	if w.bad != "" {
		s.Row(y).Fit(1, 0, s.W()-1, "✗ "+w.bad, theme.Bad|grid.Bold)
		y++
	}
	nodes, what := p.differing(f.S, w)
	a := s.Row(y)
	x := a.Text(1, 0, "rules of", theme.Muted)
	same := 0
	for _, n := range nodes {
		if what[n] == "" {
			same++
			if len(nodes) <= 4 {
				x = a.Spans(x+1, 0, grid.Span{Text: n + " ", Style: theme.Text}, grid.Span{Text: "✓", Style: theme.Good})
			}
		}
	}
	if len(nodes) > 4 {
		x = a.Spans(x+1, 0, grid.Span{Text: fmt.Sprintf("%d of %d nodes ", same, len(nodes)), Style: theme.Text}, grid.Span{Text: "✓", Style: theme.Good})
	}
	for _, n := range nodes {
		if what[n] != "" {
			x = a.Spans(x+1, 0, grid.Span{Text: n + " ", Style: theme.Text}, grid.Span{Text: "✗ " + what[n], Style: theme.Bad})
		}
	}
	var off []string
	for _, e := range w.ends {
		if !e.listed {
			off = append(off, e.ip())
		}
	}
	if len(off) > 0 {
		a.Text(x+2, 0, "not ready: "+strings.Join(off, ", "), theme.Warn)
	}
	return y + 1
}

func ordinal(i int) string {
	if names := []string{"first", "second", "third", "fourth"}; i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%dth", i+1)
}
