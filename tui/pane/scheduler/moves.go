package scheduler

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawMoves draws what moved the pod of a cycle between the queues: the event that let it into
// the cycle, and where it waits since.
func drawMoves(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle) int {
	for i := len(c.Moves) - 1; i >= 0; i-- {
		if m := c.Moves[i]; m.Plugin != "" {
			y = sayMove(s, f, y, c, "came  ", "moved from "+m.From+" to "+m.To+" by "+view.MovedBy(m.SchedQueueMove), m.Event, trace.SchedQueue, theme.Added)
			break
		}
	}
	p := f.S.Scheduler.Pod(c.Pod)
	if p == nil || p.In != c.In || p.Queue == "active" || p.Queue == "permit" {
		return y
	}
	text := p.Queue + ", "
	last := p.LastMove()
	switch rejected := p.Rejected(); {
	case p.Queue == "unschedulable" && len(rejected) > 0:
		text += "rejected by " + strings.Join(rejected, ", ")
	case last.Plugin != "":
		text += "moved by " + view.MovedBy(last.SchedQueueMove)
	case p.Queue == "unschedulable":
		text += "waits for an event that could help"
	case p.Queue == "backoff":
		text += "waits for the end of its back-off"
	default:
		text += "the scheduler does not look at it yet"
	}
	y = sayMove(s, f, y, c, "queue ", text, p.Event, trace.SchedQueue, theme.Warn)
	if p.Stay != nil {
		y = sayMove(s, f, y, c, "      ", view.NotMoved(p.Stay), p.StayEvent, trace.SchedStay, theme.Muted)
	}
	return y
}

// sayMove draws a sentence about the pod in the queues.
func sayMove(s *pane.Sheet, f *pane.Frame, y int, c *view.Cycle, name, text string, event trace.ID, kind trace.Kind, st grid.Style) int {
	if f.Fresh(event) {
		st |= grid.Fresh
	}
	for i, l := range grid.Lines(text, max(s.W()-7, 20)) {
		if i == 0 {
			s.Row(y).Text(0, 0, name, theme.Muted)
		}
		s.Row(y).Text(7, 0, l, st)
		if i == 0 {
			s.Hot(7, y, grid.Width(l), pane.Subject{ID: "move/" + event.String(), Event: event, Pod: c.Pod, Ref: pane.PodRef(c.Pod), Kind: kind, Words: c.Pod + ": " + text + "."})
		}
		y++
	}
	return y
}
