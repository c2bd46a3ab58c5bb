package object

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

// drawRollout draws how many pods there may be, how many must be available, and how many there are.
func drawRollout(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	r := f.S.Rollout(o)
	if r == nil {
		return y
	}
	y = s.Heading(y, "rollout", bounds(r))
	says, good := r.Says()
	mark, st := "✓ ", theme.Good
	if !good {
		mark, st = "✗ ", theme.Bad
		if r.UnderMost() && r.Lost == nil { // it is on its way
			mark, st = "… ", theme.Warn
		}
	}
	whole := max(r.Most(), r.Total, 1)
	old := max(r.Total-r.Updated, 0)
	rolling := r.Strategy == "RollingUpdate"
	total := gauge{name: "pods", n: r.Total, whole: whole, limit: r.Most(), parts: []part{{r.Total - old, '▇', theme.Accent}, {old, '▒', theme.Muted}}, st: theme.Number}
	ready := gauge{name: "available", n: r.Available, whole: whole, limit: r.Least(), parts: []part{{r.Available, '▇', theme.Good}}, st: theme.Number}
	if !r.UnderMost() {
		total.st = theme.Bad | grid.Bold
	}
	if !r.OverLeast() {
		ready.st = st | grid.Bold
	}
	total.says = fmt.Sprintf("≤ %d = %d + %d", r.Most(), r.Wanted, r.Surge)
	ready.says = fmt.Sprintf("≥ %d = %d − %d", r.Least(), r.Wanted, r.Missing)
	if !rolling {
		total.limit, ready.limit = r.Wanted, r.Wanted
		total.says, ready.says = fmt.Sprintf("of %d", r.Wanted), fmt.Sprintf("of %d", r.Wanted)
	}
	total.also = fmt.Sprintf("%d new", r.Total-old)
	if old > 0 {
		total.also += fmt.Sprintf(", %d old", old)
	}
	if r.Terminating > 0 {
		total.also += fmt.Sprintf(", %d terminating", r.Terminating)
	}
	if r.Misplaced > 0 {
		total.also += fmt.Sprintf(", %d where none would be made now", r.Misplaced)
	}
	on := pane.Subject{ID: "rollout/pods", Ref: o.Ref, Event: o.Changed, Copy: fmt.Sprint(r.Total), Words: fmt.Sprintf("%s has %s (%s): at most %d + %d = %d may be there.", o.Ref, words.Count(r.Total, "pod"), total.also, r.Wanted, r.Surge, r.Most())}
	y = total.draw(s, y, on)
	on.ID, on.Copy = "rollout/available", fmt.Sprint(r.Available)
	on.Words = fmt.Sprintf("%s of %s are available: at least %d − %d = %d must be.", words.Count(r.Available, "pod"), o.Ref, r.Wanted, r.Missing, r.Least())
	y = ready.draw(s, y, on)
	on = pane.Subject{ID: "rollout/held", Event: o.Changed, Words: "The invariant of a rollout, total ≤ replicas + maxSurge and available ≥ replicas − maxUnavailable: " + says + "."}
	if r.Lost != nil {
		on.Ref, on.Event = r.Lost.Pod, r.Lost.Event
	}
	s.Line(y, on, grid.Span{Text: mark, Style: st | grid.Bold}, grid.Span{Text: says, Style: st})
	y++
	if r.Stalled != "" {
		s.Line(y, pane.Subject{ID: "rollout/stalled", Event: o.Changed, Words: r.Stalled}, grid.Span{Text: "✗ ", Style: theme.Bad | grid.Bold}, grid.Span{Text: r.Stalled, Style: theme.Bad})
		y++
	}
	return y
}

// bounds says how far a rollout may go, as the spec has it and in pods.
func bounds(r *view.Rollout) string {
	out := []string{r.Strategy}
	in := func(name, as string, n int) {
		text := fmt.Sprintf("%s %d", name, n)
		if as != fmt.Sprint(n) && as != "" {
			text = fmt.Sprintf("%s %s = %d", name, as, n)
		}
		out = append(out, text)
	}
	if r.SurgeAs != "" {
		in("maxSurge", r.SurgeAs, r.Surge)
	}
	if r.MissingAs != "" {
		in("maxUnavailable", r.MissingAs, r.Missing)
	}
	if r.Partition > 0 {
		in("partition", "", r.Partition)
	}
	if r.Paused {
		out = append(out, "paused")
	}
	return strings.Join(out, " · ")
}

// gauge is a number beside its bar, on which a mark stands where it may not pass.
type gauge struct {
	name         string
	n            int
	whole, limit int
	parts        []part
	says, also   string
	st           grid.Style
}

type part struct {
	n    int
	rune rune
	st   grid.Style
}

// How wide the columns of a gauge are.
const (
	gaugeName = 10
	gaugeMost = 32
)

func (g gauge) draw(s *pane.Sheet, y int, on pane.Subject) int {
	a := s.Row(y)
	a.Text(0, 0, g.name, theme.Muted)
	number := fmt.Sprint(g.n)
	x := gaugeName + max(len(fmt.Sprint(g.whole)), 2)
	a.Right(x, 0, number, g.st)
	x += 1
	w := min(max(s.W()-x-24, 4), gaugeMost)
	at := func(n int) int { return (n*w + g.whole/2) / g.whole }
	if g.whole <= w { // whole cells a pod, so that each looks alike
		w = w / g.whole * g.whole
	}
	col := func(c int) int { // the limit has a cell of its own
		if c >= at(g.limit) {
			return x + c + 1
		}
		return x + c
	}
	for c := range w {
		a.Put(col(c), 0, '░', theme.Shadow)
	}
	from := 0
	for _, p := range g.parts {
		for c := at(from); c < at(from+p.n); c++ {
			a.Put(col(c), 0, p.rune, p.st)
		}
		from += p.n
	}
	a.Put(x+at(g.limit), 0, '┃', theme.Title|grid.Bold)
	x = a.Text(x+w+2, 0, g.says, theme.Text)
	a.Fit(x+2, 0, s.W()-x-2, g.also, theme.Muted)
	s.Hot(0, y, s.W(), on)
	return y + 1
}

// drawSteps draws what each write of a rollout made of its ReplicaSets: how many pods each wants, how many are ready.
func drawSteps(s *pane.Sheet, f *pane.Frame, y int, o *view.Object, most int) int {
	r := f.S.Rollout(o)
	if r == nil {
		return y
	}
	of, steps := f.S.Steps(r, most)
	if len(of) < 2 || len(steps) == 0 {
		return y
	}
	y = s.Heading(y, "steps", "of each ReplicaSet: wanted/ready; newest first")
	wide := min(max((s.W()-32)/len(of), 8), 24)
	a := s.Row(y)
	for i, rev := range of {
		name := fmt.Sprintf("%d %s", rev.Number, rev.Ref.Name)
		if rev.Current {
			name += " new"
		}
		a.Text(20+i*wide, 0, grid.CutLeft(name, wide-1), theme.Muted)
	}
	a.Text(20+len(of)*wide, 0, "in all", theme.Muted)
	y++
	for i := len(steps) - 1; i >= 0; i-- {
		st := steps[i]
		a := s.Row(y)
		x := a.Text(0, 0, words.Clock(st.At)+" ", theme.Muted)
		a.Text(x, 0, "#"+st.Event.String(), theme.Event)
		all, ready := 0, 0
		for k, size := range st.Sets {
			if size.Desired < 0 {
				a.Text(20+k*wide, 0, "–", theme.Muted)
				continue
			}
			look := theme.Text
			if k == st.By {
				look = theme.Number | grid.Bold
			}
			a.Text(20+k*wide, 0, fmt.Sprintf("%d/%d", size.Desired, size.Ready), look)
			all, ready = all+size.Desired, ready+size.Ready
		}
		a.Text(20+len(of)*wide, 0, fmt.Sprintf("%d/%d", all, ready), theme.Text)
		s.Hot(0, y, s.W(), pane.Subject{
			ID: "step/" + st.Event.String(), Event: st.Event, Kind: trace.StoreCommit,
			Words: fmt.Sprintf("%s is written: it wants %d and has %d ready; in all %d are wanted, %d ready.", of[st.By].Ref, st.Sets[st.By].Desired, st.Sets[st.By].Ready, all, ready),
		})
		y++
	}
	return y
}
