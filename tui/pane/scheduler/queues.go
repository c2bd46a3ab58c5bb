package scheduler

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// points are the extension points of the scheduling framework in their order.
// (pkg/scheduler/framework/interface.go)
var points = []string{
	"PreEnqueue", "QueueSort", "PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit", "PreBind", "Bind", "PostBind",
}

// drawWalk draws the twelve extension points and which of them the cycle has
// passed.
func drawWalk(s *pane.Sheet, y int, c *view.Cycle) int {
	ran := map[string]view.PointRun{}
	for _, p := range c.Points() {
		ran[p.Point] = p
	}
	x := s.Row(y).Text(0, 0, "points ", theme.Muted)
	for _, p := range points {
		run, ok := ran[p]
		passed := ok || p == "Filter" && len(c.Filters()) > 0 || p == "Score" && len(c.Scores()) > 0 || p == "Bind" && c.Bind != nil
		text, st := p, theme.Muted
		if passed {
			text, st = "✓"+p, theme.Good
		}
		if x+grid.Width(text) > s.W() {
			x, y = 7, y+1
		}
		end := s.Row(y).Text(x, 0, text, st)
		if ok {
			s.Hot(x, y, end-x, pane.Subject{
				ID: "point/" + p, Event: run.Event, Kind: trace.SchedPoint,
				Words: strings.TrimSpace("Extension point " + p + ": " + strings.Join(run.Plugins, ", ") + ". " + run.Note + asked(c, p)),
			})
		}
		x = end + 1
	}
	return y + 1
}

// asked is how many nodes each filter was asked about, and how many it rejected: the work
// that a plugin does where it takes no time.
func asked(c *view.Cycle, point string) string {
	if point != "Filter" {
		return ""
	}
	nodes, rejected := map[string]int{}, map[string]int{}
	for _, v := range c.Filters() {
		for _, n := range v.Passed {
			nodes[n]++
		}
		if v.By != "" {
			nodes[v.By]++
			rejected[v.By]++
		}
	}
	text := ""
	filters, _ := plugins(c)
	for _, n := range filters {
		text += fmt.Sprintf("; %s was asked about %s", n, words.Count(nodes[n], "node"))
		if rejected[n] > 0 {
			text += fmt.Sprintf(" and rejected %d", rejected[n])
		}
	}
	return text
}

// drawQueues draws the pods in the scheduler's queues.
func drawQueues(s *pane.Sheet, f *pane.Frame, y int) int {
	y = s.Heading(y, "queues", "pods without a node")
	marks := map[string]string{"active": "▸", "backoff": "◷", "unschedulable": "✗", "gated": "‖"}
	means := map[string]string{"active": "none to place", "backoff": "none waits to be tried again", "unschedulable": "none that no node can take"}
	for _, q := range []string{"active", "backoff", "unschedulable", "gated"} {
		pods := f.S.Scheduler.PodsIn(q)
		if q == "gated" && len(pods) == 0 {
			continue
		}
		s.Row(y).Text(0, 0, marks[q]+" "+q, theme.Muted)
		if len(pods) == 0 {
			s.Row(y).Text(17, 0, means[q], theme.Muted)
			y++
			continue
		}
		st := theme.Text
		if q == "unschedulable" || q == "backoff" {
			st = theme.Warn
		}
		y = drawPods(s, f, y, pods, st)
	}
	return drawPermit(s, f, y)
}

// drawPermit draws the pods that have their node and wait at Permit, a row each.
func drawPermit(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, pod := range f.S.Scheduler.PodsIn("permit") {
		var waits []string
		for _, pl := range pod.Permit.Pending {
			waits = append(waits, fmt.Sprintf("%s, %d s left", pl.Plugin, max(pl.Until-f.S.At, 0).Round(time.Second)/time.Second))
		}
		on := pane.OnPod(pod.Pod)
		on.Event, on.Kind = pod.Event, trace.SchedPermit
		on.Words = fmt.Sprintf("Pod %s has its place on %s and waits at Permit for %s. kviz scheduler allow pod/NAME lets it go on, kviz scheduler reject pod/NAME sends it back.",
			pod.Pod, pod.Permit.Node, strings.Join(waits, "; "))
		st := theme.Busy
		if f.Fresh(pod.Event) {
			st |= grid.Fresh
		}
		s.Line(y, on, grid.Span{Text: grid.Pad("… permit", 17), Style: theme.Muted}, grid.Span{Text: pod.Pod, Style: st},
			grid.Span{Text: " on " + pod.Permit.Node + " waits at Permit: " + strings.Join(waits, "; "), Style: theme.Text})
		y++
	}
	return y
}

// drawPods draws the pods of a queue, as many in a row as there is room for.
func drawPods(s *pane.Sheet, f *pane.Frame, y int, pods []*view.SchedPod, st grid.Style) int {
	const in = 17
	x := in
	for i, pod := range pods {
		text := pod.Pod
		if pod.Attempts > 1 {
			text += fmt.Sprintf(" (%d tries)", pod.Attempts)
		}
		by := f.S.Scheduler.By(pod.In)
		text += tail(" of ", by)
		if x > in && x+grid.Width(text) > s.W() {
			x, y = in, y+1
			if y > 3000 {
				s.Row(y).Text(x, 0, fmt.Sprintf("… %d more", len(pods)-i), theme.Muted)
				break
			}
		}
		style := st
		if f.Fresh(pod.Event) {
			style |= grid.Fresh
		}
		end := s.Row(y).Text(x, 0, text, style)
		on := pane.OnPod(pod.Pod)
		on.Event, on.Kind = pod.Event, trace.SchedQueue
		on.Words = fmt.Sprintf("Pod %s is in the %s queue, moved there by %s, %s so far.", pod.Pod, pod.Queue, pod.Cause, words.Count(pod.Attempts, "attempt"))
		if last := pod.LastMove(); last.Plugin != "" {
			on.Words = fmt.Sprintf("Pod %s is in the %s queue, moved there by %s; %s so far.", pod.Pod, pod.Queue, view.MovedBy(last.SchedQueueMove), words.Count(pod.Attempts, "attempt"))
		}
		if pod.Stay != nil {
			on.Words += " It was " + view.NotMoved(pod.Stay) + "."
		}
		if by != "" {
			on.Words += fmt.Sprintf(" It waits for the scheduler %s, which runs in the pod %s.", by, pod.In)
		}
		s.Hot(x, y, end-x, on)
		x = end + 2
	}
	return y + 1
}

// tail is text after what leads to it, or "" if there is none.
func tail(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// waited is how long the pod was in the queues before the cycle, if it was.
func waited(c *view.Cycle) string {
	if c.At <= c.Queued {
		return ""
	}
	return "  waited " + words.Dur(c.At-c.Queued)
}

// drawCycles lists the last cycles, newest first.
func drawCycles(s *pane.Sheet, f *pane.Frame, y int, shown *view.Cycle) {
	all := f.S.Scheduler.RecentCycles()
	if len(all) == 0 {
		return
	}
	y = s.Heading(y, "cycles", "newest first; enter shows one")
	for i, end := len(all)-1, y+max(f.Rows, 16); i >= 0; i-- {
		c := all[i]
		if !f.Match(c.Pod) {
			continue
		}
		if y == end {
			s.Row(y).Text(1, 0, "… older ones; < goes on to them", theme.Muted)
			return
		}
		mark := " "
		if shown != nil && c.Number == shown.Number {
			mark = "▸"
		}
		text, st := "not decided yet", theme.Busy
		if d := c.Decision; d != nil && d.Node != "" {
			text, st = "⇒ "+d.Node, theme.Good
		} else if d != nil {
			text, st = "✗ no node fits", theme.Warn
		}
		name := theme.Name
		if f.Fresh(c.Start) || f.Fresh(c.Decided) {
			name |= grid.Fresh
		}
		s.Line(y, pane.Subject{
			ID: fmt.Sprintf("cycle/%d", c.Number), Value: c.Number, Event: c.Start, Pod: c.Pod, Kind: trace.SchedCycle,
			Words: fmt.Sprintf("Cycle %d, %s ago: %s, attempt %d: %s.", c.Number, words.Dur(f.S.At-c.At), c.Pod, c.Attempt, strings.TrimPrefix(text, "⇒ ")),
		},
			grid.Span{Text: mark, Style: theme.Accent}, grid.Span{Text: grid.PadLeft(fmt.Sprint(c.Number), 4) + "  ", Style: theme.Muted},
			grid.Span{Text: grid.Pad(c.Pod, max(min(s.W()-40, 44), 16)) + " ", Style: name}, grid.Span{Text: text, Style: st},
			grid.Span{Text: tail("  by ", f.S.Scheduler.By(c.In)), Style: theme.Accent},
			grid.Span{Text: waited(c), Style: theme.Number}, grid.Span{Text: "  " + words.Dur(f.S.At-c.At) + " ago", Style: theme.Muted})
		y++
	}
}
