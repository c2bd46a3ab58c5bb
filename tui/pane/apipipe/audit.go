package apipipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// by is, as the value of a subject, the user whose request it is.
type by string

// only answers the key that shows one user's requests alone.
func only(on pane.Subject, f *pane.Frame) action.Action {
	user, ok := on.Value.(by)
	if !ok {
		return action.Notice{Text: "The cursor is on no request."}
	}
	if f.Filter == string(user) {
		return action.Filter{}
	}
	return action.Filter{Text: string(user)}
}

// asker is a user and how many of the requests are theirs.
type asker struct {
	user          string
	asks, refused int
}

// drawAudit tells which policy the audit log follows, and whether it can be
// written.
func drawAudit(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, o := range f.S.APIServers() {
		y = drawServerAudit(s, f, y, o.Server, &o.Audit)
	}
	return y
}

// onMachine is how a file of another API server's machine is read; "" for the first.
func onMachine(server string) string {
	name, other := strings.CutPrefix(server, trace.CompAPIServer+"/")
	if !other {
		return ""
	}
	return " as: on control-plane-" + name + " tail FILE"
}

func drawServerAudit(s *pane.Sheet, f *pane.Frame, y int, server string, n *view.Audit) int {
	if n.Loaded == nil && n.Written == nil && n.Failed == "" {
		return y
	}
	y = s.Heading(y, "audit policy"+atServer(f, server), "the first rule that matches decides how much is written")
	on := pane.Subject{ID: "audit" + atServer(f, server), Event: n.Event, Kind: trace.AuditChanged, Target: "audit" + strings.TrimPrefix(server, trace.CompAPIServer), Words: "What the API server writes down of each request: in /var/log/kubernetes/audit.log, which the console's cat, grep and tail read" + onMachine(server) + "."}
	if n.Loaded != nil {
		for i, r := range n.Loaded.Rules {
			s.Line(y, on, grid.Span{Text: fmt.Sprintf("rule %d ", i+1), Style: theme.Muted}, grid.Span{Text: r, Style: theme.Text})
			y++
		}
	}
	if n.Written != nil && (n.Loaded == nil || n.Loaded.Hash != n.Written.Hash) || n.Written == nil && n.Loaded != nil {
		y = s.Say(y, "The file was changed; the API server has not read it yet: it does when it starts.", theme.Warn)
	}
	if n.Failed != "" {
		y = s.Say(y, "✗ nothing is written: "+n.Failed, theme.Bad)
	}
	return y
}

// kept are the requests that the state still has and the filter lets through, reads
// too, the newest first.
func kept(f *pane.Frame) []*view.Request {
	list := slices.Concat(f.S.Requests(), f.S.ActiveRequests())
	list = slices.DeleteFunc(list, func(r *view.Request) bool {
		level, rule := written(r)
		return !f.Match(r.User, r.Verb, r.Resource, r.Subresource, r.Namespace, r.Name, r.Path, fmt.Sprint(r.Code), level, rule)
	})
	slices.SortFunc(list, func(a, b *view.Request) int { return cmp.Compare(b.Request.Request, a.Request.Request) })
	return list
}

// askers counts the requests of each user, those with the most first.
func askers(f *pane.Frame) []asker {
	at := map[string]int{}
	var list []asker
	for _, r := range kept(f) {
		i, ok := at[r.User]
		if !ok {
			i = len(list)
			at[r.User] = i
			list = append(list, asker{user: r.User})
		}
		list[i].asks++
		if r.Code >= 400 {
			list[i].refused++
		}
	}
	slices.SortFunc(list, func(a, b asker) int { return cmp.Or(cmp.Compare(b.asks, a.asks), cmp.Compare(a.user, b.user)) })
	return list
}

// drawAuditing draws who asked for what: how many requests are whose, and a row for each
// request with what the audit policy has written down of it.
func drawAuditing(s *pane.Sheet, f *pane.Frame) {
	list := kept(f)
	y := s.Heading(drawPolicies(s, f, 0), "who asked", "of the last "+words.Count(len(list), "request")+"; o shows one user's alone")
	y = drawAskers(s, f, y)
	y = s.Heading(y, "who asked for what", "the newest first; reads too")
	c := auditColumns(s.W())
	c.header(s, y)
	y++
	for _, r := range list[:min(len(list), 200)] {
		c.request(s, f, y, r)
		y++
	}
	if len(list) == 0 {
		s.Say(y, "Nobody asked for anything of that.", theme.Muted)
	}
}

// drawPolicies says in a line how much each server writes down, and why one cannot.
func drawPolicies(s *pane.Sheet, f *pane.Frame, y int) int {
	several := len(f.S.Balancer.Servers) > 0
	for _, o := range f.S.APIServers() {
		switch n := &o.Audit; {
		case n.Failed != "":
			y = s.Say(y, "✗ nothing is written"+atServer(f, o.Server)+": "+n.Failed, theme.Bad)
		case n.Loaded == nil && !several:
			y = s.Say(y, "No audit policy, so nothing is written down: kviz apiserver audit FILE in the console gives one.", theme.Muted)
		case n.Loaded == nil:
			y = s.Say(y, "No audit policy"+atServer(f, o.Server)+": nothing is written down there.", theme.Muted)
		}
	}
	return y
}

// drawAskers draws the users, as many as leave room for what they asked.
func drawAskers(s *pane.Sheet, f *pane.Frame, y int) int {
	all := askers(f)
	room := max(f.Rows/4, 3)
	for i, a := range all {
		if i == room {
			rest := 0
			for _, a := range all[i:] {
				rest += a.asks
			}
			s.Row(y).Text(1, 0, fmt.Sprintf("… %s more, %s", words.Count(len(all)-i, "user"), words.Count(rest, "request")), theme.Muted)
			return y + 1
		}
		refused, st := "", theme.Muted
		if a.refused > 0 {
			refused, st = fmt.Sprintf("  %d refused or failed", a.refused), theme.Bad
		}
		s.Line(y, pane.Subject{
			ID: "asker/" + a.user, Kind: trace.RequestReceived, Value: by(a.user), Copy: a.user,
			Words: fmt.Sprintf("%s sent %s; %d were refused or failed.", a.user, words.Count(a.asks, "request"), a.refused),
		},
			grid.Span{Text: fmt.Sprintf("%5d ", a.asks), Style: theme.Number}, grid.Span{Text: a.user, Style: theme.Name}, grid.Span{Text: refused, Style: st})
		y++
	}
	return y
}

// auditTable is where the columns of the list begin.
type auditTable struct {
	user, verb, what, level int
	wide                    int // of the level
}

func auditColumns(w int) auditTable {
	c := auditTable{user: 10, wide: 13}
	if w >= 100 {
		c.wide = 24
	}
	c.level = w - c.wide - 5
	c.verb = c.user + max((c.level-20)*2/5, 18) + 1
	c.what = c.verb + 7
	return c
}

func (c auditTable) header(s *pane.Sheet, y int) {
	a := s.Row(y)
	a.Text(1, 0, "when", theme.Muted)
	a.Text(c.user, 0, "user", theme.Muted)
	a.Text(c.verb, 0, "verb", theme.Muted)
	a.Text(c.what, 0, "what", theme.Muted)
	a.Text(c.level, 0, "written down", theme.Muted)
	a.Right(s.W(), 0, "code", theme.Muted)
}

func (c auditTable) request(s *pane.Sheet, f *pane.Frame, y int, r *view.Request) {
	a := s.Row(y)
	st := theme.Text
	if f.Fresh(r.Received) || view.RequestOf(f.Event()) == r.Request.Request {
		st |= grid.Fresh
	}
	a.Fit(1, 0, c.user-2, words.Clock(r.At), theme.Muted)
	a.Fit(c.user, 0, c.verb-c.user-1, r.User, theme.Name|st&grid.Fresh)
	a.Fit(c.verb, 0, c.what-c.verb-1, r.Verb, theme.Accent&0xff|st&grid.Fresh)
	a.Fit(c.what, 0, c.level-c.what-1, whatOf(r), st)
	level, rule := written(r)
	if rule != "" && c.wide >= 24 {
		level += ", " + rule
	}
	a.Fit(c.level, 0, c.wide, level, theme.Text)
	code, good := "…", theme.Busy
	switch {
	case r.Done && r.Code >= 400:
		code, good = fmt.Sprint(r.Code), theme.Bad|grid.Bold
	case r.Done:
		code, good = fmt.Sprint(r.Code), theme.Good
	}
	a.Right(s.W(), 0, code, good)
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r), Event: latest(r), Ref: refOf(r), Kind: trace.RequestReceived, Words: describe(r), Copy: r.Path, Value: by(r.User)})
}

// whatOf is what a request is about: the resource and its name, or, where there is
// none, the path.
func whatOf(r *view.Request) string {
	if r.Resource == "" {
		return r.Path
	}
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	switch {
	case r.Name == "" && r.Namespace != "":
		return name + " in " + r.Namespace
	case r.Namespace != "":
		return name + " " + r.Namespace + "/" + r.Name
	}
	return strings.TrimSpace(name + " " + r.Name)
}

// written is how much of a request the audit policy has written down, and by which of
// its rules; "" where there is no policy.
func written(r *view.Request) (level, rule string) {
	for _, run := range r.Stage(trace.StageAudit) {
		level, rule = run.Level, run.By
	}
	return level, rule
}
