package object

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawJob draws how far a Job is: which of its indexes, or how many of its completions.
func drawJob(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	r := f.S.JobRun(o)
	if r == nil {
		return y
	}
	limit := fmt.Sprintf("backoffLimit %d", r.Limit)
	if r.PerIndex {
		limit = fmt.Sprintf("backoffLimitPerIndex %d", r.Limit)
	}
	many := "any success ends it"
	switch {
	case r.Completions >= 0 && r.Indexed:
		many = words.Count(r.Completions, "completion")
	case r.Completions >= 0:
		many = fmt.Sprintf("%d wanted", r.Completions)
	}
	name := "indexes"
	if !r.Indexed {
		name = "completions"
	}
	y = s.Heading(y, name, strings.Join([]string{many, fmt.Sprintf("%d at once", r.Parallelism), limit}, " · "))
	if r.Indexed {
		y = drawIndexes(s, y, o, r)
	} else {
		y = drawCompletions(s, y, o, r)
	}
	switch {
	case r.Over == string(batchv1.JobComplete):
		y = line(s, y, o, "job/over", "✓ ", r.Over+"  "+r.Why, theme.Good)
	case r.Over != "":
		y = line(s, y, o, "job/over", "✗ ", r.Over+"  "+r.Why, theme.Bad)
	case r.Suspended:
		y = line(s, y, o, "job/over", "○ ", "suspended: no pods until suspend is false", theme.Warn)
	}
	if at, ok := lookedAtAgain(f, "job", o.Ref.Key()); ok && r.Over == "" && at-f.S.At >= time.Second && r.Failed+len(r.Again) > 0 {
		y = line(s, y, o, "job/waits", "… ", "backs off: the controller looks at the Job again in "+words.Dur(at-f.S.At), theme.Warn)
	}
	return y
}

func line(s *pane.Sheet, y int, o *view.Object, id, mark, text string, st grid.Style) int {
	s.Line(y, pane.Subject{ID: id, Ref: o.Ref, Event: o.Changed, Words: o.Ref.String() + ": " + text + "."}, grid.Span{Text: mark, Style: st | grid.Bold}, grid.Span{Text: text, Style: st})
	return y + 1
}

// lookedAtAgain is when the controller's queue gives a key out again.
func lookedAtAgain(f *pane.Frame, queue, key string) (time.Duration, bool) {
	for _, q := range f.S.Queues() {
		if q.Name != queue {
			continue
		}
		if k := q.Key(key); k != nil && k.Delayed {
			return k.Due, true
		}
	}
	return 0, false
}

func drawCompletions(s *pane.Sheet, y int, o *view.Object, r *view.JobRun) int {
	whole := r.Completions
	if whole < 0 {
		whole = max(r.Succeeded+r.Active, 1)
	}
	g := gauge{
		name: "succeeded", n: r.Succeeded, whole: max(whole, 1), limit: max(whole, 1), st: theme.Number,
		parts: []part{{r.Succeeded, '▇', theme.Good}, {min(r.Active, max(whole-r.Succeeded, 0)), '▒', theme.Busy}},
		says:  fmt.Sprintf("of %d", whole), also: "none active",
	}
	if r.Active > 0 {
		g.also = fmt.Sprintf("%d active, %d of them ready", r.Active, r.Ready)
	}
	if r.Completions < 0 {
		g.says = ""
	}
	y = g.draw(s, y, pane.Subject{ID: "job/succeeded", Ref: o.Ref, Event: o.Changed, Words: fmt.Sprintf("%s: %d succeeded, %s.", o.Ref, r.Succeeded, g.also)})
	st := theme.Muted
	if r.Failed > 0 {
		st = theme.Warn
	}
	return line(s, y, o, "job/failed", "✗ ", fmt.Sprintf("failed %d: more than %d end the Job", r.Failed, r.Limit), st)
}

// drawIndexes draws the indexes as a bar, and below it which are how far.
func drawIndexes(s *pane.Sheet, y int, o *view.Object, r *view.JobRun) int {
	w := min(s.W()-2, 100)
	rows := 1
	if r.Completions > w && r.Completions <= 3*w {
		rows = (r.Completions + w - 1) / w
	}
	cells, per := r.Bar(rows * w)
	for at := 0; at < len(cells); at += w {
		a := s.Row(y)
		for i, c := range cells[at:min(at+w, len(cells))] {
			a.Put(i, 0, c, cellStyle(c))
		}
		on := pane.Subject{ID: fmt.Sprintf("job/bar/%d", at), Ref: o.Ref, Event: o.Changed, Words: fmt.Sprintf("The indexes of %s, each cell is %s.", o.Ref, words.Count(per, "index"))}
		s.Hot(0, y, s.W(), on)
		if per > 1 {
			a.Text(min(w, len(cells)-at)+1, 0, "", theme.Muted)
		}
		y++
	}
	if per > 1 {
		s.Row(y).Text(0, 0, fmt.Sprintf("each cell is %d indexes: ✗ if one failed, ● if one runs", per), theme.Muted)
		y++
	}
	rowOf := func(mark rune, name string, n int, list view.Ranges, note string, st grid.Style) {
		if n == 0 && mark != view.CellSucceeded {
			return
		}
		text := list.Brief(max((s.W()-34)/8, 3))
		on := pane.Subject{ID: "job/" + name, Ref: o.Ref, Event: o.Changed, Copy: text, Words: fmt.Sprintf("%s: %s %s: %s. %s", o.Ref, words.Count(n, "index"), name, text, note)}
		s.Line(y, on, grid.Span{Text: string(mark) + " ", Style: st}, grid.Span{Text: grid.Pad(name, 10), Style: theme.Muted}, grid.Span{Text: grid.PadLeft(fmt.Sprint(n), 6) + "  ", Style: theme.Number}, grid.Span{Text: text, Style: theme.Text}, grid.Span{Text: note, Style: theme.Muted})
		y++
	}
	lost := r.Lost.Count()
	note := ""
	if r.MaxFailed >= 0 {
		note = fmt.Sprintf("  more than %d end the Job", r.MaxFailed)
	}
	done := r.Done.Count()
	if r.More {
		done = max(done, r.Succeeded)
	}
	again := ""
	if list := r.Retried(); len(list) > 0 {
		var parts []string
		for i, x := range list {
			if i == 4 {
				parts = append(parts, "…")
				break
			}
			parts = append(parts, fmt.Sprintf("%d failed %d×", x.Index, x.Failures))
		}
		again = "  again: " + strings.Join(parts, ", ")
	}
	rowOf(view.CellSucceeded, "succeeded", done, r.Done, "", theme.Good)
	rowOf(view.CellFailed, "failed", lost, r.Lost, note, theme.Bad)
	rowOf(view.CellRunning, "running", r.Running.Count(), r.Running, again, theme.Busy)
	rowOf(view.CellAgain, "once more", r.Again.Count(), r.Again, "  a pod of it failed", theme.Warn)
	rowOf(view.CellNotBegun, "not begun", r.NotBegun.Count(), r.NotBegun, "", theme.Muted)
	if n := r.Failed; n > 0 {
		y = line(s, y, o, "job/pods", "✗ ", words.Count(n, "pod")+" failed in all", theme.Warn)
	}
	return y
}

func cellStyle(c rune) grid.Style {
	switch c {
	case view.CellSucceeded, view.CellSome:
		return theme.Good
	case view.CellFailed:
		return theme.Bad | grid.Bold
	case view.CellRunning:
		return theme.Busy
	case view.CellAgain:
		return theme.Warn | grid.Bold
	}
	return theme.Muted
}

// runsDrawn is how many of the next runs are drawn.
const runsDrawn = 3

// drawSchedule draws when a CronJob ran, runs next, and what it missed.
func drawSchedule(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	c := f.S.Schedule(o, runsDrawn)
	if c == nil {
		return y
	}
	zone := c.Zone
	if zone == "" {
		zone = "UTC"
	}
	y = s.Heading(y, "runs", strings.Join([]string{c.Text, zone, "concurrency " + orWord(c.Concurrency, string(batchv1.AllowConcurrent))}, " · "))
	now := f.S.Now()
	if c.Suspended {
		y = line(s, y, o, "runs/suspended", "○ ", "suspended: nothing is begun until suspend is false", theme.Warn)
	}
	if c.Wrong != "" {
		return line(s, y, o, "runs/wrong", "✗ ", c.Wrong, theme.Bad)
	}
	if !c.Last.IsZero() {
		at := c.Last.In(c.Next[0].Location())
		y = line(s, y, o, "runs/last", "✓ ", fmt.Sprintf("last   %s  %s ago", clock(at, now), words.Dur(now.Sub(at))), theme.Muted)
	}
	for i, at := range c.Next {
		name, st := "next ", theme.Accent
		if i > 0 {
			name, st = "then ", theme.Muted
		}
		y = line(s, y, o, fmt.Sprintf("runs/next/%d", i), "▸ ", fmt.Sprintf("%s  %s  in %s", name, clock(at, now), words.Dur(at.Sub(now))), st)
	}
	switch {
	case c.Missed > 100:
		y = line(s, y, o, "runs/missed", "✗ ", "missed more than 100 runs since "+clock(c.MissedFrom, now), theme.Bad)
	case c.Missed > 0 && (c.Missed > 1 || now.Sub(c.MissedFrom) > 2*time.Second):
		y = line(s, y, o, "runs/missed", "✗ ", fmt.Sprintf("missed %s since %s%s", words.Count(c.Missed, "run"), clock(c.MissedFrom, now), why(c)), theme.Warn)
	}
	if c.Deadline >= 0 {
		y = line(s, y, o, "runs/deadline", "· ", fmt.Sprintf("a run that is %s late is not begun any more", words.Dur(time.Duration(c.Deadline)*time.Second)), theme.Muted)
	}
	return y
}

// why says why a run was not begun, where that is known.
func why(c *view.Schedule) string {
	switch {
	case c.Suspended:
		return ": it is suspended"
	case c.Concurrency == string(batchv1.ForbidConcurrent) && c.Active > 0:
		return fmt.Sprintf(": concurrency Forbid, and %s", words.Count(c.Active, "Job")+" runs")
	}
	return ""
}

func orWord(word, without string) string {
	if word == "" {
		return without
	}
	return word
}

// clock is a time of day with its zone, with the day where it is another one than now.
func clock(at, now time.Time) string {
	if now = now.In(at.Location()); at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05 MST")
	}
	return at.Format("Mon 2 Jan 15:04:05 MST")
}
