package clustermap

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

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
func stages(r *view.Request, s *view.State) (marks []string, styles []grid.Style) {
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
			if stage == s.Stands(r) && !r.Done && mark != "✗" {
				mark, st = "▸", theme.Busy|grid.Bold
			}
		}
		marks, styles = append(marks, mark), append(styles, st)
	}
	return marks, styles
}

func (p *picture) server() {
	b, s := p.box(scene.APIServer), p.f.S
	r := p.request()
	marks, styles := stages(r, s)
	proc := s.Process(trace.CompAPIServer)
	inside, wait := 0, 0
	for _, a := range s.ActiveRequests() {
		if a.Request != nil && a.Verb != "watch" {
			inside++
			if s.Stands(a) == trace.StageStorage {
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
		b.Standing, state = scene.Down, "down"
		on.Words = "The API server is down" + because(proc.Reason) + ": nothing can be asked or changed, pods run on."
	case inside == 0:
		state = "no request inside"
	}
	if proc != nil {
		on.Event = proc.Event
	}
	title := "API server"
	if n := len(s.APIServers()); n > 1 {
		title = fmt.Sprintf("API servers · %d · %s", n, serving(r))
	}
	b.Title = []grid.Span{span(title, theme.Title)}
	if b.Standing == scene.Down {
		b.Title = append(b.Title, span(" ✗", theme.Bad))
	}
	rev := s.Store.Revision
	for _, w := range s.WatchCaches() {
		rev = max(rev, w.Revision)
	}
	watches := len(s.Watchers())
	switch at, _ := p.At(scene.APIServer); {
	case p.Form == scene.Full:
		b.Split = 11
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
			b.Rows = append(b.Rows, row(span(marks[i]+" ", styles[i]), span(name, look)))
		}
		if proc == nil || !proc.Up {
			b.Rows[0] = row(span(state, theme.Muted))
		}
		name, number, note := "watch cache ", fmt.Sprintf("rev %d", rev), p.cacheNote(watches)
		if 1+grid.Width(name+number+note.Text) > at.Inside().W {
			name = "cache "
		}
		b.Rows = append(b.Rows, row(span(name, theme.Muted), span(number, theme.Number), note))
	case p.Form == scene.Small:
		var dots []grid.Span
		for i := range marks {
			dots = append(dots, span(marks[i]+" ", styles[i]))
		}
		what, where := "ten stages, all free", state
		switch {
		case r != nil && !r.Done:
			what, where = r.Verb+" "+r.Resource+"/"+r.Name, fmt.Sprintf("at %s for %s", stands(r, s), words.Dur((s.At-r.At).Truncate(100e6)))
		case r != nil && inside > 0:
			what = fmt.Sprintf("%s %s: %d", r.Verb, r.Resource, r.Code)
		}
		b.Rows = [][]grid.Span{row(dots...), row(span(what, theme.Text)), row(span(where, theme.Text)), row(p.cacheRow(rev)...), row(span(watchCount(watches), theme.Muted))}
		if wait > 1 {
			b.Rows[3] = row(span(fmt.Sprintf("%d wait for the store", wait), theme.Warn))
		}
		if at.Rect.H < 7 {
			b.Rows = [][]grid.Span{b.Rows[0], row(span(state, theme.Text)), row(span(fmt.Sprintf("%s  rev %d", watchCount(watches), rev), theme.Muted))}
		}
	default:
		name := "API "
		if at.Rect.W >= grid.Width("API server ")+len(marks) {
			name = "API server "
		}
		dots := []grid.Span{span(name, theme.Title)}
		for i := range marks {
			dots = append(dots, span(marks[i], styles[i]))
		}
		b.Rows = [][]grid.Span{dots}
	}
	p.hot(scene.APIServer, on)
}

// cacheRow is the revision of the watch caches; without a quorum it is old.
func (p *picture) cacheRow(rev int64) []grid.Span {
	r := []grid.Span{span(fmt.Sprintf("watch cache rev %d", rev), theme.Muted)}
	if p.floors.Reads {
		r = append(r, span(" old", theme.Warn|grid.Bold))
	}
	return r
}

// cacheNote says how many watches there are; without a quorum that what they have is old.
func (p *picture) cacheNote(watches int) grid.Span {
	if p.floors.Reads {
		return span("  old", theme.Warn|grid.Bold)
	}
	return span(fmt.Sprintf("  %d ◆", watches), theme.Muted)
}

// stands is the stage at which a request stands, as the picture writes it.
func stands(r *view.Request, s *view.State) string {
	stage := s.Stands(r)
	if name := stageNames[stage]; name != "" {
		return name
	}
	if stage == "" {
		return "the door"
	}
	return stage
}

func watchCount(n int) string {
	if n == 1 {
		return "1 watch"
	}
	return fmt.Sprintf("%d watches", n)
}
