package store

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

// onStore is the subject of the store as a whole: what its faults apply to.
func onStore(words string) pane.Subject {
	return pane.Subject{ID: "store", Target: "store", Words: words, Copy: "store"}
}

// drawAlarms tells what is wrong with the store as a whole: alarms, full disks, and a
// fsync that is slower than the threshold.
func (p *Store) drawAlarms(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, a := range f.S.Store.Alarms {
		what := "writes fail until compact, defrag, disarm"
		if a.Alarm.Alarm != "NOSPACE" {
			what = "the members' data differ; nothing is written"
		}
		who := "of member " + a.Member
		if a.Member == "" {
			who = "of the store"
		}
		s.Line(y, pane.Subject{ID: "alarm/" + a.Alarm.Alarm + "/" + a.Member, Target: "store", Event: a.Event, Words: "Alarm " + a.Alarm.Alarm + " " + who + ": " + what + "."},
			grid.Span{Text: "⚠ alarm " + a.Alarm.Alarm + " " + who + ": ", Style: theme.Bad | grid.Bold}, grid.Span{Text: what, Style: theme.Bad})
		y++
	}
	for _, m := range f.S.Store.Members() {
		if d := m.FullDisk; d != nil {
			what := d.Error + "; no writes until there is room"
			s.Line(y, pane.Subject{ID: "full/" + m.Name, Target: "member/" + m.Name, Event: d.Event, Words: "The disk of member " + m.Name + " is full: " + what + "."},
				grid.Span{Text: "⚠ disk full, member " + m.Name + ": ", Style: theme.Bad | grid.Bold}, grid.Span{Text: what, Style: theme.Bad})
			y++
		}
	}
	var slow []string
	made := false // somebody slowed a disk; else it is the disk of the machine that kviz runs on
	for _, m := range f.S.Store.Members() {
		if x := m.Fsync(); x.Count > 0 && x.P99 > p.threshold() {
			slow = append(slow, m.Name+" "+words.Dur(x.P99))
			made = made || slowed(f.S.FaultsOn("member/"+m.Name))
		}
	}
	if len(slow) > 0 {
		who := strings.Join(slow, ", ")
		s.Line(y, pane.Subject{ID: "slow", Target: "store", Words: fmt.Sprintf("The 99th percentile of the members' last writes with fsync (%s) is above the threshold of %s (T changes it).", who, words.Dur(p.threshold()))},
			slowSpan(made, words.Dur(p.threshold()), who))
		y++
	}
	return y
}

// slowed reports whether one of these faults makes a disk slow.
func slowed(faults []*view.Fault) bool {
	return slices.ContainsFunc(faults, func(f *view.Fault) bool { return f.Fault.Fault == "slow" })
}

// slowSpan is the alert about slow disks. The disk of the machine that kviz runs on is
// slow on every first start: that is worth a word, not an alarm.
func slowSpan(made bool, threshold, who string) grid.Span {
	if made {
		return grid.Span{Text: fmt.Sprintf("⚠ alert: fsync p99 above %s: %s", threshold, who), Style: theme.Warn}
	}
	return grid.Span{Text: fmt.Sprintf("fsync p99 above %s, this machine's disk: %s", threshold, who), Style: theme.Muted}
}

// drawMembers is a row a member with all that etcdctl endpoint status tells,
// its faults, and the quorum.
func (p *Store) drawMembers(s *pane.Sheet, f *pane.Frame, y int) {
	st := &f.S.Store
	q, up := pane.Known(f.S), st.Quorum().Have
	learners := len(st.Members()) - st.Quorum().Total
	note := fmt.Sprintf("%d of %d voters up, %d needed", up, q.Total, q.Need)
	if up > q.Have {
		note = fmt.Sprintf("%d of %d voters up, %s, %d needed", up, q.Total, together(q.Have), q.Need)
	}
	if q.Total == 0 {
		note = "they come up"
	}
	if learners > 0 {
		note += fmt.Sprintf(", %s without a vote", words.Count(learners, "learner"))
	}
	y = s.Heading(y, "members", note)
	y = drawMeter(s, q, y)
	y = drawQuorum(s, f, y)
	a := s.Row(y)
	cols := columns(s.W())
	for _, c := range cols {
		a.Text(c.x, 0, c.name, theme.Muted)
	}
	y++
	for _, m := range st.Members() {
		y = p.drawMember(s, f, y, m, cols)
	}
	y = drawLinks(s, f, y)
	y = drawPeers(s, f, y)
	drawEndpoints(s, f, y)
}

// drawMeter is the quorum as boxes: full for a voter that is up and on the largest side, and
// where the majority lies.
func drawMeter(s *pane.Sheet, q view.Quorum, y int) int {
	if q.Total == 0 {
		return y
	}
	st := theme.Good
	if !q.OK() {
		st = theme.Bad
	}
	a := s.Row(y)
	x := a.Text(0, 0, "quorum ", theme.Muted)
	for i := range q.Total {
		if i == q.Need {
			x = a.Text(x, 0, "╎", theme.Muted)
		}
		cell, cs := "■ ", st
		if i >= q.Have {
			cell, cs = "□ ", theme.Muted
		}
		x = a.Text(x, 0, cell, cs)
	}
	word := "enough: writes are taken"
	if !q.OK() {
		word = "too few: no write is taken"
	}
	a.Text(x+1, 0, fmt.Sprintf("%d ÷ 2 + 1 = %d; %s; it can lose %d", q.Total, q.Need, word, max(q.Have-q.Need, 0)), st)
	s.Mark(grid.Rect{X: 0, Y: y, W: s.W(), H: 1}, "quorum")
	s.Hot(0, y, s.W(), onStore(fmt.Sprintf("A write needs %d of %d voters that reach one another. %d do.", q.Need, q.Total, q.Have)))
	return y + 1
}

type column struct {
	name string
	x    int
}

// columns are where the members' figures stand.
func columns(w int) []column {
	if w < 90 {
		return []column{{"member", 0}, {"role", 9}, {"term", 19}, {"commit", 24}, {"revision", 32}, {"in use / db size", 42}}
	}
	return []column{{"member", 0}, {"role", 10}, {"term", 20}, {"commit", 26}, {"applied", 34}, {"revision", 43}, {"in use / db size, of the quota", 53}}
}

func (p *Store) drawMember(s *pane.Sheet, f *pane.Frame, y int, m *view.Member, cols []column) int {
	a := s.Row(y)
	glyph, st := pane.Member(m)
	if cutOff(f.S, m) != "" {
		st = theme.Warn
	}
	role, mark := m.Role, string(glyph)+" "
	switch {
	case !m.Up:
		role = "down"
	case m.Learner:
		role = "learner"
	}
	put := map[string]string{
		"member": mark + m.Name, "role": role, "term": fmt.Sprint(m.Term), "commit": fmt.Sprint(m.Commit),
		"applied": fmt.Sprint(m.Applied), "revision": fmt.Sprint(m.Revision),
	}
	for _, c := range cols {
		cs := theme.Text
		if c.x < 20 {
			cs = st
		}
		if text, ok := put[c.name]; ok {
			a.Text(c.x, 0, text, cs)
			continue
		}
		p.drawSize(a, f, c.x, s.W(), m)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: "status/" + m.Name, Target: "member/" + m.Name, Event: m.Event, Words: Words(m) + found(f.S.Store.Endpoint(m.Name)), Copy: m.Name})
	y++
	var faults []string
	if !m.Up && m.Reason != "" {
		faults = append(faults, m.Reason)
	}
	if alone := cutOff(f.S, m); alone != "" {
		faults = append(faults, alone)
	}
	for _, x := range f.S.FaultsOn("member/" + m.Name) {
		faults = append(faults, strings.TrimSpace(x.Fault.Fault+" "+x.Detail))
	}
	if m.DiskError != "" {
		faults = append(faults, "disk: "+m.DiskError)
	}
	if d := m.Defrag; d != nil && !d.Done {
		faults = append(faults, "defragments its database and answers nobody")
	}
	if len(faults) > 0 {
		s.Row(y).Fit(4, 0, s.W()-4, strings.Join(faults, "; "), theme.Warn)
		s.Mark(grid.Rect{X: 0, Y: y, W: s.W(), H: 1}, "status/"+m.Name+"#why")
		y++
	}
	return y
}

// together says how many voters at most reach one another.
func together(n int) string {
	if n == 1 {
		return "none reaches another"
	}
	return fmt.Sprintf("%d reach one another", n)
}

// cutOff says whom a member that runs does not reach, if those whom it reaches are no
// quorum with it; else "".
func cutOff(s *view.State, m *view.Member) string {
	var lost []*view.Member
	for _, side := range s.Sides() {
		if !slices.Contains(side, m) {
			lost = append(lost, side...)
			continue
		}
		if view.Voters(side) >= s.Store.Quorum().Need {
			return ""
		}
	}
	if !m.Up || len(lost) == 0 {
		return ""
	}
	return "cut off from " + names(lost) + ": no quorum on its side"
}

// drawSize is the gauge of a member's database against the quota.
func (p *Store) drawSize(a grid.Area, f *pane.Frame, x, w int, m *view.Member) {
	if m.DBSize == 0 {
		a.Text(x, 0, "–", theme.Muted)
		return
	}
	quota := f.S.Store.Quota
	st := theme.Good
	switch part := float64(m.DBSize) / float64(quota); {
	case part >= 1:
		st = theme.Bad
	case part > 0.8:
		st = theme.Warn
	}
	x = a.Text(x, 0, words.Bytes(int(m.DBInUse))+" / "+words.Bytes(int(m.DBSize))+" ", theme.Text)
	if room := w - x - 12; room >= 6 {
		bar := min(room, 16)
		a.Bar(x, 0, bar, float64(m.DBSize), float64(quota), st, theme.Line)
		a.Text(x+bar+1, 0, words.Bytes(int(quota)), theme.Muted)
	}
}

// drawLinks says which ways between members are broken.
func drawLinks(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, x := range f.S.Faults() {
		if x.Target != "store" {
			continue
		}
		s.Line(y, pane.Subject{ID: "fault/" + x.Fault.Fault, Target: "store", Event: x.Event, Words: "Broken on purpose: " + x.Fault.Fault + " " + x.Detail + "."},
			grid.Span{Text: "the store: " + strings.TrimSpace(x.Fault.Fault+" "+x.Detail), Style: theme.Warn})
		y++
	}
	return y
}

// drawPeers is what the leader knows of the others: next and match.
func drawPeers(s *pane.Sheet, f *pane.Frame, y int) int {
	leader := f.S.Store.Member(f.S.Store.Leader)
	if leader == nil || len(leader.Peers) == 0 {
		return y
	}
	y = s.Heading(y, "what "+leader.Name+" knows of the others", "match: it has it; next: what is sent next")
	for _, p := range leader.Peers {
		m := f.S.Store.Member(p.Name)
		if m == nil || m.Left {
			continue
		}
		st, behind := theme.Text, "has everything"
		if p.Match < leader.Last {
			behind = fmt.Sprintf("%d behind", leader.Last-p.Match)
		}
		if p.Lost > 0 {
			st = theme.Warn
			behind += fmt.Sprintf(", %s in a row lost", words.Count(p.Lost, "message"))
		}
		s.Line(y, pane.Subject{ID: "peer/" + p.Name, Target: "member/" + p.Name, Event: m.Event, Words: Words(m)},
			grid.Span{Text: fmt.Sprintf("%-8s match %-7d next %-7d ", p.Name, p.Match, p.Next), Style: st}, grid.Span{Text: behind, Style: theme.Muted})
		y++
	}
	return y
}

// found says where etcd's clients find a member.
func found(e *view.Endpoint) string {
	switch {
	case e == nil:
		return ""
	case e.Open:
		return " etcd's clients find it at " + e.Client + ", on this machine at " + e.Listener + "."
	}
	return " etcd's clients find it at " + e.Client + "."
}

// drawEndpoints tells where etcd's clients find the members: the console's
// etcdctl inside the cluster, any other on this machine.
func drawEndpoints(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Endpoints()
	if len(list) == 0 {
		return y
	}
	served := false
	for _, e := range list {
		served = served || e.Listener != ""
	}
	note := "inside the cluster (etcdctl in the console); on this machine"
	if !served {
		note = "for the console's etcdctl; other programs need --etcd-port 2379"
	}
	y = s.Heading(y, "endpoints", note)
	for _, e := range list {
		at, st := e.Listener, theme.Text
		switch m := f.S.Store.Member(e.Member); {
		case served && e.Listener == "":
			at, st = "not served yet", theme.Muted
		case served && !e.Open:
			at, st = e.Listener+"  ✗ closed: it is down", theme.Warn
		case m != nil && !m.Up:
			at, st = "✗ nobody answers: it is down", theme.Warn
		}
		s.Line(y, pane.Subject{ID: "endpoint/" + e.Member, Target: "member/" + e.Member, Event: e.Event, Kind: trace.MemberServed, Copy: address(e), Words: strings.TrimSpace("Member "+e.Member+":"+found(e)) + " y copies the address; kviz env, in another terminal, prints it for etcdctl."},
			grid.Span{Text: fmt.Sprintf("%-8s ", e.Member), Style: theme.Name}, grid.Span{Text: fmt.Sprintf("%-14s ", e.Client), Style: theme.Text}, grid.Span{Text: at, Style: st})
		y++
	}
	return y
}

// address is what is copied of an endpoint: what other programs can use, if any.
func address(e *view.Endpoint) string {
	if e.Listener != "" {
		return e.Listener
	}
	return e.Client
}
