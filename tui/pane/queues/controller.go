package queues

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// mostEvents is how many of a controller's Events are shown.
const mostEvents = 8

// drawOne draws one controller: how it is, what it watches, its queues with their keys, its last
// runs with all that each decided, and the Events that it wrote.
func drawOne(s *pane.Sheet, f *pane.Frame, r *row) {
	y := 1
	s.Line(0, pane.Subject{ID: "back/controllers", Words: "Back to the list of all controllers."}, grid.Span{Text: "‹ all controllers", Style: theme.Accent})
	lamp, lst := r.lamp()
	how := r.how()
	if how == "" {
		how = "works"
	}
	spans := []grid.Span{{Text: lamp + " ", Style: lst}, {Text: r.name + "  ", Style: theme.Name | grid.Bold}, {Text: how, Style: lst}}
	if r.c != nil {
		spans = append(spans, grid.Span{Text: fmt.Sprintf("  %s, %d failed; read caches %d×, the API server %d×, wrote %d×", words.Count(int(r.c.Runs), "run"), r.c.Errors, r.c.CacheReads, r.c.LiveReads, r.c.Writes), Style: theme.Muted})
	}
	s.Line(y, pane.Subject{ID: "controller/" + r.name, Target: "controller/" + r.name, Event: r.st.Event, Copy: r.name, Kind: trace.ReconcileStart, Words: r.words(f.S)}, spans...)
	y++
	for _, q := range r.queues {
		y = drawNews(s, f, y, q, view.Manager(r.name))
		y = drawQueue(s, f, y, q)
	}
	y = drawBudgets(s, f, y, r)
	y = drawPasts(s, f, y, r)
	drawWritten(s, f, y, r.name)
}

// drawNews says changes of which kinds have brought keys, through the informers of a process.
func drawNews(s *pane.Sheet, f *pane.Frame, y int, q *view.Queue, of string) int {
	if len(q.Sources()) == 0 {
		return y
	}
	a := s.Row(y)
	x := a.Text(0, 0, "watches ", theme.Muted)
	for i, n := range q.Sources() {
		informer := f.S.Informer(of, n.Resource)
		text := fmt.Sprintf("%s ", n.Resource)
		more := fmt.Sprintf("%s brought", words.Count(int(n.Keys), "key"))
		if informer != nil {
			more = fmt.Sprintf("%d cached, ", informer.Items) + more
		}
		if i < len(q.Sources())-1 {
			more += " · "
		}
		if x+grid.Width(text+more) > s.W() && x > 8 {
			y++
			a, x = s.Row(y), 8
		}
		begin := x
		x = a.Text(x, 0, text, theme.Text)
		x = a.Text(x, 0, more, theme.Muted)
		s.Hot(begin, y, x-begin, pane.Subject{
			ID: "informer/" + of + "/" + n.Resource + "/" + q.Name, Target: "informer/" + of + "/" + n.Resource,
			Words: fmt.Sprintf("Changes of %s have put %s into the queue %s.", n.Resource, words.Count(int(n.Keys), "key"), q.Name),
		})
	}
	return y + 1
}

// drawPasts draws the runs at hand and the last ones, the newest first, each with every decision.
func drawPasts(s *pane.Sheet, f *pane.Frame, y int, r *row) int {
	if r.c == nil {
		return s.Say(y, "It has not run yet: no key has come.", theme.Muted)
	}
	y = s.Heading(y, "reconciles", "newest first: what each decided, and the arithmetic")
	runs := r.c.Recent()
	for i := len(r.c.Current()) - 1; i >= 0; i-- {
		y = drawPast(s, f, y, r.c, r.c.Current()[i])
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if f.Match(runs[i].Key, runs[i].Result, runs[i].Error) {
			y = drawPast(s, f, y, r.c, runs[i])
		}
	}
	return y
}

// drawPast draws one run.
func drawPast(s *pane.Sheet, f *pane.Frame, y int, c *view.Controller, r *view.ReconcileRun) int {
	mark, mst := result(r)
	event, at, says := r.Start, r.At, "at work since "+words.Dur(f.S.At-r.At)
	if r.Done {
		event, at, says = r.End, r.EndAt, ""
		switch {
		case r.Error != "":
			says = r.Error
		case r.Waits != "":
			says = r.Waits
		case r.RequeueIn > 0:
			says = "again in " + words.Dur(r.RequeueIn)
		case len(r.Actions) == 0:
			says = "nothing to do"
		}
	} else if wait := held(r, f.S.At); wait != "" {
		says = wait
	}
	st := theme.Text
	if f.Fresh(event) {
		st |= grid.Fresh
	}
	id := fmt.Sprintf("done/%s/%s", c.Name, r.Start)
	s.Line(y, pane.Subject{
		ID: id, Event: event, Kind: trace.ReconcileEnd,
		Words: fmt.Sprintf("%s ran over %s, %s ago: %s; %s%s.", c.Name, r.Key, words.Dur(f.S.At-at), or(says, "done"), asked(r), took(r)),
	},
		grid.Span{Text: grid.PadLeft("#"+event.String(), 7) + " ", Style: theme.Event}, grid.Span{Text: grid.PadLeft(words.Dur(f.S.At-at)+" ago", 11) + " ", Style: theme.Muted},
		grid.Span{Text: mark + " ", Style: mst}, grid.Span{Text: r.Key + "  ", Style: st}, grid.Span{Text: says, Style: mst})
	y++
	for i, act := range r.Actions {
		y = drawDecision(s, f, y, fmt.Sprintf("act/%s/%s/%d", c.Name, r.Start, i), c.Name, act)
	}
	return y
}

// drawWritten lists the Kubernetes Events that a controller wrote, the newest first.
func drawWritten(s *pane.Sheet, f *pane.Frame, y int, name string) {
	all := f.S.KubeEvents()
	shown := 0
	for i := len(all) - 1; i >= 0 && shown < mostEvents; i-- {
		k := all[i]
		if e := f.H.Event(k.Event); k.From != name && (e == nil || e.Lane.String() != name) {
			continue
		}
		if shown++; shown == 1 {
			y = s.Heading(y, "Events", "that it wrote, newest first")
		}
		st := theme.Text
		if k.Type == "Warning" {
			st = theme.Warn
		}
		if f.Fresh(k.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{ID: "kubeevent/" + k.Event.String(), Event: k.Event, Ref: k.Regarding, Kind: trace.EventRecorded, Words: fmt.Sprintf("Event of %s, %s: %s", k.Regarding, k.Reason, k.Message)},
			grid.Span{Text: grid.PadLeft("#"+k.Event.String(), 7) + " ", Style: theme.Event}, grid.Span{Text: grid.PadLeft(words.Dur(f.S.At-k.At)+" ago", 11) + " ", Style: theme.Muted},
			grid.Span{Text: k.Reason + " ", Style: st}, grid.Span{Text: k.Regarding.String() + "  ", Style: theme.Name}, grid.Span{Text: k.Message, Style: theme.Muted})
		y++
	}
}
