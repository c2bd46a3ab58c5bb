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

// mostAssigned is how many pods the pane lists that others have bound.
const mostAssigned = 8

// drawAbsent is the pane before the first cycle: nothing was placed yet, or others place the pods.
func drawAbsent(s *pane.Sheet, f *pane.Frame, y int) int {
	says := "No pod has been placed yet. When one waits, its scheduling cycle appears here: every node against every plugin."
	if lacks := f.S.Lacks(trace.CompScheduler); lacks != "" {
		says = strings.ToUpper(lacks[:1]) + lacks[1:] + ": a program from outside can take its place. Its bindings appear here; why it chose a node, only it knows."
	}
	return s.Say(y, says, theme.Muted)
}

// drawAssigned lists the pods that no scheduler of kviz' own has bound, the newest first, and who did.
func drawAssigned(s *pane.Sheet, f *pane.Frame, y int) int {
	all := f.S.Scheduler.Assigned()
	if len(all) == 0 {
		return y
	}
	s.Row(y).Text(0, 0, "bound by others, who did not say why", theme.Title)
	y++
	shown := all[max(0, len(all)-mostAssigned):]
	podW, nodeW := 0, 0
	for _, a := range shown {
		podW, nodeW = max(podW, min(grid.Width(a.Pod), s.W()/3)), max(nodeW, min(grid.Width(a.Node), 16))
	}
	for i := len(shown) - 1; i >= 0; i-- {
		drawAssignment(s, f, y, shown[i], podW, nodeW)
		y++
	}
	if n := len(all) - len(shown); n > 0 {
		s.Row(y).Text(0, 0, fmt.Sprintf("… and %s before", words.Count(n, "pod")), theme.Muted)
		y++
	}
	return y
}

func drawAssignment(s *pane.Sheet, f *pane.Frame, y int, a *view.Assignment, podW, nodeW int) {
	st := theme.Name
	if f.Fresh(a.Event) {
		st |= grid.Fresh
	}
	by := a.User
	switch {
	case a.Agent != "":
		by += " (" + a.Agent + ")"
	case a.Client != "":
		by += " (" + a.Client + ")"
	}
	s.Line(y, pane.Subject{
		ID: "assigned/" + a.Pod, Ref: pane.PodRef(a.Pod), Pod: a.Pod, Event: a.Event, Kind: trace.StoreCommit, Words: a.Says() + ".",
	},
		grid.Span{Text: grid.Pad(grid.Cut(a.Pod, podW), podW), Style: st},
		grid.Span{Text: " → ", Style: theme.Muted}, grid.Span{Text: grid.Pad(grid.Cut(a.Node, nodeW), nodeW), Style: theme.Good},
		grid.Span{Text: "  " + by, Style: theme.Text})
}
