package queues

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// The flow stands above the queues and shows one controller from the inside: the watches that
// bring news, the caches that it decides by, its queue, the worker with a key, and what that
// asks the API server to do.

// What the flow takes, and from how much room on it is drawn.
const (
	flowRows  = 5 // a head, three rows, a rule
	flowFrom  = 15
	flowWidth = 70
	sources   = 3 // of news are shown at most
	looked    = 8 // causes back to the watch event that a key came with
)

// flow is one controller's way from a watch to the API server.
type flow struct {
	cols  []int // where watches, queue and worker begin, and the end
	s     *pane.Sheet
	f     *pane.Frame
	q     *view.Queue
	c     *view.Controller // nil before its first run
	cache []*view.Informer
	run   *view.ReconcileRun // that is shown; nil if there was none

	moving []motion.Key // of the queue, in the order in which they set out
}

// drawFlow draws the flow of the controller under the cursor at the top, and gives the row
// below; nothing where there is little room, or no controller has had a key.
func drawFlow(s *pane.Sheet, f *pane.Frame) int {
	q := flowing(f)
	if f.Rows < flowFrom || s.W() < flowWidth || q == nil {
		return 0
	}
	w := &flow{s: s, f: f, q: q, c: controllerOf(f.S, q)}
	if w.c != nil {
		if w.run = w.c.Last(); len(w.c.Current()) > 0 {
			w.run = w.c.Current()[0]
		}
	}
	w.cache = w.caches()
	cols := []int{0, 26, 46, s.W()}
	if s.W() >= 100 {
		cols = []int{0, 34, 62, s.W()}
	}
	w.cols = cols
	w.onWay()
	w.head(cols)
	w.watches(s.Rows(1, sources).Sub(cols[0], 0, cols[1]-cols[0]-1, sources))
	w.keys(s.Rows(1, sources).Sub(cols[1], 0, cols[2]-cols[1]-1, sources))
	w.worker(s.Rows(1, sources).Sub(cols[2], 0, cols[3]-cols[2], sources))
	w.travel()
	s.Row(flowRows-1).HLine(0, 0, s.W(), theme.Line)
	return flowRows
}

// flowing is the queue of the controller under the cursor; until somebody puts that anywhere, the
// first in which a key moves, whose worker has a key, in which one waits, or else the one that ran last.
func flowing(f *pane.Frame) *view.Queue {
	parts := strings.Split(f.Cursor, "/")
	if f.Placed && len(parts) > 1 {
		for _, q := range f.S.Queues() {
			c := controllerOf(f.S, q)
			if q.Name == parts[1] || c != nil && c.Name == parts[1] {
				return q
			}
		}
	}
	var best *view.Queue
	rank := func(q *view.Queue) int {
		switch {
		case moves(f, q):
			return 5
		case q.Adds == 0:
			return 0
		case q.Processing > 0:
			return 4
		case q.Ready > 0:
			return 3
		case q.Delayed > 0:
			return 2
		}
		return 1
	}
	for _, q := range f.S.Queues() {
		switch r := rank(q); {
		case r == 0:
		case best == nil, r > rank(best), r == 1 && rank(best) == 1 && ran(f, q) > ran(f, best):
			best = q
		}
	}
	return best
}

// ran is when the controller of a queue began its last run.
func ran(f *pane.Frame, q *view.Queue) time.Duration {
	if c := controllerOf(f.S, q); c != nil && c.Last() != nil {
		return c.Last().At
	}
	return 0
}

// head names the columns, and the controller.
func (w *flow) head(cols []int) {
	a := w.s.Row(0)
	a.Text(cols[0], 0, "watch ▶ cache", theme.Muted)
	x := a.Text(cols[1], 0, "queue ", theme.Muted)
	a.Fit(x, 0, cols[2]-x-1, strings.TrimSuffix(pane.Abbreviate(w.q.Name), "_controller"), theme.Name|grid.Bold)
	a.Text(cols[2], 0, "worker ▶ API server", theme.Muted)
}

// caches are the informers that the keys of the queue came by, as far as it can still be seen.
func (w *flow) caches() []*view.Informer {
	var from []trace.ID
	for _, list := range [][]*view.QueueKey{w.q.InProcess(), w.q.Waiting(), w.q.DelayedKeys()} {
		for _, k := range list {
			from = append(from, k.Event)
		}
	}
	if w.run != nil {
		from = append(from, w.run.Start)
	}
	var all []*view.Informer
	for _, id := range from {
		if i := w.broughtBy(id); i != nil && !slices.Contains(all, i) && len(all) < sources {
			all = append(all, i)
		}
	}
	return all
}

// broughtBy is the informer whose watch event an event came of; nil if it cannot be found.
func (w *flow) broughtBy(id trace.ID) *view.Informer {
	for range looked {
		e := w.f.H.Event(id)
		if e == nil {
			return nil
		}
		if p, ok := e.Payload.(*trace.WatchEvent); ok {
			if x := w.f.S.Watcher(p.Watch); x != nil {
				return w.f.S.Informer(x.Client, x.Resource)
			}
			return nil
		}
		if len(e.Causes) == 0 {
			return nil
		}
		id = e.Causes[0]
	}
	return nil
}

// watches draws what is told of changes, and how far the cache is.
func (w *flow) watches(a grid.Area) {
	if len(w.cache) == 0 {
		a.Text(0, 0, "nothing has come lately", theme.Muted)
	}
	kinds := map[string]*kindNow{}
	for y, i := range w.cache {
		now := stored(w.f, i.Resource, kinds)
		link, st := " ──▶ ", theme.Line
		if e := w.f.S.Event; e != nil && e.Kind == trace.WatchDelivered && w.broughtBy(e.ID) == i {
			link, st = " ◆━▶ ", theme.Added
		}
		name := max(a.W()-18, 8)
		if a.W() < 30 {
			link, name = " "+strings.TrimLeft(link, " ─◆━"), a.W()-14
		}
		x := a.Fit(0, y, name, i.Resource, theme.Text)
		x = a.Text(max(x, min(name, 13)), y, link, st)
		text, cs := fmt.Sprintf("%d = store", i.Items), theme.Muted
		if i.Items != now.objects || i.Revision < now.newest {
			text, cs = fmt.Sprintf("%d of %d, old", i.Items, now.objects), theme.Warn|grid.Bold
		}
		a.Fit(x, y, a.W()-x, text, cs)
	}
}

// keys draws the queue: what waits, first come next to the worker, how much of it is merged,
// and what comes again later.
func (w *flow) keys(a grid.Area) {
	entry, st := "─▶", theme.Line
	if w.lit(motion.In, motion.Again) != nil {
		entry, st = "━▶", theme.Busy|grid.Bold
	}
	a.Text(0, 0, entry, st)
	waiting := w.q.Waiting()
	merged, shown := 0, w.lineUp(waiting)
	for _, k := range waiting {
		merged += k.Merged
	}
	for _, c := range shown {
		if w.coming(c.Key) {
			continue
		}
		st := theme.Number
		if w.f.Fresh(c.Event) {
			st |= grid.Fresh | grid.Bold
		}
		text := chip(c.Key)
		if k := w.lit(motion.In, motion.Again, motion.Onto); k != nil && k.Key == c.Key {
			text, st = litChip(c.Key), theme.Busy|grid.Bold
		}
		a.Text(c.x-w.cols[1], 0, text, st)
	}
	switch {
	case len(waiting) == 0 && slices.ContainsFunc(w.moving, func(k motion.Key) bool { return !k.Whole }):
	case len(waiting) == 0:
		a.Text(3, 0, "empty", theme.Muted)
	case len(shown) < len(waiting):
		a.Text(3, 0, fmt.Sprintf("+%d", len(waiting)-len(shown)), theme.Muted)
	}
	x := a.Text(3, 1, fmt.Sprintf("%d ready", w.q.Ready), theme.Text)
	if merged > 0 {
		a.Text(x, 1, fmt.Sprintf("  ×%d merged", merged+1), theme.Muted)
	}
	if later := w.q.DelayedKeys(); len(later) > 0 && !w.coming(later[0].Key) {
		k := later[0]
		left := max(k.Due-w.f.S.At, 0)
		lamp, st := "◷", theme.Warn
		if lit := w.lit(motion.Later); lit != nil && lit.Key == k.Key {
			lamp, st = "▶", theme.Warn|grid.Bold
		}
		said := fmt.Sprintf("%s %s in %s", lamp, short(k.Key), words.Dur(left))
		x := a.Fit(0, 2, a.W(), said, st)
		if all := k.Due - k.Since; all > 0 && x+5 <= a.W() {
			full := int((left*4 + all - 1) / all)
			x = a.Text(x+1, 2, strings.Repeat("▓", min(full, 4))+strings.Repeat("░", max(4-full, 0)), theme.Warn)
		}
		if try := fmt.Sprintf(" try %d", k.Retries+1); x+len(try) <= a.W() {
			a.Text(x, 2, try, theme.Muted)
		}
	}
}

// short is the end of a key, which is what differs between keys.
func short(key string) string {
	key = key[strings.LastIndexByte(key, '/')+1:]
	if i := strings.LastIndexByte(key, '-'); i > 0 && len(key) > 10 {
		key = key[i+1:]
	}
	return grid.Cut(key, 10)
}

// worker draws who works on what, what it finds, and what it asks the API server for.
func (w *flow) worker(a grid.Area) {
	r := w.run
	if r == nil {
		a.Text(0, 0, "▶ ○ has had no key yet", theme.Muted)
		return
	}
	lamp, st, took := "▶ ◉ ", theme.Busy, w.f.S.At-r.At
	if r.Done {
		lamp, st, took = "▶ ○ ", theme.Muted, r.EndAt-r.At
	}
	x := a.Text(0, 0, lamp, st)
	if k := w.lit(motion.Taken); k != nil && k.Key == r.Key {
		w.s.Row(1).Text(w.cols[2]-1, 0, "━▶", theme.Busy|grid.Bold)
	}
	if w.atWorker(r.Key) { // else it is under way
		x = a.Fit(x, 0, a.W()-x-8, r.Key, theme.Text)
		x = a.Text(x+1, 0, words.Dur(took), theme.Muted)
		switch k := w.lit(motion.Done, motion.Again); {
		case k == nil || k.Key != r.Key:
		case k.Way == motion.Done:
			a.Text(x+1, 0, "━▶", theme.Busy|grid.Bold)
		default:
			a.Text(x+1, 0, "↻", theme.Warn|grid.Bold)
		}
	}
	if len(r.Actions) == 0 {
		said := "compares wanted with observed"
		if r.Done {
			said = "nothing to do"
		}
		a.Fit(4, 1, a.W()-4, said, st)
		if r.Error != "" {
			a.Fit(4, 2, a.W()-4, "✗ "+r.Error, theme.Bad)
		}
		return
	}
	act := r.Actions[len(r.Actions)-1]
	found := act.Why
	if act.Desired != "" || act.Observed != "" {
		found = fmt.Sprintf("wants %s, has %s", or(act.Desired, "nothing"), or(act.Observed, "nothing"))
	}
	a.Fit(4, 1, a.W()-4, found, theme.Text)
	link, ls := "──▶ ", theme.Line
	if !r.Done || w.f.Fresh(act.Event) {
		link, ls = "━●▶ ", theme.Busy
	}
	x = a.Text(4, 2, link, ls)
	x = a.Fit(x, 2, a.W()-x, fmt.Sprintf("%s %s", act.Verb, strings.ToLower(act.Target.Kind)), theme.Accent)
	if code := w.answer(act.Event); code != "" && x+len(code)+1 < a.W() {
		a.Text(x+1, 2, code, theme.Good)
	}
	if r.Error != "" {
		a.Fit(x+6, 2, a.W()-x-6, "✗ "+r.Error, theme.Bad)
	}
}

// answer is the code with which the API server answered what was decided; "" before.
func (w *flow) answer(decision trace.ID) string {
	for _, id := range w.f.H.Followed(decision) {
		e := w.f.H.Event(id)
		if e == nil || e.Kind != trace.RequestReceived || e.At > w.f.S.At {
			continue
		}
		if p, ok := e.Payload.(*trace.Request); ok {
			if r := w.f.S.Request(p.Request); r != nil && r.Code > 0 {
				return fmt.Sprint(r.Code)
			}
		}
	}
	return ""
}
