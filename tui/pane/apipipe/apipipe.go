// Package apipipe is the pane of the API server's request pipeline. Every request
// is a row with a mark for each stage it has passed; the one under the cursor
// (or the one the present event is about) is told stage by stage below, with
// the lines that each stage changed in the object. Its other views are the watch
// caches with those who watch, who may do what, and who asked for what.
package apipipe

import (
	"fmt"
	"slices"
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

// Pipeline is the pane.
type Pipeline struct {
	pane.List
	reads bool // show reads too
}

var about = pane.Info{
	Name: "api", Title: "API requests",
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
		{"→", "sent on to the server of an aggregated API"},
		{"◷", "of a watcher: events wait for it"},
	},
}

// New makes the pane.
func New() *Pipeline {
	p := &Pipeline{List: pane.NewList(about)}
	p.Key(keymap.Bind(keymap.Open, "open", "Go to the moment of the request or stage under the cursor.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if on.Event.IsZero() {
			return nil
		}
		return action.Goto{ID: on.Event}
	})
	p.Key(keymap.Bind("api.reads", "reads", "Show or hide requests that only read, renewals of Leases, and Kubernetes Events.", "r"), pane.Flip(&p.reads))
	p.Views("api.part", "requests/watches/…",
		pane.View{Name: "requests", Means: "the requests, stage by stage", Draw: p.drawRequests, Note: noteRequests},
		pane.View{Name: "watches", Means: "the watch caches with those who watch", Draw: drawWatches, Note: noteWatches},
		pane.View{Name: "access", Means: "who may do what, and by which rule", Draw: drawAccess, Note: noteAccess},
		pane.View{Name: "audit", Means: "who asked for what, and what was written of it", Draw: drawAuditing, Note: noteAudit})
	p.Key(keymap.Bind("api.only", "only who asked", "Show only what the user under the cursor asks for; once more shows everybody.", "o"), only)
	return p
}

// Note implements [pane.Pane].
func (p *Pipeline) Note(f *pane.Frame) string { return p.View().Note(f) }

func noteWatches(f *pane.Frame) string {
	return words.Count(len(f.S.Watchers()), "watcher") + " of " + words.Count(len(f.S.WatchCaches()), "changed kind")
}

func noteAccess(f *pane.Frame) string {
	return words.Count(len(f.S.Objects("rolebindings", ""))+len(f.S.Objects("clusterrolebindings", "")), "binding")
}

func noteAudit(f *pane.Frame) string { return words.Count(len(askers(f)), "user") }

func noteRequests(f *pane.Frame) string {
	n := fmt.Sprintf("%d inside", len(f.S.ActiveRequests()))
	if w := len(f.S.WaitingRequests()); w > 0 {
		n += fmt.Sprintf(", %d waiting", w)
	}
	return n
}

var short = map[string]string{
	trace.StageAuthentication: "authn", trace.StageAudit: "audit", trace.StageImpersonation: "imper", trace.StageFairness: "fair",
	trace.StageAuthorization: "authz", trace.StageDecode: "decod", trace.StageMutatingAdmission: "mutat", trace.StageValidation: "valid",
	trace.StageValidatingAdmission: "admit", trace.StageStorage: "store",
}

// Draw implements [pane.Pane].
func (p *Pipeline) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

// drawRequests draws a row for each request, and the stages of the chosen one.
func (p *Pipeline) drawRequests(s *pane.Sheet, f *pane.Frame) {
	list := p.requests(f)
	t := columns(s.W())
	y := t.header(s)
	show := max(f.Rows*2/5, 4)
	if s.W() >= 150 { // the caches stand beside the stages, and neither takes the rest
		show = max(show, f.Rows-26)
	}
	if len(list) > show {
		list = list[:show]
	}
	if len(list) == 0 {
		y = s.Say(y, "No request that writes yet; it appears here with a mark for each stage that it has passed. r shows reads, Leases and Events too.", theme.Muted)
	}
	chosen := p.chosen(f, list)
	for _, r := range list {
		t.request(s, f, y, r, r == chosen)
		y++
	}
	if s.W() >= 150 {
		left := s.W() * 64 / 100
		a, b := s.Halves(left)
		if chosen != nil {
			drawDetail(a, f, y, chosen)
		}
		drawCaches(b, f, y)
		s.Divide(y, left, a, b)
		return
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
			if !p.reads && quiet(r) && f.Filter == "" && !stuck(f, r) {
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

// stuck reports whether a request is inside for longer than a healthy store
// takes: even a read or a renewal is worth seeing then.
func stuck(f *pane.Frame, r *view.Request) bool { return !r.Done && f.S.At-r.At > 50*time.Millisecond }

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

// table is where the columns of the list of requests are.
type table struct {
	w, cols int  // width; columns a stage
	stages  int  // where the stages begin
	client  int  // where the client stands, 0 for nowhere
	took    bool // say how long it took
}

func columns(w int) table {
	t := table{w: w, cols: 1}
	switch {
	case w >= 160:
		t.cols, t.client, t.took = 7, 70, true
	case w >= 100:
		t.cols = 6
	case w >= 70:
		t.cols = 3
	case w >= 48:
		t.cols = 2
	}
	t.stages = w - len(trace.Stages())*t.cols - 5
	if t.took {
		t.stages -= 7
	}
	return t
}

// initials are the stages in two letters, where there is no room for more.
var initials = map[string]string{
	trace.StageAuthentication: "an", trace.StageAudit: "au", trace.StageImpersonation: "im", trace.StageFairness: "pf",
	trace.StageAuthorization: "az", trace.StageDecode: "de", trace.StageMutatingAdmission: "mu", trace.StageValidation: "va",
	trace.StageValidatingAdmission: "ad", trace.StageStorage: "st",
}

func (t table) header(s *pane.Sheet) int {
	a := s.Row(0)
	a.Text(1, 0, "request", theme.Muted)
	if t.client > 0 {
		a.Text(t.client, 0, "from", theme.Muted)
	}
	for i, st := range trace.Stages() {
		switch x := t.stages + i*t.cols; {
		case t.cols >= 6:
			a.Text(x, 0, short[st], theme.Muted)
		case t.cols == 3:
			a.Text(x, 0, initials[st], theme.Muted)
		}
	}
	if t.cols < 3 {
		a.Text(t.stages, 0, "stages", theme.Muted)
	}
	if t.took {
		a.Right(s.W()-5, 0, "took", theme.Muted)
	}
	a.Right(s.W(), 0, "code", theme.Muted)
	return 1
}

func (t table) request(s *pane.Sheet, f *pane.Frame, y int, r *view.Request, chosen bool) {
	a := s.Row(y)
	st := theme.Text
	if f.Fresh(r.Received) || requestOf(f.Event()) == r.Request.Request {
		st |= grid.Fresh
	}
	if chosen {
		a.Put(0, 0, '▸', theme.Accent)
	}
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	key := r.Name
	switch {
	case key == "":
		key = r.Namespace // the server makes the name up, or it is about all
	case r.Namespace != "":
		key = r.Namespace + "/" + key
	}
	room := t.stages - 1
	if t.client > 0 {
		room = t.client - 1
		a.Fit(t.client, 0, t.stages-t.client-1, r.Client, theme.Muted)
	}
	if at := strings.TrimPrefix(r.Server, trace.CompAPIServer); at != "" && t.client == 0 { // another server than the first: "/b"
		a.Right(room, 0, at, theme.Busy)
		room -= grid.Width(at) + 1
	} else if at != "" {
		a.Right(t.stages-1, 0, at, theme.Busy)
	}
	line := a.Sub(0, 0, room, 1)
	x := line.Text(1, 0, r.Verb, theme.Accent&0xff|st&grid.Fresh)
	x = line.Text(max(x, 7)+1, 0, name, theme.Name|st&grid.Fresh)
	x = line.Text(x+1, 0, key, st)
	if t.client == 0 {
		if client := "  ← " + pane.Abbreviate(r.Client); x+grid.Width(client) <= room {
			line.Text(x, 0, client, theme.Muted)
		}
	}
	drawStages(a, f, r, t.stages, t.cols)
	if t.took && r.Done {
		a.Right(s.W()-5, 0, words.Dur(r.Took), theme.Number)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r), Event: latest(r), Ref: refOf(r), Kind: trace.RequestReceived, Words: describe(r), Copy: r.Path, Value: by(r.User)})
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
	sent := drawSent(a, r, x0, cols)
	for i := range stages {
		if !sent && i > reached && !(i == reached+1 && !r.Done) {
			a.Put(x0+i*cols, 0, '·', theme.Line)
		}
	}
	if !r.Done && !turnedDown(r) { // the last stage has its mark when the store has answered
		a.Put(x0+min(reached+1, len(stages)-1)*cols, 0, '▸', theme.Busy|grid.Bold)
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

// drawSent draws, in the place of the stages after authorization, that the request was
// sent on to the server of an aggregated API, if it was.
func drawSent(a grid.Area, r *view.Request, x0, cols int) bool {
	sent := r.Stage(trace.StageAggregator)
	if len(sent) == 0 {
		return false
	}
	glyph, st := "→ ", theme.Good
	if sent[0].Verdict == "refuse" {
		glyph, st = "✗ ", theme.Bad|grid.Bold
	}
	after := slices.Index(trace.Stages(), trace.StageAuthorization) + 1
	a.Fit(x0+after*cols, 0, (len(trace.Stages())-after)*cols-1, glyph+sent[0].By, st)
	return true
}

// turnedDown reports whether the last stage refused the request, so that it
// only waits for its answer.
func turnedDown(r *view.Request) bool {
	n := len(r.Stages)
	return n > 0 && r.Stages[n-1].Verdict == "refuse"
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
	asked := "asks"
	if strings.Contains(r.Server, "/") {
		asked = "asks " + r.Server
	}
	w := fmt.Sprintf("%s %s to %s %s", r.Client, asked, r.Verb, r.Path)
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
	y = s.Heading(y, r.Verb, r.Path)
	s.Row(y).Fit(0, 0, s.W(), "from "+r.Client+" as "+r.User+atServer(f, r.Server), theme.Muted)
	y++
	failed := r.Done && r.Code >= 400
	if failed { // first, for why it was refused is what people ask, and there may be little room
		y = drawAnswer(s, y, r, theme.Bad, refusal(r))
	}
	for i, run := range r.Stages {
		y = drawRun(s, f, y, fmt.Sprintf("%s/%d", requestID(r), i), run)
	}
	if !r.Done {
		if r.Reached == trace.StageStorage && !turnedDown(r) {
			y = s.Say(y, "▸ waits for the store to answer: a write is answered when a quorum of its members has it", theme.Busy)
		}
		return y
	}
	if !failed {
		y = drawAnswer(s, y, r, theme.Good, fmt.Sprintf("answered %d in %s", r.Code, words.Dur(r.Took)))
	}
	return y
}

// drawAnswer says what the client was told.
func drawAnswer(s *pane.Sheet, y int, r *view.Request, st grid.Style, text string) int {
	lines := grid.Lines("⇒ "+text, s.W())
	for i, l := range lines {
		s.Row(y+i).Text(0, 0, l, st)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r) + "/answer", Event: r.Answered, Kind: trace.RequestDone, Words: describe(r)})
	return y + len(lines)
}

// refusal is a failed answer in words, with the stage that gave it.
func refusal(r *view.Request) string {
	text := strings.TrimSuffix(fmt.Sprintf("answered %d %s", r.Code, r.Reason), " ")
	for _, run := range r.Stages {
		if run.Verdict == "refuse" {
			text += " at " + run.Stage.Stage
			break
		}
	}
	return text + ": " + r.Message
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
	if s.W() >= 60 { // the notes under one another
		x = max(x, 23)
	}
	x = a.Fit(x+1, 0, s.W()-x-1, run.Note, theme.Text|fresh)
	if run.By != "" {
		a.Fit(x+2, 0, s.W()-x-2, "("+run.By+")", theme.Muted)
	}
	w := name + ": " + run.Note
	if run.By != "" {
		w = name + " (" + run.By + "): " + run.Note
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: id, Event: run.Event, Kind: trace.RequestStage, Words: w})
	y++
	asked := run.Asked // the authorizers, or the authenticators, in the order in which they were asked
	if run.Proof != nil {
		asked = run.Proof.Tried
	}
	for _, said := range asked {
		by, what, _ := strings.Cut(said, ": ")
		a := s.Row(y)
		x := a.Text(4, 0, by+": ", theme.Muted)
		a.Fit(x, 0, s.W()-x, what, theme.Text)
		y++
	}
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
	y = drawFlows(s, f, y)
	y = drawAudit(s, f, y)
	y = drawConfigs(s, f, y)
	y = drawBalancer(s, f, y)
	caches := f.S.WatchCaches()
	if len(caches) == 0 {
		return
	}
	y = drawEncryption(s, f, y)
	y = s.Heading(y, "watch caches", "v shows who is told: "+words.Count(len(f.S.Watchers()), "watcher"))
	several := len(f.S.Balancer.Servers) > 0
	watching := map[string]int{}
	for _, w := range f.S.Watchers() {
		watching[w.Server+" "+w.Of()]++
	}
	for _, c := range caches {
		if !f.Match(c.Resource) {
			continue
		}
		st := theme.Text
		if f.Fresh(c.Event) {
			st |= grid.Fresh
		}
		at := "" // whose it is, where there are several servers
		if several {
			at = "  at " + c.Server
		}
		s.Line(y, pane.Subject{
			ID: "cache/" + c.Resource + at, Event: c.Event, Kind: trace.WatchCacheEvent,
			Words: fmt.Sprintf("The watch cache of %s is at revision %d; it has %s.", c.Resource, c.Revision, words.Count(watching[c.Server+" "+c.Resource], "watcher")),
		},
			grid.Span{Text: grid.Pad(c.Resource, 21) + " ", Style: st}, grid.Span{Text: fmt.Sprintf("revision %-6d", c.Revision), Style: theme.Number},
			grid.Span{Text: " → " + words.Count(watching[c.Server+" "+c.Resource], "watcher") + ", " + words.Count(int(c.Events), "event") + at, Style: theme.Muted})
		y++
		if c.Locked != "" {
			y = s.Say(y, "✗ cannot be filled: "+c.Locked, theme.Bad)
		}
	}
}

// drawEncryption tells which resources are encrypted at rest, and how.
func drawEncryption(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, o := range f.S.APIServers() {
		y = drawServerEncryption(s, f, y, o.Server, &o.Encryption)
	}
	return y
}

func drawServerEncryption(s *pane.Sheet, f *pane.Frame, y int, server string, n *view.Encryption) int {
	if n.Loaded == nil && n.Written == nil {
		return y
	}
	y = s.Heading(y, "encryption at rest"+atServer(f, server), "the first provider encrypts, any decrypts")
	on := pane.Subject{ID: "encryption" + atServer(f, server), Event: n.Event, Kind: trace.EncryptionConfig, Words: "How the API server encrypts what it writes to the store; the keys are in its file, not in the store."}
	if n.Loaded != nil {
		for _, r := range n.Loaded.Rules {
			s.Line(y, on, grid.Span{Text: strings.Join(r.Resources, ", ") + " ", Style: theme.Text}, grid.Span{Text: strings.Join(r.Providers, " → "), Style: theme.Name})
			y++
		}
	}
	if n.Refused != "" {
		y = s.Say(y, "✗ not taken up: "+n.Refused, theme.Bad)
	} else if words := unread(n); words != "" {
		y = s.Say(y, words, theme.Warn)
	}
	if c := n.Call; c != nil {
		s.Row(y).Fit(0, 0, s.W(), fmt.Sprintf("KMS plugin: %s, last %s with %s", words.Count(int(n.Calls), "call"), c.Method, c.KeyID), theme.Muted)
		y++
	}
	return y
}

// unread says what the file has that the API server has not; "" if nothing.
func unread(n *view.Encryption) string {
	switch {
	case n.Written == nil && n.Loaded == nil, n.Written != nil && n.Loaded != nil && n.Loaded.Hash == n.Written.Hash:
		return ""
	case n.Written == nil:
		return "The file was removed; what is above is in force until the API server starts again."
	case n.Loaded != nil && n.Loaded.Reload:
		return "The file was changed; the API server has not read it yet: it looks every minute."
	}
	return "The file was changed; the API server has not read it yet: it does when it starts."
}
