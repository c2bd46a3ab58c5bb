package clustermap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// askers draws who asks: you, the controllers, the scheduler.
func (p *picture) askers() {
	p.you()
	p.controllers()
	p.scheduler()
}

func (p *picture) you() {
	b, s := p.box(scene.You), p.f.S
	on := pane.Subject{ID: scene.You, Target: "", Words: "You, at the console. No command has been given yet.", Copy: "you"}
	text, st, age := "no command yet", theme.Muted, ""
	if all := s.Commands(); len(all) > 0 {
		c := all[len(all)-1]
		text, age = c.Line, words.Dur((s.At-c.At).Truncate(100e6))+" ago"
		on.Event, on.Words, on.Copy = c.Start, fmt.Sprintf("Your newest command, %s: %s", age, c.Line), c.Line
		if st = theme.Text; !c.Done {
			st, age = theme.Busy, "under way"
		}
	}
	more := ""
	if n := p.others(); n > 0 {
		more = fmt.Sprintf(" +%d", n)
		on.Words += fmt.Sprintf(" Beside it: %s from outside.", words.Count(n, "client"))
	}
	switch {
	case p.Form == scene.Full:
		b.Title = []grid.Span{span("you", theme.Title), span(more, theme.Number)}
		b.Rows = [][]grid.Span{row(span(prompt(text), st))}
	case p.Form == scene.Small:
		b.Rows = [][]grid.Span{row(span("▸ you", theme.Title), span(more, theme.Number))}
		if at, _ := p.At(scene.You); at.Rect.H > 1 {
			b.Rows = append(b.Rows, row(span(brief(verb(text), age, at.Rect.W-1), theme.Muted)))
		}
	default:
		b.Rows = [][]grid.Span{{span("you ", theme.Title), span("●", st)}}
	}
	p.hot(scene.You, on)
}

// others is how many clients beside the console ask from the same place: kubectl of another terminal, programs in
// pods. It counts those inside the API server or with a watch.
func (p *picture) others() int {
	names := map[string]bool{}
	add := func(client string, command trace.ID) {
		if client != "" && command.IsZero() && client != trace.CompConsole && motion.ClientPlace(client, p.f.S) == scene.You {
			names[client] = true
		}
	}
	for _, w := range p.f.S.Watchers() {
		add(w.Client, w.Command)
	}
	for _, r := range p.f.S.ActiveRequests() {
		if r.Request != nil {
			add(r.Client, r.Command)
		}
	}
	return len(names)
}

// process is how a process of the control plane stands at its place: its mark, and what the
// cursor finds there, whose words say what is not done while it is not there, and nothing
// while it runs.
func (p *picture) process(id, process, name, without string) (mark string, st grid.Style, on pane.Subject) {
	on = pane.Subject{ID: id, Target: process, Copy: process}
	proc := p.f.S.Process(process)
	if lacks := p.f.S.Lacks(process); lacks != "" {
		on.Words = strings.ToUpper(lacks[:1]) + lacks[1:] + ": a program from outside can take its place."
		return "○", theme.Muted, on
	}
	if proc == nil {
		on.Words = "The " + name + " has not started yet."
		return "○", theme.Muted, on
	}
	on.Event = proc.Event
	if !proc.Up {
		p.box(id).Standing = scene.Down
		on.Words = "The " + name + " is down" + because(proc.Reason) + ": " + without + "."
		return "✗", theme.Bad, on
	}
	return "●", theme.Good, on
}

// prompt is a command as it stands at the prompt.
func prompt(line string) string {
	if line == "no command yet" {
		return line
	}
	return "$ " + line
}

// verb is what a command does, in a word.
func verb(line string) string {
	w := strings.Fields(line)
	if len(w) > 1 && (w[0] == "kubectl" || w[0] == "kviz") {
		return w[1]
	}
	if len(w) == 0 || line == "no command yet" {
		return "nothing yet"
	}
	return w[0]
}

// brief is a command and how long ago it was given, where there is little room; "…" while it is
// under way.
func brief(verb, age string, w int) string {
	switch age {
	case "":
		return verb
	case "under way":
		return verb + " …"
	}
	text := verb + ", " + age
	if grid.Width(text) > w {
		text = strings.TrimSuffix(text, " ago")
	}
	return text
}

// known are the controllers that have a name on the map, in this order if they are there.
var known = []string{"deployment", "endpointslice", "replicaset", "node-lifecycle", "job", "statefulset", "daemonset"}

func (p *picture) controllers() {
	b, s := p.box(scene.Controllers), p.f.S
	waiting := 0
	for _, q := range s.Queues() {
		waiting += q.Ready + q.Processing
	}
	keys := words.Count(waiting, "key")
	switch {
	case waiting == 1:
		keys += " waits"
	case waiting > 1:
		keys += " wait"
	}
	mark, st, on := p.process(scene.Controllers, trace.CompKCM, "controller manager", "nobody works off what differs from what is wanted")
	lease, look := p.lease(trace.CompKCM, "kube-controller-manager")
	switch {
	case s.Without(trace.CompKCM):
		keys = "left to others"
	case b.Standing == scene.Down:
		keys = "down"
	case lease != "":
		mark, st = p.withoutLease(scene.Controllers, mark, st)
		on.Words = "The controllers: " + lease + ". Without it none of them works: another instance could."
		keys = lease
	case on.Words == "":
		on.Words = "The controllers: " + keys + "."
	}
	switch p.Form {
	case scene.Full:
		b.Title = []grid.Span{span("controllers", theme.Title)}
		if b.Standing == scene.Down {
			b.Title = append(b.Title, span(" ✗", theme.Bad|grid.Bold))
		}
		b.Rows = append(p.workers(mark, st), p.queueRow(keys, lease, look))
	case scene.Small:
		b.Rows = [][]grid.Span{row(span(mark, st), span(" controllers", theme.Text))}
		if at, _ := p.At(scene.Controllers); at.Rect.H > 1 {
			b.Rows = append(b.Rows, row(span(keys, orElse(look, theme.Muted))))
		}
	default:
		b.Rows = [][]grid.Span{p.named(scene.Controllers, "controllers", "control", "contr", mark, st, mark != "●")}
	}
	p.hot(scene.Controllers, on)
}

// named is the one line of a process: its name as long as there is room for, and its mark where that tells something.
func (p *picture) named(id, name, short, marked, mark string, st grid.Style, tells bool) []grid.Span {
	at, _ := p.At(id)
	switch whole := at.Rect.W >= grid.Width(name)+2; {
	case whole && tells:
		return []grid.Span{span(name, theme.Text), span(" "+mark, st)}
	case whole:
		return []grid.Span{span(name, theme.Text)}
	case tells:
		return []grid.Span{span(marked, theme.Text), span(" "+mark, st)}
	}
	return []grid.Span{span(short, theme.Text)}
}

// withoutLease marks a process that does not work, or soon will not, because it does not hold
// its Lease.
func (p *picture) withoutLease(id, mark string, st grid.Style) (string, grid.Style) {
	b := p.box(id)
	if !p.floors.Leases[strings.TrimPrefix(id, "process/")] {
		b.Standing = scene.Degraded
		return mark, st
	}
	b.Standing = scene.Down
	return "✗", theme.Bad
}

// queueRow says how much waits in the queues, or why nobody works it off.
func (p *picture) queueRow(keys, lease string, look grid.Style) []grid.Span {
	if p.f.S.Without(trace.CompKCM) {
		return row(span(keys, theme.Muted))
	}
	if lease != "" {
		return row(span(keys, look|grid.Bold))
	}
	depths, line := p.f.S.Depths(queueSeconds), strings.Builder{}
	most := max(slices.Max(depths), 8)
	for _, n := range depths {
		line.WriteRune(grid.Level(n, most))
	}
	st := theme.Muted
	if depths[len(depths)-1] > 0 {
		st = theme.Busy
	}
	return row(span("queues ", theme.Muted), span(line.String(), st), span(" "+keys, theme.Number))
}

// queueSeconds is how many seconds of the work queues stand in their row.
const queueSeconds = 8

func orElse(st, other grid.Style) grid.Style {
	if st == 0 {
		return other
	}
	return st
}

// workers are the rows of the controllers: as many as have room with their whole names, and how many more there are.
func (p *picture) workers(mark string, st grid.Style) [][]grid.Span {
	all := p.f.S.Controllers()
	if len(all) == 0 {
		return [][]grid.Span{row(span(mark, st), span(" controller manager", theme.Text)), nil, nil}
	}
	order := knownFirst(all)
	at, _ := p.At(scene.Controllers)
	room := at.Rect.W - 3
	column := room / 2 // where the second begins, where the first name leaves it
	rows := make([][]grid.Span, 3)
	for y := range rows {
		used := 0
		for i := 0; i < len(order); {
			name := " " + short(order[i])
			w, end := grid.Width(name)+2, room
			if y == len(rows)-1 && len(order) > 1 {
				end -= grid.Width(moreOf(len(order)))
			}
			x := used
			if used > 0 && used < column && column+w <= end {
				x = column
			}
			if x+w > end && !(used == 0 && i == len(order)-1) { // a name that fits nowhere is cut
				i++
				continue
			}
			glyph, look := mark, st
			if len(order[i].Current()) > 0 && st == theme.Good {
				glyph, look = "◉", theme.Busy
			}
			rows[y] = append(rows[y], span(strings.Repeat(" ", x-used), theme.Text), span(" "+glyph, look), span(grid.Cut(name, end-x-2), theme.Text))
			used = x + w
			order = slices.Delete(order, i, i+1)
		}
	}
	if len(order) > 0 {
		rows[2] = append(rows[2], span(moreOf(len(order)), theme.Muted))
	}
	return rows
}

// moreOf says how many controllers are not named.
func moreOf(n int) string { return fmt.Sprintf(" … %d more", n) }

// knownFirst puts those first that [known] names, and leaves the others as they are.
func knownFirst(all []*view.Controller) []*view.Controller {
	place := func(c *view.Controller) int {
		if i := slices.Index(known, short(c)); i >= 0 {
			return i
		}
		return len(known)
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b *view.Controller) int { return cmp.Compare(place(a), place(b)) })
}

// short is a controller's name without what all their names end in: "deployment".
func short(c *view.Controller) string { return strings.TrimSuffix(c.Name, "-controller") }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (p *picture) scheduler() {
	b, s := p.box(scene.Scheduler), p.f.S
	n := len(s.Scheduler.PodsIn("active"))
	text := words.Count(n, "pod") + " to place"
	mark, st, on := p.process(scene.Scheduler, trace.CompScheduler, "scheduler", "new pods wait, running ones run on")
	lease, look := p.lease(trace.CompScheduler, "kube-scheduler")
	switch {
	case b.Standing == scene.Down:
		text = "down"
	case lease != "":
		mark, st = p.withoutLease(scene.Scheduler, mark, st)
		text = lease
		on.Words = "The scheduler: " + lease + ". Without it no pod gets a node: another instance could give it one."
	case s.Without(trace.CompScheduler):
		text = "left to others"
	case on.Words != "":
		text = "not started yet"
	default:
		on.Words = "The scheduler: " + text + "."
		if n > 0 {
			mark, st = "◉", theme.Busy
		}
	}
	switch p.Form {
	case scene.Full:
		if b.Title = []grid.Span{span("scheduler", theme.Title)}; b.Standing == scene.Down {
			b.Title = append(b.Title, span(" ✗", theme.Bad|grid.Bold))
		}
		b.Rows = [][]grid.Span{row(span(mark+" ", st), span(text, orElse(look, theme.Text)))}
	case scene.Small:
		b.Rows = [][]grid.Span{row(span(mark, st), span(" scheduler", theme.Text))}
	default:
		b.Rows = [][]grid.Span{p.named(scene.Scheduler, "scheduler", "sched", "sch", mark, st, mark == "✗")}
	}
	p.hot(scene.Scheduler, on)
}
