// Package queues is the pane of the work queues of the controllers, with what
// waits, what is being worked on, what is delayed, and what the controllers
// decided and why; and the informers, the caches that they decide by.
//
// Start reading at [Queues.Draw].
package queues

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Queues is the pane.
type Queues struct {
	pane.List
	idle bool   // show queues that never had a key
	one  string // the controller whose view is open; "" for the list of all
}

var about = pane.Info{
	Name: "queues", Title: "Work queues",
	Kinds: []string{"act", "actor", "back", "budget", "client", "controller", "controller-manager", "done", "informer", "key", "kubeevent", "lease", "owner", "process", "queue", "run"},
	Means: "Controllers do not act on events, they act on keys: a watch event puts the object's key into a queue, a worker " +
		"takes it, compares spec and status, and acts. A key that is already waiting is merged, a key that a worker has " +
		"is marked dirty and goes round again, and a failed key comes back after a back-off that doubles. What a worker reads is " +
		"its component's own cache, the informer's (v): it may be behind. What it writes goes through its component's client, " +
		"which sends so many requests a second and no more (v v). Each controller can be stopped by itself (v v v, then f on it).",
	Legend: [][2]string{
		{"▁▃▇", "how many keys were ready lately"},
		{"▐web▌", "a key that has just come, or found itself there"},
		{"×3", "three adds merged into one"},
		{"▸", "a worker has it"},
		{"↻", "dirty: goes round again"},
		{"◷", "delayed: waits for its time"},
		{"retry 4", "failed four times"},
		{"≠", "wanted differs from observed; a cache from the store"},
		{"✗ ◐ ◉", "a controller that is down, slow, at work"},
		{"▰▱", "requests that a client may send at once, of its burst"},
	},
}

// New makes the pane.
func New() *Queues {
	p := &Queues{List: pane.NewList(about)}
	p.Key(keymap.Bind(keymap.Open, "open", "Open a controller, or go to the moment of the key's last move or of the action.", "enter"), func(on pane.Subject, f *pane.Frame) action.Action {
		if p.opened(on, f) {
			return action.Redraw{}
		}
		if on.Event.IsZero() {
			return nil
		}
		return action.Goto{ID: on.Event}
	})
	p.Key(keymap.Bind("queues.idle", "idle ones", "Show or hide the queues that never had a key.", "i"), pane.Flip(&p.idle))
	p.Views("queues.part", "informers",
		pane.View{Name: "queues", Means: "the work queues", Draw: p.drawQueues, Note: noteQueues},
		pane.View{Name: "informers", Means: "the informers' caches beside the store", Draw: drawInformers, Note: noteInformers},
		pane.View{Name: "clients", Means: "the components' clients and their rate limits", Draw: drawClients, Note: noteClients},
		pane.View{Name: "controllers", Means: "the controllers, each with what it did last", Draw: p.drawControllers, Note: noteControllers})
	p.Key(keymap.Bind("queues.slowness", "why slow", "In the store pane, the chart of how slowness climbs: slow disks, commits and requests below, long queues on top, over the same time.", "c"), func(pane.Subject, *pane.Frame) action.Action {
		return action.Focus{Pane: "store", Do: pane.Slowness}
	})
	return p
}

// opened opens the view of a controller, from the list or from its queue, or the list again.
func (p *Queues) opened(on pane.Subject, f *pane.Frame) bool {
	kind, name, _ := strings.Cut(on.ID, "/")
	switch kind {
	case "back":
		p.one = ""
		return true
	case "queue":
		q := f.S.Queue(name)
		if q == nil || f.S.Controller(q.Lane) == nil {
			return false
		}
		name = q.Lane
	case "controller":
		if p.one == name {
			return false
		}
	default:
		return false
	}
	p.one = name
	p.ShowView("controllers")
	return true
}

// Note implements [pane.Pane].
func (p *Queues) Note(f *pane.Frame) string { return p.View().Note(f) }

func noteInformers(f *pane.Frame) string { return words.Count(len(f.S.Informers()), "informer") }

func noteQueues(f *pane.Frame) string {
	ready, work, delayed := 0, 0, 0
	for _, q := range f.S.Queues() {
		ready += q.Ready
		work += q.Processing
		delayed += q.Delayed
	}
	return fmt.Sprintf("%d ready, %d at work, %d delayed", ready, work, delayed)
}

// Draw implements [pane.Pane].
func (p *Queues) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

// drawQueues draws a queue below the other, or in a wide window in
// two columns, each queue where there is more room. What room is left below
// goes to the latest runs.
func (p *Queues) drawQueues(s *pane.Sheet, f *pane.Frame) {
	top := drawFlow(s, f)
	end := 0
	if s.W() < 130 {
		p.draw(s, f, func(draw func(*pane.Sheet, int) int) { draw(s, s.Len()) })
		end = s.Len()
	} else {
		left := s.W() / 2
		a, b := s.Halves(left)
		a.Rows(top, 0) // both begin below the flow
		b.Rows(top, 0)
		p.draw(s, f, func(draw func(*pane.Sheet, int) int) {
			if b.Len() < a.Len() {
				draw(b, b.Len())
				return
			}
			draw(a, a.Len())
		})
		end = s.Divide(top, left, a, b)
	}
	if room := f.Rows - end; room >= 4 {
		drawRuns(s, f, end, room)
	}
}

// draw hands every block to put, which finds it a place.
func (p *Queues) draw(s *pane.Sheet, f *pane.Frame, put func(draw func(s *pane.Sheet, y int) int)) {
	hidden := 0
	done := map[string]bool{}
	for _, q := range f.S.Queues() {
		if !f.Match(q.Name, q.Lane) {
			continue
		}
		if q.Adds == 0 && !p.idle {
			hidden++
			continue
		}
		c := controllerOf(f.S, q)
		put(func(s *pane.Sheet, y int) int {
			y = drawQueue(s, f, y, q)
			if c != nil && !done[c.Name] {
				done[c.Name] = true
				y = drawController(s, f, y, c)
			}
			return y
		})
	}
	for _, c := range f.S.Controllers() {
		if !done[c.Name] && f.Match(c.Name) {
			put(func(s *pane.Sheet, y int) int {
				s.Row(y).Text(0, 0, pane.Abbreviate(c.Name), theme.Name)
				return drawController(s, f, y+1, c)
			})
		}
	}
	if s.Len() == 0 {
		s.Say(0, "No queue has had a key yet. A watch event puts the key of its object into the queue of each controller that cares.", theme.Muted)
	}
	put(func(s *pane.Sheet, y int) int { return drawLeases(s, f, y) })
	if hidden > 0 {
		put(func(s *pane.Sheet, y int) int {
			return s.Say(y, words.Count(hidden, "queue")+" without any key so far (i shows them)", theme.Muted)
		})
	}
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
	for _, fault := range f.S.FaultsOn("queue/" + q.Name) {
		x = a.Text(x+1, 0, "+"+fault.Detail+" a run", theme.Bad)
	}
	runs := words.Count(int(q.Adds), "add") + " → " + words.Count(int(q.Gets), "run")
	more := runs
	if q.Merged > 0 {
		more += fmt.Sprintf(", %d merged", q.Merged)
	}
	if q.Retries > 0 {
		more += ", " + tries(q.Retries)
	}
	for _, stats := range []string{more + latency(q), more, runs} {
		if x+grid.Width(stats)+2 <= s.W() {
			a.Right(s.W(), 0, stats, theme.Muted)
			break
		}
	}
	s.Hot(0, y, s.W(), pane.Subject{
		ID: "queue/" + q.Name, Copy: q.Name, Target: "queue/" + q.Name,
		Words: fmt.Sprintf("Queue %s: %d ready, %d at work, %d delayed; %d adds since the start, %d of them merged, came to %d runs; %d retries%s.",
			q.Name, q.Ready, q.Processing, q.Delayed, q.Adds, q.Merged, q.Gets, q.Retries, latency(q)),
	})
	y++
	if keys := q.Waiting(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "ready", keys, theme.Text)
	}
	if keys := q.InProcess(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "▸ works", keys, theme.Busy)
	}
	if keys := q.DelayedKeys(); len(keys) > 0 {
		y = drawKeys(s, f, y, q, "◷ later", keys, theme.Warn)
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

// latency is how long a key waits and is worked on, on average.
func latency(q *view.Queue) string {
	if q.Dones == 0 {
		return ""
	}
	return fmt.Sprintf(" · waits %s, work %s", words.Dur(q.Waited/time.Duration(max(q.Gets, 1))), words.Dur(q.Worked/time.Duration(q.Dones)))
}

func tries(n uint64) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func keyText(f *pane.Frame, k *view.QueueKey) string {
	t := k.Key
	if k.Merged > 0 {
		t += fmt.Sprintf("×%d", k.Merged+1)
	}
	if k.Dirty && k.Processing {
		t += "↻"
	}
	if k.Delayed && !k.Processing {
		if left := k.Due - f.S.At; left > 0 {
			t += " in " + words.Dur(left)
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
	st, word := theme.Busy, "comparing wanted with observed"
	event := r.Start
	if r.Done {
		st, word, event = theme.Muted, "last: "+r.Result, r.End
		if r.Error != "" {
			st = theme.Bad
			word = "failed: " + r.Error
		} else if len(r.Actions) == 0 {
			word = "last: nothing to do"
		}
	} else if wait := held(r, f.S.At); wait != "" {
		st, word = theme.Warn, wait
	}
	if f.Fresh(event) {
		st |= grid.Fresh
	}
	a := s.Row(y)
	a.Text(2, 0, "sync", theme.Muted)
	x := a.Fit(10, 0, max(s.W()-18, 8), r.Key, theme.Text)
	x = a.Fit(x+2, 0, s.W()-x-2, word, st)
	if r.Done {
		for _, did := range []string{asked(r) + took(r), strings.TrimPrefix(took(r), " · ")} {
			if x+grid.Width(did)+2 <= s.W() {
				a.Right(s.W(), 0, did, theme.Muted)
				break
			}
		}
	}
	s.Hot(2, y, s.W()-2, pane.Subject{
		ID: "run/" + c.Name + "/" + r.Key, Event: event, Kind: trace.ReconcileStart,
		Words: fmt.Sprintf("%s and %s: %s; %d runs so far, %d of them failed; they read %d times from caches, %d times from the API server, and wrote %d times.",
			c.Name, r.Key, word, c.Runs, c.Errors, c.CacheReads, c.LiveReads, c.Writes),
	})
	first := y
	y++
	for i, act := range r.Actions {
		y = drawAction(s, f, y, c, r, i, act)
	}
	s.Mark(grid.Rect{X: 2, Y: first, W: s.W() - 2, H: y - first}, "run/"+c.Name+"/"+r.Key+"/actions") // for a lesson: the run with all that it did
	return y
}

// took is how long a run took, how long its key had waited, and how often it had been
// tried; nothing where there was no time and no retry.
func took(r *view.ReconcileRun) string {
	text := ""
	if d := r.Took(); d > 0 {
		text += " · took " + words.Dur(d)
	}
	if r.HeldFor > 0 {
		text += " · held back " + words.Dur(r.HeldFor)
	}
	if r.Waited > 0 {
		text += " · waited " + words.Dur(r.Waited)
	}
	if r.Retries > 0 {
		text += fmt.Sprintf(" · retry %d", r.Retries)
	}
	return text
}

// asked is what a run read and wrote.
func asked(r *view.ReconcileRun) string {
	s := "cache " + words.Count(r.CacheReads, "read")
	if r.LiveReads > 0 {
		s += ", live " + words.Count(r.LiveReads, "read")
	}
	return s + ", " + words.Count(r.Writes, "write")
}

// drawAction draws what was wanted beside what was observed, and below what the
// controller does about it.
func drawAction(s *pane.Sheet, f *pane.Frame, y int, c *view.Controller, r *view.ReconcileRun, i int, act view.ActionTaken) int {
	return drawDecision(s, f, y, fmt.Sprintf("act/%s/%s/%d", c.Name, r.Key, i), c.Name, act)
}

func drawDecision(s *pane.Sheet, f *pane.Frame, y int, id, controller string, act view.ActionTaken) int {
	const in = 10
	style := theme.Text
	if f.Fresh(act.Event) {
		style |= grid.Fresh
	}
	on := pane.Subject{
		ID: id, Event: act.Event, Ref: act.Target, Kind: trace.ReconcileAction,
		Words: controller + ": " + act.Why,
	}
	if act.Desired != "" || act.Observed != "" {
		mark, mst := " ≠ ", theme.Warn|grid.Bold
		if act.Desired == act.Observed {
			mark, mst = " = ", theme.Good
		}
		s.Part(in, s.W()-in).Line(y, pane.Subject{}, grid.Span{Text: "wanted ", Style: theme.Muted}, grid.Span{Text: or(act.Desired, "nothing"), Style: theme.Number},
			grid.Span{Text: mark, Style: mst}, grid.Span{Text: or(act.Observed, "nothing"), Style: theme.Number}, grid.Span{Text: " observed", Style: theme.Muted})
		s.Hot(in, y, s.W()-in, on)
		on.ID += "/do"
		y++
	}
	x := s.Row(y).Text(in, 0, "⇒ "+act.Verb+" ", theme.Accent)
	lines := grid.Lines(act.Why, max(s.W()-x, 12))
	for j, l := range lines {
		if j == 2 { // the whole sentence is in the explanation line
			break
		}
		if j == 1 && len(lines) > 2 {
			l = grid.Cut(l+" …", s.W()-x)
		}
		s.Row(y+j).Text(x, 0, l, style)
	}
	s.Hot(in, y, s.W()-in, on)
	return y + min(max(len(lines), 1), 2)
}

func or(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

func drawLeases(s *pane.Sheet, f *pane.Frame, y int) int {
	leases := f.S.Leases()
	if len(leases) == 0 {
		return y
	}
	y = s.Heading(y, "leader Leases", "only the holder works")
	for _, l := range leases {
		who, st := l.Holder, theme.Text
		if who == "" {
			who, st = "nobody", theme.Warn
		}
		if f.Fresh(l.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{ID: "lease/" + l.Name, Event: l.Event, Kind: trace.LeaderElected, Words: "Lease " + l.Name + " is held by " + who + "."},
			grid.Span{Text: grid.Pad(l.Name, 26), Style: theme.Name}, grid.Span{Text: who, Style: st})
		y++
	}
	return y
}
