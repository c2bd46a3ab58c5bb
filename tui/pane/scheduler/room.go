package scheduler

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawRoom draws, of a cycle that makes room, the nodes on which that was possible and who would
// have to go from each: the nominated node first, with the reason why it is that one.
func drawRoom(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	if c.Decision == nil || c.Decision.Nominated == "" {
		return y
	}
	d := c.Decision
	y = s.Heading(y, "where room can be made", "by evicting pods of lower priority")
	most := max(f.Rows/4, 3)
	for i := range d.Candidates {
		n := &d.Candidates[i]
		if !f.Match(n.Node) {
			continue
		}
		if i >= most {
			return s.Say(y, fmt.Sprintf("… and on %s more", words.Count(len(d.Candidates)-i, "node")), theme.Muted)
		}
		mark, st, text := "  ", theme.Muted, view.WouldGo(n)
		if n.Node == d.Nominated {
			mark, st, text = "⇒ ", theme.Busy, text+"; taken: "+d.Because
		}
		on := pane.Subject{ID: "room/" + n.Node, Node: n.Node, Event: c.Decided, Kind: trace.SchedDecision, Words: c.Pod + " would fit on " + n.Node + " without " + view.WouldGo(n) + "."}
		whole := f.Focused && f.Cursor == on.ID || i == 0
		for j, l := range grid.Lines(text, max(s.W()-13, 20)) {
			if j > 0 && !whole {
				break
			}
			if j > 0 {
				s.Row(y).Text(13, 0, l, theme.Text)
			} else {
				s.Line(y, on, grid.Span{Text: mark, Style: st}, grid.Span{Text: grid.Pad(n.Node, 10) + " ", Style: theme.Name}, grid.Span{Text: l, Style: theme.Text})
			}
			y++
		}
	}
	return y
}
