// Package apipipe is pane 3: the API server's request pipeline. Every request
// is a row with a mark for each stage it has passed; the one under the cursor
// (or the one the present event is about) is told stage by stage below, with
// the lines that each stage changed in the object.
package apipipe

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

// Pipeline is the pane.
type Pipeline struct {
	reads bool // show reads too
}

// New makes the pane.
func New() *Pipeline { return &Pipeline{} }

const keyReads = "api.reads"

// Info implements [pane.Pane].
func (*Pipeline) Info() pane.Info {
	return pane.Info{
		Number: 3, Name: "api", Title: "API requests",
		Means: "Every request on its way through the API server. A stage lets a request pass, changes its object, or refuses it; " +
			"only what passes all of them is written to the store. After the answer, the watch cache tells the watchers.",
		Legend: [][2]string{
			{"✓", "the stage let it pass"},
			{"±", "the stage changed the object"},
			{"▸", "the request is here"},
			{"✗", "refused here"},
			{"authn", "who are you? certificates, tokens"},
			{"audit", "write down that it was asked"},
			{"imper", "acting for somebody else"},
			{"fair", "priority and fairness: wait for a seat"},
			{"authz", "may you? RBAC"},
			{"decod", "read the object, set defaults"},
			{"mutat", "mutating admission"},
			{"valid", "validation"},
			{"admit", "validating admission"},
			{"store", "the transaction in the store"},
		},
		Keys: []keymap.Binding{
			keymap.Bind(keymap.Open, "open", "Go to the moment of the request or stage under the cursor.", "enter"),
			keymap.Bind(keyReads, "reads", "Show or hide requests that only read, renewals of Leases, and Kubernetes Events.", "r"),
		},
	}
}

// Note implements [pane.Pane].
func (*Pipeline) Note(f *pane.Frame) string {
	n := fmt.Sprintf("%d inside", len(f.S.ActiveRequests()))
	if w := len(f.S.WaitingRequests()); w > 0 {
		n += fmt.Sprintf(", %d waiting", w)
	}
	return n
}

// Do implements [pane.Pane].
func (p *Pipeline) Do(action string, on pane.Subject, f *pane.Frame) pane.Ask {
	switch action {
	case keyReads:
		p.reads = !p.reads
		return pane.Redraw{}
	case keymap.Open:
		if !on.Event.IsZero() {
			return pane.Goto{ID: on.Event}
		}
	}
	return nil
}

var short = map[string]string{
	trace.StageAuthentication: "authn", trace.StageAudit: "audit", trace.StageImpersonation: "imper", trace.StageFairness: "fair",
	trace.StageAuthorization: "authz", trace.StageDecode: "decod", trace.StageMutatingAdmission: "mutat", trace.StageValidation: "valid",
	trace.StageValidatingAdmission: "admit", trace.StageStorage: "store",
}

// Draw implements [pane.Pane].
func (p *Pipeline) Draw(s *pane.Sheet, f *pane.Frame) {
	list := p.requests(f)
	cols := p.stageWidth(s.W())
	y := p.header(s, cols)
	show := max(f.Rows*2/5, 4)
	if len(list) > show {
		list = list[:show]
	}
	if len(list) == 0 {
		s.Row(y).Text(0, 0, "no requests that write yet (r shows reads, Leases and Events)", theme.Muted)
		y++
	}
	chosen := p.chosen(f, list)
	for _, r := range list {
		p.drawRequest(s, f, y, r, cols, r == chosen)
		y++
	}
	if chosen != nil {
		y = drawDetail(s, f, y, chosen)
	}
	drawCaches(s, f, y)
}

// requests lists what waits, what is inside, and what was answered, newest
// first.
func (p *Pipeline) requests(f *pane.Frame) []*view.Request {
	var out []*view.Request
	add := func(list []*view.Request) {
		for i := len(list) - 1; i >= 0 && len(out) < 200; i-- {
			r := list[i]
			if !p.reads && quiet(r) && f.Filter == "" {
				continue
			}
			if f.Match(r.Verb, r.Path, r.Client, r.User, r.Resource, r.Refused) {
				out = append(out, r)
			}
		}
	}
	add(f.S.WaitingRequests())
	add(f.S.ActiveRequests())
	add(f.S.Requests())
	return out
}

// quiet reports whether a request is one of the many that change nothing worth
// seeing: a read, the renewal of a Lease, a Kubernetes Event.
func quiet(r *view.Request) bool {
	if r.Refused != "" || r.Code >= 400 {
		return false
	}
	return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" || r.Resource == "leases" && r.Verb != "create" || r.Resource == "events"
}

// chosen is the request told in detail: the one under the cursor, else that
// of the present event, else the newest.
func (p *Pipeline) chosen(f *pane.Frame, list []*view.Request) *view.Request {
	if f.Focused {
		for _, r := range list {
			id := requestID(r)
			if f.Cursor == id || strings.HasPrefix(f.Cursor, id+"/") {
				return r
			}
		}
	}
	if n := requestOf(f.Event()); n != 0 {
		if r := f.S.Request(n); r != nil {
			return r
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

func requestID(r *view.Request) string { return fmt.Sprintf("req/%d", r.Request.Request) }

func requestOf(e *trace.Event) uint64 {
	if e == nil {
		return 0
	}
	switch p := e.Payload.(type) {
	case *trace.Request:
		return p.Request
	case *trace.Stage:
		return p.Request
	case *trace.Response:
		return p.Request
	}
	return 0
}

// stageWidth is how many columns a stage takes.
func (p *Pipeline) stageWidth(w int) int {
	switch {
	case w >= 120:
		return 6
	case w >= 76:
		return 3
	case w >= 52:
		return 2
	}
	return 1
}

func (p *Pipeline) header(s *pane.Sheet, cols int) int {
	n := len(trace.Stages())
	x0 := s.W() - n*cols - 5
	a := s.Row(0)
	a.Text(0, 0, "request", theme.Muted)
	if cols == 1 {
		a.Text(x0, 0, "stages", theme.Muted)
	}
	for i, st := range trace.Stages() {
		a.Text(x0+i*cols, 0, short[st][:min(cols-1, len(short[st]))], theme.Muted)
	}
	a.Text(s.W()-4, 0, "code", theme.Muted)
	return 1
}

func (p *Pipeline) drawRequest(s *pane.Sheet, f *pane.Frame, y int, r *view.Request, cols int, chosen bool) {
	stages := trace.Stages()
	x0 := s.W() - len(stages)*cols - 5
	a := s.Row(y)
	st := theme.Text
	if f.Fresh(r.Received) || requestOf(f.Event()) == r.Request.Request {
		st |= grid.Fresh
	}
	if chosen {
		a.Put(0, 0, '▸', theme.Accent)
	}
	x := a.Text(1, 0, r.Verb+" ", theme.Accent&0xff|st&grid.Fresh)
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	key := r.Name
	if r.Namespace != "" {
		key = r.Namespace + "/" + key
	}
	room := x0 - 1 - x
	client := pane.Abbreviate(r.Client)
	if full := name + " " + key; grid.Width(full)+grid.Width(client)+4 <= room {
		x = a.Text(x, 0, full, st)
		a.Text(x, 0, "  ← "+client, theme.Muted)
	} else {
		a.Fit(x, 0, room, full, st)
	}
	drawStages(a, f, r, x0, cols)
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r), Event: latest(r), Ref: refOf(r), Kind: trace.RequestReceived, Words: describe(r), Copy: r.Path})
}

func drawStages(a grid.Area, f *pane.Frame, r *view.Request, x0, cols int) {
	stages := trace.Stages()
	reached := -1
	for i, name := range stages {
		runs := r.Stage(name)
		if len(runs) == 0 {
			continue
		}
		reached = i
		glyph, st := '✓', theme.Good
		for _, run := range runs {
			if len(run.Diff) > 0 {
				glyph, st = '±', theme.Added
			}
			if run.Verdict == "refuse" {
				glyph, st = '✗', theme.Bad|grid.Bold
			}
			if f.Fresh(run.Event) {
				st |= grid.Fresh
			}
		}
		a.Put(x0+i*cols, 0, glyph, st)
	}
	for i := range stages {
		if i > reached && !(i == reached+1 && !r.Done) {
			a.Put(x0+i*cols, 0, '·', theme.Line)
		}
	}
	if !r.Done && reached+1 < len(stages) {
		a.Put(x0+(reached+1)*cols, 0, '▸', theme.Busy|grid.Bold)
	}
	switch {
	case r.Done && r.Code >= 400:
		a.Right(a.W(), 0, fmt.Sprint(r.Code), theme.Bad|grid.Bold)
	case r.Done:
		a.Right(a.W(), 0, fmt.Sprint(r.Code), theme.Good)
	default:
		a.Right(a.W(), 0, "…", theme.Busy)
	}
}

func latest(r *view.Request) trace.ID {
	if !r.Answered.IsZero() {
		return r.Answered
	}
	if n := len(r.Stages); n > 0 {
		return r.Stages[n-1].Event
	}
	return r.Received
}

func refOf(r *view.Request) trace.Ref {
	if r.Name == "" {
		return trace.Ref{}
	}
	return trace.Ref{Kind: r.Resource, Namespace: r.Namespace, Name: r.Name}
}

func describe(r *view.Request) string {
	w := fmt.Sprintf("%s asks to %s %s", r.Client, r.Verb, r.Path)
	switch {
	case r.Done && r.Refused != "":
		w += fmt.Sprintf(": refused by %s with %d. %s", r.Refused, r.Code, r.Message)
	case r.Done:
		w += fmt.Sprintf(": answered %d after %s.", r.Code, words.Dur(r.Took))
	case r.Reached != "":
		w += ": it has passed " + r.Reached + "."
	default:
		w += "."
	}
	return w
}

// drawDetail tells one request stage by stage.
func drawDetail(s *pane.Sheet, f *pane.Frame, y int, r *view.Request) int {
	a := s.Row(y)
	x := a.Text(0, 0, strings.ToUpper(r.Verb)+" ", theme.Title)
	x = a.Fit(x, 0, s.W()-x-2, r.Path, theme.Name)
	a.HLine(x+1, 0, s.W()-x-1, theme.Line)
	y++
	s.Row(y).Fit(0, 0, s.W(), "from "+r.Client+" as "+r.User, theme.Muted)
	y++
	for i, run := range r.Stages {
		y = drawRun(s, f, y, fmt.Sprintf("%s/%d", requestID(r), i), run)
	}
	if !r.Done {
		return y
	}
	st, text := theme.Good, fmt.Sprintf("answered %d in %s", r.Code, words.Dur(r.Took))
	if r.Code >= 400 {
		st, text = theme.Bad, fmt.Sprintf("answered %d %s: %s", r.Code, r.Reason, r.Message)
	}
	lines := grid.Lines("⇒ "+text, s.W())
	for i, l := range lines {
		s.Row(y+i).Text(0, 0, l, st)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r) + "/answer", Event: r.Answered, Kind: trace.RequestDone, Words: describe(r)})
	return y + len(lines)
}

func drawRun(s *pane.Sheet, f *pane.Frame, y int, id string, run view.StageRun) int {
	glyph, st := '✓', theme.Good
	if len(run.Diff) > 0 {
		glyph, st = '±', theme.Added
	}
	if run.Verdict == "refuse" {
		glyph, st = '✗', theme.Bad
	}
	fresh := grid.Style(0)
	if f.Fresh(run.Event) {
		fresh = grid.Fresh
	}
	a := s.Row(y)
	a.Put(0, 0, glyph, st|fresh)
	name := run.Stage.Stage
	x := a.Text(2, 0, name, st&0xff|fresh)
	if run.By != "" {
		x = a.Text(x, 0, " "+run.By, theme.Name|fresh)
	}
	a.Fit(x+2, 0, s.W()-x-2, run.Note, theme.Muted)
	w := name + ": " + run.Note
	if run.By != "" {
		w = name + " (" + run.By + "): " + run.Note
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: id, Event: run.Event, Kind: trace.RequestStage, Words: w})
	y++
	for i, d := range run.Diff {
		if i == 8 {
			s.Row(y).Text(4, 0, fmt.Sprintf("… %d more fields", len(run.Diff)-i), theme.Muted)
			return y + 1
		}
		sign, st, val := "+", theme.Added, d.To
		switch {
		case d.To == "":
			sign, st, val = "-", theme.Removed, d.From
		case d.From != "":
			sign, val = "~", d.From+" → "+d.To
		}
		a := s.Row(y)
		x := a.Text(4, 0, sign+" "+d.Path+": ", st)
		a.Fit(x, 0, s.W()-x, val, st)
		y++
	}
	return y
}

// drawCaches draws how far the watch caches are and who watches.
func drawCaches(s *pane.Sheet, f *pane.Frame, y int) {
	caches := f.S.WatchCaches()
	if len(caches) == 0 {
		return
	}
	a := s.Row(y)
	x := a.Text(0, 0, "watch caches ", theme.Title)
	x = a.Text(x, 0, words.Count(len(f.S.Watchers()), "watcher")+" ", theme.Muted)
	a.HLine(x, 0, s.W()-x, theme.Line)
	y++
	watching := map[string]int{}
	for _, w := range f.S.Watchers() {
		watching[w.Resource]++
	}
	for _, c := range caches {
		if !f.Match(c.Resource) {
			continue
		}
		st := theme.Text
		if f.Fresh(c.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{
			ID: "cache/" + c.Resource, Event: c.Event, Kind: trace.WatchCacheEvent,
			Words: fmt.Sprintf("The watch cache of %s is at revision %d; %d watchers.", c.Resource, c.Revision, watching[c.Resource]),
		},
			grid.Span{Text: grid.Pad(c.Resource, 22), Style: st}, grid.Span{Text: fmt.Sprintf("rev %-6d", c.Revision), Style: theme.Number},
			grid.Span{Text: fmt.Sprintf(" → %d watching, %d events", watching[c.Resource], c.Events), Style: theme.Muted})
		y++
	}
}
