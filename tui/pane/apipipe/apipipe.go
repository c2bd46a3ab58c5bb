// Package apipipe is the pane of the API server's request pipeline. Every request
// is a row with a mark for each stage it has passed; the one under the cursor
// (or the one the present event is about) is shown stage by stage below, with
// the lines that each stage changed in the object. Its other views are the watch
// caches with those who watch, who may do what, and who asked for what.
//
// Start reading at [Pipeline.Draw], then table.go and request.go.
package apipipe

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Pipeline is the pane.
type Pipeline struct {
	pane.List
	reads bool // show reads too

	// What the cursor was on when it was last moved, and where in time that was.
	cursor string
	since  trace.ID
}

var about = pane.Info{
	Name: "api", Title: "API requests",
	Kinds: []string{"asker", "audit", "balanced", "cache", "config", "encryption", "ended", "grant", "level", "req", "stages", "traffic", "watch"},
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
	p.Key(holdKey, holdOrRelease)
	p.Key(loseKey, toEvent("drop"))
	p.Key(delayKey, toEvent("delay"))
	p.Key(keymap.Bind("api.only", "only who asked", "Show only what the user under the cursor asks for; once more shows everybody.", "o"), only)
	return p
}

// Do implements [pane.Pane].
func (p *Pipeline) Do(name string, on pane.Subject, f *pane.Frame) action.Action {
	switch name {
	case pane.Requests:
		p.ShowView("requests")
	case pane.Watches:
		p.ShowView("watches")
	default:
		return p.List.Do(name, on, f)
	}
	return action.Redraw{}
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
	trace.StageAuthentication: "authn", trace.StageAudit: "audit", trace.StageImpersonation: "impersonate", trace.StageFairness: "fairness",
	trace.StageAuthorization: "authz", trace.StageDecode: "decode", trace.StageMutatingAdmission: "mutating", trace.StageValidation: "validation",
	trace.StageValidatingAdmission: "validating", trace.StageStorage: "storage",
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

// chosen is the request told in detail: the one under the cursor, until a step goes on to
// another; else that of the present event, else the newest.
func (p *Pipeline) chosen(f *pane.Frame, list []*view.Request) *view.Request {
	if p.cursor != f.Cursor {
		p.cursor, p.since = f.Cursor, f.S.Last
	}
	walks := !f.Live || f.S.Clock.Paused
	if f.Focused && f.Placed && !(walks && p.since != f.S.Last && view.RequestOf(f.Event()) != 0) {
		for _, r := range list {
			id := requestID(r)
			if f.Cursor == id || strings.HasPrefix(f.Cursor, id+"/") {
				return r
			}
		}
	}
	if n := view.RequestOf(f.Event()); n != 0 {
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
