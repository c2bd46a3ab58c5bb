package queues

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// row is one controller in the list.
type row struct {
	name   string
	st     view.Standing
	c      *view.Controller // nil before its first run
	queues []*view.Queue
}

func rowOf(s *view.State, name string) *row {
	r := &row{name: name, st: s.Standing(name), c: s.Controller(name)}
	for _, q := range s.Queues() {
		if q.Lane == name {
			r.queues = append(r.queues, q)
		}
	}
	return r
}

// sum adds up what its queues have.
func (r *row) sum() (ready, work, later int, retries uint64) {
	for _, q := range r.queues {
		ready, work, later, retries = ready+q.Ready, work+q.Processing, later+q.Delayed, retries+q.Retries
	}
	return ready, work, later, retries
}

// idle reports whether there is nothing to tell of it.
func (r *row) idle(s *view.State) bool {
	return r.c == nil && len(s.FaultsOn("controller/"+r.name)) == 0 && !slices.ContainsFunc(r.queues, func(q *view.Queue) bool { return q.Adds > 0 })
}

// last is its run at hand, or else its last one; nil before the first.
func (r *row) last() *view.ReconcileRun {
	switch {
	case r.c == nil:
		return nil
	case len(r.c.Current()) > 0:
		return r.c.Current()[0]
	}
	return r.c.Last()
}

// said is what it last decided, with its arithmetic; nil before it decided anything.
func (r *row) said() *view.ActionTaken {
	if r.c == nil {
		return nil
	}
	for _, runs := range [][]*view.ReconcileRun{r.c.Current(), r.c.Recent()} {
		for i := len(runs) - 1; i >= 0; i-- {
			if n := len(runs[i].Actions); n > 0 {
				return &runs[i].Actions[n-1]
			}
		}
	}
	return nil
}

func noteControllers(f *pane.Frame) string {
	if f.S.Without(trace.CompKCM) {
		return words.Count(len(f.S.Actors()), "user") + " from outside"
	}
	down := 0
	names := f.S.ControllerNames()
	for _, name := range names {
		if !f.S.Standing(name).Works {
			down++
		}
	}
	if down == 0 {
		return words.Count(len(names), "controller")
	}
	return fmt.Sprintf("%s, %d down", words.Count(len(names), "controller"), down)
}

// drawControllers draws the list of the controllers, or the one that was chosen.
func (p *Queues) drawControllers(s *pane.Sheet, f *pane.Frame) {
	if p.one != "" {
		drawOne(s, f, rowOf(f.S, p.one))
		return
	}
	y := drawCloudManager(s, f, drawManager(s, f, 0))
	if f.S.Without(trace.CompKCM) {
		drawActors(s, f, y)
		return
	}
	cols := columnsOf(s.W())
	if len(f.S.ControllerNames()) > 0 {
		cols.head(s, y)
		y++
	}
	hidden := 0
	for _, name := range f.S.ControllerNames() {
		r := rowOf(f.S, name)
		switch {
		case !f.Match(name):
		case r.idle(f.S) && !p.idle:
			hidden++
		default:
			cols.draw(s, f, y, r)
			y++
		}
	}
	if hidden > 0 {
		y = s.Say(y, words.Count(hidden, "controller")+" without anything to do so far (i shows them)", theme.Muted)
	}
	if room := f.Rows - y; room >= 4 {
		drawRuns(s, f, y, room)
	}
}

// drawManager says which process the controllers live in, and whether it leads.
func drawManager(s *pane.Sheet, f *pane.Frame, y int) int {
	if lacks := f.S.Lacks(trace.CompKCM); lacks != "" {
		y = s.Say(y, strings.ToUpper(lacks[:1])+lacks[1:]+": a program from outside can take its place. What it writes appears here; why it does so, only it knows.", theme.Muted)
		holder, lease := f.S.Leads()
		if holder == "" {
			return s.Say(y, "Nobody holds the Lease kube-controller-manager.", theme.Muted)
		}
		on := pane.Subject{ID: "lease/kube-controller-manager", Event: lease.Changed, Ref: lease.Ref, Words: "A kube-controller-manager from outside holds the Lease: " + holder + "."}
		s.Line(y, on, grid.Span{Text: "◆ ", Style: theme.Good}, grid.Span{Text: "kube-controller-manager from outside  ", Style: theme.Name}, grid.Span{Text: "leads as ", Style: theme.Muted}, grid.Span{Text: holder, Style: theme.Text})
		return y + 1
	}
	p, lease := f.S.Process(trace.CompKCM), f.S.Lease("kube-controller-manager")
	if p == nil {
		return s.Say(y, "The controller manager has not started yet.", theme.Muted)
	}
	on := pane.Subject{ID: "process/" + p.Name, Target: p.Name, Event: p.Event, Copy: p.Name, Words: "The controllers are parts of one process, kube-controller-manager."}
	lamp, st, says := "● ", theme.Good, "up "+words.Dur(f.S.At-p.Since)
	switch {
	case !p.Up:
		lamp, st, says = "✗ ", theme.Bad, "is down since "+words.Dur(f.S.At-p.Since)+": "+p.Reason
	case lease == nil || lease.Event.Compare(p.Event) < 0:
		lamp, st, says = "◷ ", theme.Warn, "waits for its Lease: none of them works"
	case lease.Holder != "":
		says += ", leads as " + lease.Holder
	}
	s.Line(y, on, grid.Span{Text: lamp, Style: st}, grid.Span{Text: "kube-controller-manager ", Style: theme.Name}, grid.Span{Text: says, Style: theme.Muted})
	return y + 1
}

// drawCloudManager says how cloud-controller-manager is, where it has something to do or is broken.
func drawCloudManager(s *pane.Sheet, f *pane.Frame, y int) int {
	p, lease := f.S.Process(trace.CompCCM), f.S.Lease(trace.CompCCM)
	if p == nil || lease == nil && p.Up && len(f.S.FaultsOn(p.Name)) == 0 {
		return y
	}
	on := pane.Subject{
		ID: "process/" + p.Name, Target: p.Name, Event: p.Event, Copy: p.Name,
		Words: "The controllers that act on the cloud are parts of a process of their own, cloud-controller-manager, which makes load balancers for Services.",
	}
	lamp, st, says := "● ", theme.Good, "up "+words.Dur(f.S.At-p.Since)
	switch {
	case !p.Up:
		lamp, st, says = "✗ ", theme.Bad, "is down since "+words.Dur(f.S.At-p.Since)+": "+p.Reason
	case lease == nil:
		says += ", has nothing to do: no Service wants a load balancer"
	case lease.Event.Compare(p.Event) < 0:
		lamp, st, says = "◷ ", theme.Warn, "waits for its Lease: none of its controllers works"
	case lease.Holder != "":
		says += ", leads as " + lease.Holder
	}
	s.Line(y, on, grid.Span{Text: lamp, Style: st}, grid.Span{Text: "cloud-controller-manager ", Style: theme.Name}, grid.Span{Text: says, Style: theme.Muted})
	return y + 1
}

// columns are how wide those of the list are.
type columns struct{ name, number, ago, key int }

func columnsOf(w int) columns {
	switch {
	case w >= 150:
		return columns{45, 7, 9, 34}
	case w >= 100:
		return columns{28, 6, 8, 22}
	}
	return columns{19, 4, 7, 0}
}

// head names the columns.
func (c columns) head(s *pane.Sheet, y int) {
	names := []string{"rdy", "▸", "◷", "try"}
	if c.number > 5 {
		names = []string{"ready", "▸", "◷", "tries"}
	}
	text := grid.Pad("  controller", c.name+2)
	for _, n := range names {
		text += grid.PadLeft(n, c.number)
	}
	text += grid.PadLeft("last", c.ago) + "  "
	if c.key > 0 {
		text += grid.Pad("  key", c.key+3)
	}
	s.Row(y).Text(0, 0, text+"what it said", theme.Muted)
}

func (c columns) draw(s *pane.Sheet, f *pane.Frame, y int, r *row) {
	name := r.name
	if c.number < 7 {
		name = pane.Abbreviate(name)
	}
	lamp, lst := r.lamp()
	ready, work, later, retries := r.sum()
	spans := []grid.Span{{Text: lamp + " ", Style: lst}, {Text: grid.Pad(grid.Cut(name, c.name), c.name), Style: theme.Name}}
	for _, n := range []uint64{uint64(ready), uint64(work), uint64(later), retries} {
		st := theme.Number
		if n == 0 {
			st = theme.Muted
		}
		spans = append(spans, grid.Span{Text: grid.PadLeft(fmt.Sprint(n), c.number), Style: st})
	}
	last := r.last()
	ago, mark, mst, key := "", " ", theme.Muted, ""
	event := r.st.Event
	if last != nil {
		at := last.At
		if event = last.Start; last.Done {
			at, event = last.EndAt, last.End
		}
		ago, key = words.Dur(f.S.At-at), last.Key
		mark, mst = result(last)
	}
	spans = append(spans, grid.Span{Text: grid.PadLeft(ago, c.ago), Style: theme.Muted}, grid.Span{Text: " " + mark + " ", Style: mst})
	if c.key > 0 {
		spans = append(spans, grid.Span{Text: grid.Pad(grid.Cut(key, c.key), c.key) + "  ", Style: theme.Text})
	}
	if how := r.how(); how != "" {
		spans = append(spans, grid.Span{Text: how + "  ", Style: lst})
	}
	says, sst := r.sentence(), theme.Text
	if f.Fresh(event) {
		sst |= grid.Fresh
	}
	spans = append(spans, grid.Span{Text: says, Style: sst})
	s.Line(y, pane.Subject{
		ID: "controller/" + r.name, Target: "controller/" + r.name, Event: event, Copy: r.name, Kind: trace.ReconcileStart, Words: r.words(f.S),
	}, spans...)
}

// lamp says by its form, and by its colour, how a controller is.
func (r *row) lamp() (string, grid.Style) {
	switch {
	case !r.st.Works:
		return "✗", theme.Bad
	case r.st.Slower != "":
		return "◐", theme.Warn
	case r.last() != nil && !r.last().Done:
		return "◉", theme.Busy
	case r.c == nil:
		return "○", theme.Muted
	}
	return "●", theme.Good
}

// how is what is wrong with it, in few words.
func (r *row) how() string {
	switch {
	case !r.st.Works:
		how, _, _ := strings.Cut(r.st.Why, " (kviz fault")
		for _, verb := range []string{"is ", "has ", "does not run: "} {
			how = strings.TrimPrefix(how, verb)
		}
		return how
	case r.st.Slower != "":
		return "+" + r.st.Slower + " a run"
	}
	return ""
}

// result is how a run ended, or that it has not.
func result(r *view.ReconcileRun) (string, grid.Style) {
	switch {
	case !r.Done:
		return "▸", theme.Busy
	case r.Error != "":
		return "✗", theme.Bad
	case r.Result == "requeue":
		return "↻", theme.Warn
	case len(r.Actions) == 0:
		return "=", theme.Muted
	}
	return "✓", theme.Good
}

// sentence is what its last run came to: why it failed, or what was decided last.
func (r *row) sentence() string {
	if last := r.last(); last != nil && last.Error != "" {
		return last.Error
	}
	if last := r.last(); last != nil {
		if line := sumOf(last); line != "" {
			return line
		}
	}
	if last := r.last(); last != nil && last.Waits != "" {
		return last.Waits
	}
	if said := r.said(); said != nil {
		return said.Why
	}
	if r.c != nil {
		return "nothing to do so far"
	}
	return ""
}

// sumOf is the sum of an autoscaler's run in one line; "" for every other run.
func sumOf(r *view.ReconcileRun) string {
	for i := len(r.Actions) - 1; i >= 0; i-- {
		if x := r.Actions[i].Autoscale; x != nil {
			return (&view.AutoscalerSum{Autoscale: x}).Line()
		}
	}
	return ""
}

func (r *row) words(s *view.State) string {
	ready, work, later, retries := r.sum()
	text := fmt.Sprintf("%s: %d ready, %d at work, %d delayed, %s", r.name, ready, work, later, tries(retries))
	if r.c != nil {
		text += fmt.Sprintf("; %s, %d failed", words.Count(int(r.c.Runs), "run"), r.c.Errors)
	}
	if how := r.how(); how != "" {
		text += "; " + how
	}
	if says := r.sentence(); says != "" {
		text += ". Last: " + says
	}
	return text + "."
}

// drawActors lists who does the controllers' work from outside: the users, and what each wrote last.
func drawActors(s *pane.Sheet, f *pane.Frame, y int) {
	list := f.S.Actors()
	if len(list) == 0 {
		return
	}
	nameW := 0
	for _, a := range list {
		nameW = max(nameW, min(grid.Width(a.Name()), s.W()/3))
	}
	s.Row(y).Text(0, 0, grid.Pad("who acts, by its user", nameW+2)+grid.PadLeft("writes", 7)+grid.PadLeft("last", 9)+"  what it wrote last", theme.Muted)
	for _, a := range list {
		if !f.Match(a.User, a.Client) {
			continue
		}
		y++
		st := theme.Name
		if f.Fresh(a.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{
			ID: "actor/" + a.User, Event: a.Event, Ref: a.Object, Copy: a.User, Kind: trace.StoreCommit,
			Words: fmt.Sprintf("%s wrote %s so far, the last one %s: %s %s. It did not say why.", a.By(), words.Count(int(a.Writes), "time"), words.Dur(f.S.At-a.At)+" ago", a.Verb, a.Object),
		},
			grid.Span{Text: "◆ ", Style: theme.Good}, grid.Span{Text: grid.Pad(grid.Cut(a.Name(), nameW), nameW), Style: st},
			grid.Span{Text: grid.PadLeft(fmt.Sprint(a.Writes), 7), Style: theme.Number}, grid.Span{Text: grid.PadLeft(words.Dur(f.S.At-a.At), 9), Style: theme.Muted},
			grid.Span{Text: "  " + a.Verb + " ", Style: theme.Accent}, grid.Span{Text: a.Object.String(), Style: theme.Text})
	}
}
