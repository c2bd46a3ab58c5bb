package apipipe

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

// drawFlows draws the priority levels in which requests have waited: their seats,
// and each queue with how many wait in it.
func drawFlows(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, o := range f.S.APIServers() {
		y = drawServerFlows(s, f, y, o.Server, &o.Fairness)
	}
	return y
}

// atServer is where something is, in a heading: nowhere particular where there is one
// server.
func atServer(f *pane.Frame, server string) string {
	if len(f.S.Balancer.Servers) == 0 {
		return ""
	}
	return " at " + server
}

func drawServerFlows(s *pane.Sheet, f *pane.Frame, y int, server string, n *view.Fairness) int {
	if n.Limits == nil && len(n.Levels) == 0 {
		return y
	}
	about := "a level whose seats are taken has its requests queue"
	if n.Limits != nil {
		about = fmt.Sprintf("%s at once in all; %s", words.Count(n.Limits.Total, "request"), about)
	}
	y = s.Heading(y, "priority and fairness"+atServer(f, server), about)
	for i := range n.Levels {
		y = drawLevel(s, f, y, server, &n.Levels[i])
	}
	return drawUntouched(s, y, n)
}

// drawUntouched draws the levels in which nobody has had to wait, in one
// paragraph: who has seats to lend.
func drawUntouched(s *pane.Sheet, y int, n *view.Fairness) int {
	all := n.Untouched()
	if len(all) == 0 {
		return y
	}
	parts := make([]string, len(all))
	for i, l := range all {
		parts[i] = fmt.Sprintf("%s %d", l.Level, l.Limit)
		if b := l.Borrowed(); b != 0 {
			parts[i] += fmt.Sprintf(" (%+d)", b)
		}
	}
	return s.Say(y, "Nobody waits in: "+strings.Join(parts, ", ")+". With + of its share a level borrows, with - it lends.", theme.Muted)
}

func drawLevel(s *pane.Sheet, f *pane.Frame, y int, server string, l *view.FlowLevel) int {
	st := theme.Text
	if f.Fresh(l.Event) {
		st |= grid.Fresh
	}
	waiting := theme.Muted
	if l.Waiting() > 0 {
		waiting = theme.Busy
	}
	rejected := theme.Muted
	if l.Rejected > 0 {
		rejected = theme.Bad
	}
	s.Line(y, pane.Subject{
		ID: "level/" + l.Name + atServer(f, server), Event: l.Event, Kind: trace.FlowQueued,
		Words: fmt.Sprintf("Priority level %s has %s%s; %s wait in %s. %s have waited and were served, %s were turned down with 429.", l.Name,
			words.Count(l.Limit, "seat"), lending(l.Borrowed()), words.Count(l.Waiting(), "request"), words.Count(len(l.Queues), "queue"), words.Count(int(l.Served), "request"), words.Count(int(l.Rejected), "request")),
	},
		grid.Span{Text: grid.Pad(l.Name, 18) + " ", Style: st}, grid.Span{Text: grid.Pad(words.Count(l.Limit, "seat"), 9) + " ", Style: theme.Number},
		grid.Span{Text: signed(l.Borrowed()), Style: theme.Busy},
		grid.Span{Text: fmt.Sprintf("%d wait, ", l.Waiting()), Style: waiting}, grid.Span{Text: fmt.Sprintf("%d served after waiting, ", l.Served), Style: theme.Muted},
		grid.Span{Text: fmt.Sprintf("%d × 429", l.Rejected), Style: rejected})
	y++
	for i, q := range l.Queues {
		if i == mostQueues {
			s.Row(y).Text(2, 0, fmt.Sprintf("… %s more", words.Count(len(l.Queues)-i, "queue")), theme.Muted)
			return y + 1
		}
		a := s.Row(y)
		x := a.Text(2, 0, grid.Pad(fmt.Sprintf("queue %d", q.Number), 10), theme.Muted)
		x = a.Text(x, 0, bar(q.Waiting), theme.Busy)
		x = a.Text(x+1, 0, fmt.Sprint(q.Waiting), theme.Number)
		a.Fit(x+2, 0, s.W()-x-2, q.Flow, theme.Name)
		y++
	}
	return y
}

// lending says how many seats of a level are borrowed, or may be.
func lending(borrowed int) string {
	switch {
	case borrowed > 0:
		return fmt.Sprintf(", %d of them borrowed from other levels", borrowed)
	case borrowed < 0:
		return fmt.Sprintf(", and %d that others may borrow", -borrowed)
	}
	return ""
}

func signed(borrowed int) string {
	switch {
	case borrowed > 0:
		return fmt.Sprintf("+%d borrowed, ", borrowed)
	case borrowed < 0:
		return fmt.Sprintf("%d to lend, ", -borrowed)
	}
	return ""
}

// mostQueues is how many queues of a level are drawn.
const mostQueues = 8

// bar is a mark for each request that waits, or, where they are many, for each
// few.
func bar(n int) string {
	const most = 25
	if n > most {
		n = most
	}
	b := make([]rune, n)
	for i := range b {
		b[i] = '▪'
	}
	return string(b)
}

// drawConfigs tells what the API server's other files say.
func drawConfigs(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, o := range f.S.APIServers() {
		y = drawServerConfigs(s, f, y, o.Server, o.Configs)
	}
	return y
}

func drawServerConfigs(s *pane.Sheet, f *pane.Frame, y int, server string, configs []view.ServerConfig) int {
	for i := range configs {
		n := &configs[i]
		if n.Written == nil && n.Loaded == nil {
			continue
		}
		y = s.Heading(y, n.For+" configuration"+atServer(f, server), n.File)
		on := pane.Subject{ID: "config/" + n.File + atServer(f, server), Event: n.Event, Kind: trace.ServerConfigured, Words: "What " + n.File + " on the API server's machine asks for, as the server has read it."}
		if n.Loaded != nil {
			for _, line := range n.Loaded.Says {
				s.Line(y, on, grid.Span{Text: line, Style: theme.Text})
				y++
			}
		}
		if n.Stale() {
			y = s.Say(y, "The file was changed; the API server has not read it yet: it does when it starts.", theme.Warn)
		}
	}
	return y
}
