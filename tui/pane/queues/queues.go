// Package queues is pane 5: the work queues of the controllers, with what
// waits, what is being worked on, what is delayed, and what the controllers
// decided and why.
package queues

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Queues is the pane.
type Queues struct {
	idle bool // show queues that never had a key
}

// New makes the pane.
func New() *Queues { return &Queues{} }

const keyIdle = "queues.idle"

// Info implements [pane.Pane].
func (*Queues) Info() pane.Info {
	return pane.Info{
		Number: 5, Name: "queues", Title: "Work queues",
		Means: "Controllers do not act on events, they act on keys: a watch event puts the object's key into a queue, a worker " +
			"takes it, compares spec and status, and acts. A key that is already waiting is merged, a key that a worker has " +
			"is marked dirty and goes round again, and a failed key comes back after a back-off that doubles.",
		Legend: [][2]string{
			{"▁▃▇", "how many keys were ready lately"},
			{"×3", "three adds merged into one"},
			{"▸", "a worker has it"},
			{"↻", "dirty: goes round again"},
			{"◷", "delayed: waits for its time"},
			{"retry 4", "failed four times"},
			{"≠", "wanted differs from observed"},
		},
		Keys: []keymap.Binding{
			keymap.Bind(keymap.Open, "open", "Go to the moment of the key's last move or of the action.", "enter"),
			keymap.Bind(keyIdle, "idle ones", "Show or hide the queues that never had a key.", "i"),
		},
	}
}

// Note implements [pane.Pane].
func (*Queues) Note(f *pane.Frame) string {
	ready, work, delayed := 0, 0, 0
	for _, q := range f.S.Queues() {
		ready += q.Ready
		work += q.Processing
		delayed += q.Delayed
	}
	return fmt.Sprintf("%d ready, %d at work, %d delayed", ready, work, delayed)
}

// Do implements [pane.Pane].
func (p *Queues) Do(action string, on pane.Subject, f *pane.Frame) pane.Ask {
	switch action {
	case keyIdle:
		p.idle = !p.idle
		return pane.Redraw{}
	case keymap.Open:
		if !on.Event.IsZero() {
			return pane.Goto{ID: on.Event}
		}
	}
	return nil
}

// Draw implements [pane.Pane].
func (p *Queues) Draw(s *pane.Sheet, f *pane.Frame) {
	y, hidden := 0, 0
	done := map[string]bool{}
	for _, q := range f.S.Queues() {
		if !f.Match(q.Name, q.Lane) {
			continue
		}
		if q.Adds == 0 && !p.idle {
			hidden++
			continue
		}
		y = drawQueue(s, f, y, q)
		if c := controllerOf(f.S, q); c != nil && !done[c.Name] {
			done[c.Name] = true
			y = drawController(s, f, y, c)
		}
	}
	for _, c := range f.S.Controllers() {
		if !done[c.Name] && f.Match(c.Name) {
			y = drawName(s, f, y, c.Name, theme.Name)
			y = drawController(s, f, y, c)
		}
	}
	if y == 0 {
		s.Row(0).Text(0, 0, "no queue has had a key yet", theme.Muted)
		y++
	}
	if hidden > 0 {
		s.Row(y).Text(0, 0, words.Count(hidden, "queue")+" without any key so far (i shows them)", theme.Muted)
		y++
	}
	drawLeases(s, f, y)
}

func controllerOf(s *view.State, q *view.Queue) *view.Controller {
	if c := s.Controller(q.Name); c != nil {
		return c
	}
	for _, c := range s.Controllers() {
		if c.Lane != "" && c.Lane == q.Lane {
			return c
		}
	}
	return nil
}

func drawName(s *pane.Sheet, f *pane.Frame, y int, name string, st grid.Style) int {
	s.Row(y).Text(0, 0, pane.Abbreviate(name), st)
	return y + 1
}

func drawQueue(s *pane.Sheet, f *pane.Frame, y int, q *view.Queue) int {
	a := s.Row(y)
	name := pane.Abbreviate(q.Name)
	st := theme.Name | grid.Bold
	if q.Ready+q.Processing+q.Delayed == 0 {
		st = theme.Name
	}
	name = strings.TrimSuffix(name, "_controller")
	nameW, room := 20, 12
	if s.W() < 48 {
		nameW, room = 14, 8
	}
	x := a.Fit(0, 0, nameW, name, st)
	depths := q.Depths()
	values := make([]int, 0, len(depths))
	for _, d := range depths {
		values = append(values, d.Ready)
	}
	a.Spark(max(x+1, nameW+1), 0, room, values, theme.Term0)
	x = max(x+1, nameW+1) + room + 1
	x = a.Text(x, 0, fmt.Sprintf("%d", q.Ready), theme.Number|grid.Bold)
	x = a.Text(x, 0, " ready", theme.Muted)
	stats := fmt.Sprintf("%d adds, %d merged, %d retries", q.Adds, q.Merged, q.Retries)
	if x+grid.Width(stats)+2 <= s.W() {
		a.Right(s.W(), 0, stats, theme.Muted)
	}
	s.Hot(0, y, s.W(), pane.Subject{
		ID: "queue/" + q.Name, Copy: q.Name, Target: trace.CompKCM,
		Words: fmt.Sprintf("Queue %s: %d ready, %d at work, %d delayed; %d adds since the start, %d of them merged, %d retries.",
			q.Name, q.Ready, q.Processing, q.Delayed, q.Adds, q.Merged, q.Retries),
	})
	y++
	if keys := q.Waiting(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "waits", keys, theme.Text)
	}
	if keys := q.InProcess(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "work ▸", keys, theme.Busy)
	}
	if keys := q.DelayedKeys(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "later◷", keys, theme.Warn)
	}
	return y
}

// drawKeys draws keys one after another, in as many rows as they need but at
// most four.
func drawKeys(s *pane.Sheet, f *pane.Frame, y int, q *view.Queue, label string, keys []*view.QueueKey, st grid.Style) int {
	s.Row(y).Text(2, 0, label, theme.Muted)
	x, rows := 10, 1
	for i, k := range keys {
		text := keyText(f, k)
		if x > 10 && x+grid.Width(text) > s.W()-6 {
			if rows == 4 {
				s.Row(y).Text(x, 0, fmt.Sprintf("… +%d", len(keys)-i), theme.Muted)
				break
			}
			x, y, rows = 10, y+1, rows+1
		}
		style := st
		if f.Fresh(k.Event) {
			style |= grid.Fresh | grid.Bold
		}
		end := s.Row(y).Text(x, 0, text, style)
		s.Hot(x, y, end-x, pane.Subject{ID: "key/" + q.Name + "/" + k.Key, Event: k.Event, Kind: trace.QueueAdd, Copy: k.Key, Words: keyWords(f, q, k)})
		x = end + 2
	}
	return y + 1
}

func keyText(f *pane.Frame, k *view.QueueKey) string {
	t := k.Key
	if k.Merged > 0 {
		t += fmt.Sprintf("×%d", k.Merged+1)
	}
	if k.Dirty && k.Processing {
		t += "↻"
	}
	if k.Delayed {
		if left := k.Due - f.S.At; left > 0 {
			t += " " + words.Dur(left)
		}
	}
	if k.Retries > 0 {
		t += fmt.Sprintf(" retry %d", k.Retries)
	}
	return t
}

func keyWords(f *pane.Frame, q *view.Queue, k *view.QueueKey) string {
	var parts []string
	if k.Waiting {
		parts = append(parts, "ready to be taken since "+words.Dur(f.S.At-k.Since))
	}
	if k.Processing {
		parts = append(parts, "a worker has it")
	}
	if k.Dirty && k.Processing {
		parts = append(parts, "it was added meanwhile and goes round again")
	}
	if k.Delayed {
		parts = append(parts, "it waits until "+words.Clock(k.Due))
	}
	if k.Merged > 0 {
		parts = append(parts, words.Count(k.Merged, "add")+" merged into it")
	}
	if k.Retries > 0 {
		parts = append(parts, fmt.Sprintf("tried again %d times", k.Retries))
	}
	return "Key " + k.Key + " of " + q.Name + ": " + strings.Join(parts, ", ") + "."
}

func drawController(s *pane.Sheet, f *pane.Frame, y int, c *view.Controller) int {
	runs := c.Current()
	if len(runs) == 0 && c.Last() != nil {
		runs = []*view.ReconcileRun{c.Last()}
	}
	for _, r := range runs {
		y = drawRun(s, f, y, c, r)
	}
	return y
}

func drawRun(s *pane.Sheet, f *pane.Frame, y int, c *view.Controller, r *view.ReconcileRun) int {
	st, word := theme.Busy, "compares"
	event := r.Start
	if r.Done {
		st, word, event = theme.Muted, "last: "+r.Result, r.End
		if r.Error != "" {
			st = theme.Bad
			word = "failed: " + r.Error
		} else if len(r.Actions) == 0 {
			word = "last: nothing to do"
		}
	}
	if f.Fresh(event) {
		st |= grid.Fresh
	}
	a := s.Row(y)
	x := a.Text(2, 0, "sync    ", theme.Muted)
	x = a.Text(x, 0, r.Key+" ", theme.Text)
	a.Fit(x, 0, s.W()-x, word, st)
	s.Hot(2, y, s.W()-2, pane.Subject{
		ID: "run/" + c.Name + "/" + r.Key, Event: event, Kind: trace.ReconcileStart,
		Words: fmt.Sprintf("%s and %s: %s; %d runs so far, %d of them failed.", c.Name, r.Key, word, c.Runs, c.Errors),
	})
	y++
	for i, act := range r.Actions {
		style := theme.Text
		if f.Fresh(act.Event) {
			style |= grid.Fresh
		}
		a := s.Row(y)
		x := 10
		if act.Desired != "" || act.Observed != "" {
			mark, mst := " ≠ ", theme.Warn|grid.Bold
			if act.Desired == act.Observed {
				mark, mst = " = ", theme.Good
			}
			x = a.Spans(x, 0, grid.Span{Text: act.Desired, Style: theme.Number}, grid.Span{Text: mark, Style: mst}, grid.Span{Text: act.Observed + "  ", Style: theme.Number})
		}
		x = a.Fit(x, 0, s.W()-x, "⇒ "+act.Verb, theme.Accent) + 1
		if x < s.W() {
			a.Fit(x, 0, s.W()-x, act.Why, style)
		}
		s.Hot(10, y, s.W()-10, pane.Subject{
			ID: fmt.Sprintf("act/%s/%s/%d", c.Name, r.Key, i), Event: act.Event, Ref: act.Target, Kind: trace.ReconcileAction,
			Words: c.Name + ": " + act.Why,
		})
		y++
	}
	return y
}

func drawLeases(s *pane.Sheet, f *pane.Frame, y int) {
	for _, l := range f.S.Leases() {
		who, st := l.Holder, theme.Text
		if who == "" {
			who, st = "nobody", theme.Warn
		}
		s.Line(y, pane.Subject{ID: "lease/" + l.Name, Event: l.Event, Kind: trace.LeaderElected, Words: "Lease " + l.Name + " is held by " + who + "."},
			grid.Span{Text: "lease " + l.Name + " ", Style: theme.Muted}, grid.Span{Text: who, Style: st})
		y++
	}
}
