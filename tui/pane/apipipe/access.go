package apipipe

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

// asked are the verbs that have a column where there is room for their names.
var asked = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// drawAccess draws who may do what: a row for each rule that a binding gives to
// somebody, a column for each verb.
func drawAccess(s *pane.Sheet, f *pane.Frame) {
	a := accessColumns(s.W())
	y := s.Heading(0, "who may do what", "what the bindings give; whatever no row allows is refused")
	a.header(s, y)
	y++
	hidden, last, shown := map[string]bool{}, "", 0
	for _, g := range f.S.Grants() {
		if f.Filter == "" && g.System {
			hidden[g.Subject] = true
			continue
		}
		what := g.What()
		if !f.Match(slices.Concat([]string{g.Subject, g.Namespace, g.Role, g.Binding}, what, g.Rule.Verbs)...) {
			continue
		}
		a.grant(s, f, y, &g, what, g.Subject != last)
		last = g.Subject
		shown++
		y++
	}
	switch {
	case shown == 0 && f.Filter == "":
		y = s.Say(y, "Nobody but the cluster's own parts may do anything yet. A RoleBinding gives the rules of a Role to a user, a group or a service account.", theme.Muted)
	case shown == 0:
		y = s.Say(y, "No rule of any binding says anything of that.", theme.Muted)
	}
	if len(hidden) > 0 {
		s.Say(y, "Left out: the rights of "+words.Count(len(hidden), "part")+" of the cluster itself; a filter (/) finds them.", theme.Muted)
	}
}

// access says where the columns of the table begin.
type access struct {
	subject, where, what int // widths
	verb                 int // width of a verb's column; 0: all stand in one
	x                    int // of the first verb
	others               int // of the verbs without a column
	by                   int // of who gives it; 0: no room
	verbs                int // width of all verbs, where they stand in one column
}

func accessColumns(w int) access {
	a := access{subject: 18, where: 10, what: 18}
	switch {
	case w >= 180:
		a = access{subject: 32, where: 14, what: 26, verb: 7}
	case w >= 110:
		a = access{subject: 26, where: 12, what: 20}
	}
	a.x = a.subject + a.where + a.what + 3
	switch {
	case a.verb > 0:
		a.others = a.x + a.verb*(len(asked)-1) + len("deletecollection") + 1
		a.by = a.others + len("others") + 1
	case w >= 110:
		a.by = w - 22
		a.verbs = a.by - a.x - 1
	default:
		a.verbs = w - a.x
	}
	return a
}

func (c access) header(s *pane.Sheet, y int) {
	a := s.Row(y)
	a.Fit(0, 0, c.subject, "subject", theme.Muted)
	a.Fit(c.subject+1, 0, c.where, "where", theme.Muted)
	a.Fit(c.subject+c.where+2, 0, c.what, "what", theme.Muted)
	if c.verb == 0 {
		a.Fit(c.x, 0, c.verbs, "verbs", theme.Muted)
	} else {
		for i, v := range asked {
			a.Text(c.x+i*c.verb, 0, v, theme.Muted)
		}
		a.Text(c.others, 0, "others", theme.Muted)
	}
	if c.by > 0 {
		a.Fit(c.by, 0, s.W()-c.by, "by", theme.Muted)
	}
}

func (c access) grant(s *pane.Sheet, f *pane.Frame, y int, g *view.Grant, what []string, named bool) {
	a := s.Row(y)
	st := grid.Style(0)
	if f.Fresh(g.Event) {
		st = grid.Fresh | grid.Bold
	}
	if named {
		a.Fit(0, 0, c.subject, g.Subject, theme.Name|st)
	}
	where := g.Namespace
	if where == "" {
		where = "everywhere"
	}
	a.Fit(c.subject+1, 0, c.where, where, theme.Muted|st)
	x := c.subject + c.where + 2
	switch {
	case g.NoRole:
		a.Fit(x, 0, s.W()-x, "✗ there is no "+g.Role, theme.Bad)
	case g.Number == 0:
		a.Fit(x, 0, s.W()-x, g.Role+" has no rules", theme.Muted)
	default:
		a.Fit(x, 0, c.what, inShort(what, c.what), theme.Text|st)
		c.may(a, g, theme.Good|st)
		if c.by > 0 {
			a.Fit(c.by, 0, s.W()-c.by, g.Role, theme.Muted)
		}
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: fmt.Sprintf("grant/%s/%s/%d", g.Subject, g.Binding, g.Number), Event: g.Event, Kind: trace.StoreCommit, Copy: g.Subject, Words: g.String()})
}

// may writes what may be done: a mark in the column of each verb, or their names.
func (c access) may(a grid.Area, g *view.Grant, st grid.Style) {
	if c.verb == 0 {
		verbs := g.Rule.Verbs
		if slices.Contains(verbs, "*") {
			verbs = []string{"all (*)"}
		}
		for n := len(verbs); n > 0; n-- {
			text := strings.Join(verbs[:n], " ")
			if n < len(verbs) {
				text += fmt.Sprintf(" +%d", len(verbs)-n)
			}
			if n == 1 || grid.Width(text) <= c.verbs {
				a.Fit(c.x, 0, c.verbs, text, st)
				return
			}
		}
		return
	}
	for i, v := range asked {
		if g.May(v) {
			a.Text(c.x+i*c.verb, 0, "✓", st)
		}
	}
	if others(g) {
		a.Text(c.others, 0, "✓", st)
	}
}

// inShort is the first of several things, and how many more there are.
func inShort(what []string, w int) string {
	all := strings.Join(what, ", ")
	if len(what) < 2 || grid.Width(all) <= w {
		return all
	}
	more := fmt.Sprintf(" +%d", len(what)-1)
	return grid.Cut(what[0], w-len(more)) + more
}

// others says whether the rule has verbs without a column.
func others(g *view.Grant) bool {
	return slices.ContainsFunc(g.Rule.Verbs, func(v string) bool {
		return !slices.Contains(asked, v)
	})
}
