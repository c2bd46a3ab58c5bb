package scheduler

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawChanges draws, of a cycle that found no node, what would have to change on each,
// the smallest change first: the node under the cursor in full, of the others as much as a row has room for.
func drawChanges(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	if c.Decision == nil || len(c.Decision.Changes) == 0 {
		return y
	}
	y = s.Heading(y, "what would have to change", "the smallest change first; the filters were asked again")
	most := max(f.Rows/3, 4)
	for i := range c.Decision.Changes {
		n := &c.Decision.Changes[i]
		if !f.Match(n.Node) {
			continue
		}
		if i >= most {
			return s.Say(y, fmt.Sprintf("… and on %s more", words.Count(len(c.Decision.Changes)-i, "node")), theme.Muted)
		}
		text := view.WouldFit(n)
		id := "change/" + n.Node
		on := pane.Subject{ID: id, Node: n.Node, Event: c.Decided, Kind: trace.SchedDecision, Words: c.Pod + " would fit on " + n.Node + ": " + text + "."}
		if n.Never != "" {
			on.Words = n.Node + ": " + text + "."
			s.Line(y, on, grid.Span{Text: grid.Pad(n.Node, 10) + " ", Style: theme.Muted}, grid.Span{Text: text, Style: theme.Muted})
			y++
			continue
		}
		y = drawChange(s, y, on, n, f.Focused && f.Cursor == id || i == 0)
	}
	return y
}

// drawChange draws one node's change: in one row what of the node, or whole, with what of the pod
// would do instead.
func drawChange(s *pane.Sheet, y int, on pane.Subject, n *trace.NodeChange, whole bool) int {
	var what []string
	for _, step := range n.Steps {
		what = append(what, step.What)
	}
	mark := "+ "
	x := 13
	text := strings.Join(what, ", and ")
	all := view.WouldFit(n)
	if !whole && grid.Width(all) > s.W()-x {
		s.Line(y, on, grid.Span{Text: mark, Style: theme.Added}, grid.Span{Text: grid.Pad(n.Node, 10) + " ", Style: theme.Name}, grid.Span{Text: text, Style: theme.Text})
		return y + 1
	}
	text = all
	for i, l := range grid.Lines(text, max(s.W()-x, 20)) {
		if i == 0 {
			s.Line(y, on, grid.Span{Text: mark, Style: theme.Added}, grid.Span{Text: grid.Pad(n.Node, 10) + " ", Style: theme.Name}, grid.Span{Text: l, Style: theme.Text})
		} else {
			s.Row(y).Text(x, 0, l, theme.Text)
		}
		y++
	}
	return y
}

// drawTimes draws what the cycle took. A plugin takes no virtual time, so none is shown of
// plugins; how many nodes each was asked about stands beside it instead.
func drawTimes(s *pane.Sheet, y int, c *view.Cycle) int {
	spans := c.Spans()
	long, ok := view.Longest(spans)
	x := s.Row(y).Text(0, 0, "took   ", theme.Muted)
	said := false
	for _, span := range spans {
		if span.Took() <= 0 {
			continue
		}
		st := theme.Number
		if ok && span == long {
			st |= grid.Bold
		}
		text := words.Dur(span.Took()) + " " + span.What
		if said {
			x = s.Row(y).Text(x, 0, " · ", theme.Line)
		}
		end := s.Row(y).Text(x, 0, text, st)
		s.Hot(x, y, end-x, pane.Subject{
			ID: "took/" + span.What, Event: span.Event, Pod: c.Pod, Kind: trace.SchedCycle,
			Words: fmt.Sprintf("Cycle %d of %s: %s %s of virtual time, from %s to %s.", c.Number, c.Pod, span.What, words.Dur(span.Took()), words.Clock(span.From), words.Clock(span.To)),
		})
		x, said = end, true
	}
	note := "its plugins take no virtual time"
	if !said {
		note = "no virtual time yet"
	} else if x+3+grid.Width(note) > s.W() {
		x, y = 7, y+1
	} else {
		x = s.Row(y).Text(x, 0, " · ", theme.Line)
	}
	s.Row(y).Fit(x, 0, max(s.W()-x, 0), note, theme.Muted)
	s.Hot(x, y, min(grid.Width(note), max(s.W()-x, 0)), pane.Subject{
		ID: "took/plugins", Event: c.Start, Pod: c.Pod, Kind: trace.SchedPoint,
		Words: "All plugins of a cycle run at one instant, so a plugin takes no virtual time. Instead, " + work(c),
	})
	return y + 1
}

// work says how much the filters had to do in a cycle, which is what can be said of a plugin
// that takes no time.
func work(c *view.Cycle) string {
	if text := strings.TrimPrefix(asked(c, "Filter"), "; "); text != "" {
		return text + "."
	}
	return "the point Filter says how many nodes each filter was asked about."
}
