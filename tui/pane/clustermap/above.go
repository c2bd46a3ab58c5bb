package clustermap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
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
	f, s := p.face(scene.You), p.f.S
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
	switch {
	case p.Form == scene.Full:
		f.Title = []grid.Span{span("you", theme.Title)}
		f.Rows = [][]grid.Span{row(span(prompt(text), st))}
	case p.Form == scene.Small:
		f.Rows = [][]grid.Span{row(span("▸ you", theme.Title))}
		if at, _ := p.At(scene.You); at.Rect.H > 1 {
			f.Rows = append(f.Rows, row(span(verb(text)+comma(age), theme.Muted)))
		}
	default:
		f.Rows = [][]grid.Span{{span("you ", theme.Title), span("●", st)}}
	}
	p.hot(scene.You, on)
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

func comma(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// known are the controllers that have a name on the map, in this order if they are there.
var known = []string{"deployment", "endpointslice", "replicaset", "node-lifecycle", "job", "statefulset", "daemonset"}

func (p *picture) controllers() {
	f, s := p.face(scene.Controllers), p.f.S
	waiting := 0
	for _, q := range s.Queues() {
		waiting += q.Ready + q.Processing
	}
	keys := words.Count(waiting, "key")
	if waiting > 0 {
		keys += " wait"
	}
	proc := s.Process(trace.CompKCM)
	mark, st := "●", theme.Good
	on := pane.Subject{ID: scene.Controllers, Target: trace.CompKCM, Words: "The controllers: " + keys + ".", Copy: trace.CompKCM}
	switch {
	case proc == nil:
		mark, st = "○", theme.Muted
		on.Words = "The controller manager has not started yet."
	case !proc.Up:
		mark, st, keys = "✗", theme.Bad, "down"
		f.Standing = scene.Down
		on.Words = "The controller manager is down" + because(proc.Reason) + ": nobody works off what differs from what is wanted."
	}
	if proc != nil {
		on.Event = proc.Event
	}
	switch p.Form {
	case scene.Full:
		f.Title = []grid.Span{span("controllers", theme.Title)}
		if f.Standing == scene.Down {
			f.Title = append(f.Title, span(" ✗", theme.Bad))
		}
		f.Rows = append(p.workers(mark, st), row(span("queues ", theme.Muted), span(keys, theme.Number)))
	case scene.Small:
		f.Rows = [][]grid.Span{row(span(mark, st), span(" controllers", theme.Text))}
		if at, _ := p.At(scene.Controllers); at.Rect.H > 1 {
			f.Rows = append(f.Rows, row(span(keys, theme.Muted)))
		}
	default:
		f.Rows = [][]grid.Span{{span("control", theme.Text)}}
		if mark != "●" {
			f.Rows = [][]grid.Span{{span("contr", theme.Text), span(" "+mark, st)}}
		}
	}
	p.hot(scene.Controllers, on)
}

// workers are the rows of the controllers: five by name, two beside each other.
func (p *picture) workers(mark string, st grid.Style) [][]grid.Span {
	all := p.f.S.Controllers()
	if len(all) == 0 {
		return [][]grid.Span{row(span(mark, st), span(" controller manager", theme.Text)), nil, nil}
	}
	order := knownFirst(all)
	room := 5
	if len(order) == 6 {
		room = 6
	}
	at, _ := p.At(scene.Controllers)
	half := (at.Rect.W - 3) / 2
	rows := make([][]grid.Span, 3)
	for i := range min(len(order), room) {
		glyph, look := mark, st
		if len(order[i].Current()) > 0 && st == theme.Good {
			glyph, look = "◉", theme.Busy
		}
		rows[i/2] = append(rows[i/2], span(" "+glyph, look), span(grid.Pad(" "+grid.Cut(short(order[i]), half-4), half-2), theme.Text))
	}
	if more := len(order) - room; more > 0 {
		rows[2] = append(rows[2], span(fmt.Sprintf(" … %d more", more), theme.Muted))
	}
	return rows
}

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
	f, s := p.face(scene.Scheduler), p.f.S
	n := len(s.Scheduler.PodsIn("active"))
	mark, st, text := "●", theme.Good, words.Count(n, "pod")+" to place"
	on := pane.Subject{ID: scene.Scheduler, Target: trace.CompScheduler, Words: "The scheduler: " + text + ".", Copy: trace.CompScheduler}
	if n > 0 {
		mark, st = "◉", theme.Busy
	}
	proc := s.Process(trace.CompScheduler)
	switch {
	case proc == nil:
		mark, st, text = "○", theme.Muted, "not started yet"
		on.Words = "The scheduler has not started yet."
	case !proc.Up:
		mark, st, text = "✗", theme.Bad, "down"
		f.Standing = scene.Down
		on.Words = "The scheduler is down" + because(proc.Reason) + ": new pods wait, running ones run on."
	}
	if proc != nil {
		on.Event = proc.Event
	}
	switch p.Form {
	case scene.Full:
		f.Title = []grid.Span{span("scheduler", theme.Title)}
		f.Rows = [][]grid.Span{row(span(mark+" ", st), span(text, theme.Text))}
	case scene.Small:
		f.Rows = [][]grid.Span{row(span(mark, st), span(" scheduler", theme.Text))}
	default:
		f.Rows = [][]grid.Span{{span("sched", theme.Text)}}
		if mark == "✗" {
			f.Rows = [][]grid.Span{{span("sch ", theme.Text), span(mark, st)}}
		}
	}
	p.hot(scene.Scheduler, on)
}

// request is the one whose stages are shown: that of the event that is told, else the one
// that is inside for the longest time.
func (p *picture) request() *view.Request {
	e := p.told()
	if e != nil {
		n := uint64(0)
		switch x := e.Payload.(type) {
		case *trace.Request:
			n = x.Request
		case *trace.Stage:
			n = x.Request
		case *trace.Response:
			n = x.Request
		}
		if r := p.f.S.Request(n); n > 0 && r != nil && r.Request != nil {
			return r
		}
	}
	var oldest *view.Request
	for _, r := range p.f.S.ActiveRequests() {
		if r.Request != nil && r.Verb != "watch" && (oldest == nil || r.At < oldest.At) {
			oldest = r
		}
	}
	return oldest
}

// stageNames are the stages as the picture writes them.
var stageNames = map[string]string{
	trace.StageFairness: "fairness", trace.StageMutatingAdmission: "mutating admission", trace.StageValidatingAdmission: "validating admission",
}

// stages are the marks of a request's stages: how far it has come.
func stages(r *view.Request) (marks []string, styles []grid.Style) {
	for _, stage := range trace.Stages() {
		mark, st := "·", theme.Muted
		if r != nil {
			for _, run := range r.Stage(stage) {
				switch {
				case run.Verdict == "refuse":
					mark, st = "✗", theme.Bad
				case mark != "✗":
					mark, st = "✓", theme.Good
				}
			}
			if stage == r.Reached && !r.Done && mark == "✓" {
				mark, st = "▸", theme.Busy|grid.Bold
			}
		}
		marks, styles = append(marks, mark), append(styles, st)
	}
	return marks, styles
}

func (p *picture) server() {
	f, s := p.face(scene.APIServer), p.f.S
	r := p.request()
	marks, styles := stages(r)
	proc := s.Process(trace.CompAPIServer)
	inside, wait := 0, 0
	for _, a := range s.ActiveRequests() {
		if a.Request != nil && a.Verb != "watch" {
			inside++
			if a.Reached == trace.StageStorage {
				wait++
			}
		}
	}
	on := pane.Subject{ID: scene.APIServer, Target: trace.CompAPIServer, Copy: trace.CompAPIServer, Words: fmt.Sprintf("The API server: %s inside, %s open.", words.Count(inside, "request"), watchCount(len(s.Watchers())))}
	state := words.Count(inside, "request") + " inside"
	switch {
	case proc == nil:
		state = "not started yet"
		on.Words = "The API server has not started yet: it waits for the store."
	case !proc.Up:
		f.Standing, state = scene.Down, "down"
		on.Words = "The API server is down" + because(proc.Reason) + ": nothing can be asked or changed, pods run on."
	case inside == 0:
		state = "no request inside"
	}
	if proc != nil {
		on.Event = proc.Event
	}
	title := "API server"
	if n := len(s.APIServers()); n > 1 {
		title = fmt.Sprintf("API servers · %d", n)
	}
	f.Title = []grid.Span{span(title, theme.Title)}
	if f.Standing == scene.Down {
		f.Title = append(f.Title, span(" ✗", theme.Bad))
	}
	rev := s.Store.Revision
	for _, w := range s.WatchCaches() {
		rev = max(rev, w.Revision)
	}
	watches := len(s.Watchers())
	switch at, _ := p.At(scene.APIServer); {
	case p.Form == scene.Full:
		f.Split = 11
		for i, stage := range trace.Stages() {
			name := stageNames[stage]
			if name == "" {
				name = stage
			}
			look := theme.Muted
			if marks[i] != "·" {
				look = theme.Text
			}
			if marks[i] == "▸" || marks[i] == "✗" {
				look = styles[i]
			}
			f.Rows = append(f.Rows, row(span(marks[i]+" ", styles[i]), span(name, look)))
		}
		if proc == nil || !proc.Up {
			f.Rows[0] = row(span(state, theme.Muted))
		}
		f.Rows = append(f.Rows, row(span("watch cache ", theme.Muted), span(fmt.Sprintf("rev %d", rev), theme.Number), span(fmt.Sprintf("  %d ◆", watches), theme.Muted)))
	case p.Form == scene.Small:
		var dots []grid.Span
		for i := range marks {
			dots = append(dots, span(marks[i]+" ", styles[i]))
		}
		what, where := "ten stages, all free", state
		if r != nil && !r.Done {
			what, where = r.Verb+" "+r.Resource+"/"+r.Name, fmt.Sprintf("at %s for %s", reached(r), words.Dur((s.At-r.At).Truncate(100e6)))
		}
		f.Rows = [][]grid.Span{row(dots...), row(span(what, theme.Text)), row(span(where, theme.Text)), row(span(fmt.Sprintf("watch cache rev %d", rev), theme.Muted)), row(span(watchCount(watches), theme.Muted))}
		if wait > 1 {
			f.Rows[3] = row(span(words.Count(wait, "request")+" wait for the store", theme.Warn))
		}
		if at.Rect.H < 7 {
			f.Rows = [][]grid.Span{f.Rows[0], row(span(state, theme.Text)), row(span(fmt.Sprintf("%s  rev %d", watchCount(watches), rev), theme.Muted))}
		}
	default:
		dots := []grid.Span{span("API ", theme.Title)}
		for i := range marks {
			dots = append(dots, span(marks[i], styles[i]))
		}
		f.Rows = [][]grid.Span{dots}
	}
	p.hot(scene.APIServer, on)
}

func reached(r *view.Request) string {
	if name := stageNames[r.Reached]; name != "" {
		return name
	}
	if r.Reached == "" {
		return "the door"
	}
	return r.Reached
}

func watchCount(n int) string {
	if n == 1 {
		return "1 watch"
	}
	return fmt.Sprintf("%d watches", n)
}

func (p *picture) store() {
	f, st := p.face(scene.Store), &p.f.S.Store
	q := st.Quorum()
	on := pane.Subject{ID: scene.Store, Target: "store", Copy: "store", Words: fmt.Sprintf("The store at revision %d, %s.", st.Revision, pane.Quorum(q))}
	members := st.Members()
	lost := q.Total > 0 && !q.OK()
	if lost {
		f.Standing = scene.Down
	}
	quorum := span(fmt.Sprintf("%s%s %d of %d, %d make a quorum", strings.Repeat("●", q.Have), strings.Repeat("○", max(q.Total-q.Have, 0)), q.Have, q.Total, q.Need), theme.Good)
	if lost {
		quorum = span(fmt.Sprintf("%s%s %d of %d: NO QUORUM", strings.Repeat("●", q.Have), strings.Repeat("○", max(q.Total-q.Have, 0)), q.Have, q.Total), theme.Bad|grid.Bold)
	}
	if q.Total == 0 {
		quorum = span("one process, without members", theme.Muted)
		on.Words = fmt.Sprintf("The store is one process, at revision %d.", st.Revision)
	}
	at, _ := p.At(scene.Store)
	if p.Form == scene.Full {
		f.Title = []grid.Span{span("store", theme.Title)}
		if q.Total > 0 {
			f.Title = append(f.Title, span(" · term ", theme.Muted), span(fmt.Sprint(st.Term), theme.Term(st.Term)))
		}
		f.Title = append(f.Title, span(" · rev ", theme.Muted), span(fmt.Sprint(st.Revision), theme.Number))
		f.Rows = make([][]grid.Span, 11)
		f.Rows = append(f.Rows, row(span(" ", theme.Text), quorum))
	} else if p.Form == scene.Small {
		f.Title = []grid.Span{span("store", theme.Title), span(fmt.Sprintf(" t%d", st.Term), theme.Term(st.Term)), span(fmt.Sprintf(" rev %d", st.Revision), theme.Number)}
		if q.Total == 0 {
			f.Title = slices.Delete(f.Title, 1, 2)
		}
		if at.Rect.H >= 7 {
			short := span(pane.Quorum(q), quorum.Style)
			if q.Total == 0 {
				short = span("one process", theme.Muted)
			}
			f.Rows = append(make([][]grid.Span, 4), row(short))
		} else if lost {
			f.Title = []grid.Span{span("store", theme.Title), span(" NO QUORUM", theme.Bad|grid.Bold)}
		}
	} else if q.Total == 0 {
		f.Rows = [][]grid.Span{nil, {span("store ", theme.Title), span(fmt.Sprintf("rev %d", st.Revision), theme.Number)}}
	}
	if p.Form != scene.Strip || q.Total == 0 {
		p.hot(scene.Store, on)
	}
	for _, m := range members {
		p.member(m)
	}
	p.links(members)
}

// member draws one member: whether it leads, and how far its log is.
func (p *picture) member(m *view.Member) {
	id := "member/" + m.Name
	f := p.face(id)
	glyph, st := pane.Member(m)
	if m.Role == "leader" && m.Up || m.Role == "candidate" && m.Up {
		st = theme.Term(m.Term) | grid.Bold
	}
	at, _ := p.At(id)
	if len(p.f.S.FaultsOn(id)) > 0 && m.Up {
		f.Standing = scene.Degraded
	}
	if !m.Up {
		f.Standing = scene.Down
	}
	last := fmt.Sprint(m.Last)
	if at.Framed {
		f.Title = []grid.Span{span(m.Name+" ", st), span(string(glyph), st)}
		n := min(6, at.Rect.W-4-len(last))
		var cells []grid.Span
		for i := max(int64(m.Last)-int64(n)+1, 1); i <= int64(m.Last); i++ {
			switch state := m.Entry(uint64(i)); {
			case !m.Up:
				cells = append(cells, span("■", theme.Muted))
			case state == view.EntryWritten:
				cells = append(cells, span("□", theme.Busy))
			case state == view.EntryDurable:
				cells = append(cells, span("■", theme.Busy))
			default:
				cells = append(cells, span("■", theme.Good))
			}
		}
		f.Rows = [][]grid.Span{append(cells, span(" "+last, theme.Number))}
	} else {
		text := string(glyph) + " " + m.Name + " "
		if at.Rect.W < 7 {
			text = string(glyph) + m.Name
			last = ""
		}
		number := theme.Number
		if !m.Up {
			number = theme.Muted
		}
		f.Rows = [][]grid.Span{{span(text, st), span(last, number)}}
	}
	p.hot(id, pane.Subject{ID: id, Target: id, Event: m.Event, Words: memberWords(m), Copy: m.Name})
}

// links are the lines to and between members: to whoever leads, and between all of three,
// else from who leads or stands for election. Where a fault has cut one, its ends are left.
func (p *picture) links(members []*view.Member) {
	leads := map[string]bool{}
	hub := p.f.S.Store.Leader
	for _, m := range members {
		leads["member/"+m.Name] = m.Up && (m.Role == "leader" || m.Role == "candidate")
	}
	for i, e := range p.Edges {
		l := &p.Lines[i]
		switch e.Class {
		case scene.Writes:
			l.Light = scene.Hidden
			if e.To == "member/"+hub || e.To == scene.Store && (hub == "" || p.Form != scene.Full || p.Index("member/"+hub) < 0 || len(members) > 5) {
				l.Light = scene.Sound
			}
			if q := p.f.S.Store.Quorum(); q.Total > 0 && !q.OK() && l.Light == scene.Sound {
				l.Label, l.Note = "put ✗", theme.Bad
				if p.Form == scene.Small {
					l.Label = "✗"
				}
			}
		case scene.Raft:
			if len(members) > 3 && !leads[e.From] && !leads[e.To] {
				l.Light = scene.Hidden
			}
			l.Cut = p.cut(e.From, e.To)
		}
	}
}

// cut reports whether a fault has cut two members off from one another.
func (p *picture) cut(a, b string) bool {
	_, nameA, _ := strings.Cut(a, "/")
	_, nameB, _ := strings.Cut(b, "/")
	between := func(on, other string) bool {
		for _, f := range p.f.S.FaultsOn(on) {
			if f.Fault.Fault != "cut" {
				continue
			}
			if f.Detail == "" || slices.Contains(strings.FieldsFunc(f.Detail, func(r rune) bool { return r == ',' || r == ' ' }), other) {
				return true
			}
		}
		return false
	}
	if between(a, nameB) || between(b, nameA) {
		return true
	}
	for _, f := range p.f.S.FaultsOn("store") {
		if f.Fault.Fault == "partition" && apart(f.Detail, nameA, nameB) {
			return true
		}
	}
	return false
}

// apart reports whether two members are on different sides of a partition, "a,b" or
// "a,b c,d,e": who is named nowhere is on the other side of the first.
func apart(sides, a, b string) bool {
	side := func(name string) int {
		for i, s := range strings.Fields(sides) {
			if slices.Contains(strings.Split(s, ","), name) {
				return i
			}
		}
		return 1
	}
	return side(a) != side(b)
}
