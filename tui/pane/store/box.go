package store

import (
	"fmt"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// shownCells is how many cells of its log a member's box shows.
const shownCells = 5

// member draws a member's box: its role and term, the end of its log, its election timeout
// or whom it hears, its vote, and what it believes.
func (r *ring) member(m *view.Member) {
	id := scene.MemberID(m.Name)
	at, ok := r.At(id)
	if !ok {
		return
	}
	b := r.box(id)
	w := at.Inside().W
	glyph, st := pane.Member(m)
	role, own := "follows", st
	switch {
	case !m.Up:
		role, b.Standing = "down", scene.Down
	case leads(m):
		role, own = "LEADS", theme.Term(m.Term)|grid.Bold
	case stands(m):
		role, own, glyph = "CANDIDATE", theme.Term(m.Term)|grid.Bold, '◇'
		b.Standing, b.Role = scene.Emphasised, theme.Term(m.Term)
	case m.Learner:
		role = "learns"
	}
	if b.Standing == scene.Rest && r.voted(m) { // in the colour of whom it voted for
		b.Role = theme.Term(m.VotedTerm)
	}
	if b.Standing == scene.Rest && len(r.f.S.FaultsOn(id)) > 0 {
		b.Standing = scene.Degraded
	}
	if r.heads(m) {
		b.Standing, b.Role = scene.Emphasised, theme.Term(m.Term)
	}
	if leader := m.Leader; leader != "" && m.Up && !spoke(m) && !m.Learner {
		role += " " + leader
	}
	term := fmt.Sprintf("  t%d", m.Term)
	if r.Form == scene.Full && w > 22 {
		term = fmt.Sprintf("  term %d", m.Term)
	}
	b.Title = []grid.Span{span(string(glyph)+" "+m.Name, own)}
	if w >= 20 {
		b.Title = append(b.Title, span("  "+role, own))
		b.Title = append(b.Title, span(term, theme.Term(m.Term)))
	} else if titled(m, w) {
		b.Title = append(b.Title, span(strings.TrimPrefix(term, " "), theme.Term(m.Term)))
	}
	b.Rows = append(b.Rows, r.log(m, w))
	rows := at.Inside().H - 1
	more := r.says(m, w)
	b.Rows = append(b.Rows, more[:min(rows, len(more))]...)
}

// titled reports whether the title of a narrow box has room for the term.
func titled(m *view.Member, w int) bool { return len(m.Name)+len(fmt.Sprint(m.Term))+8 <= w }

// heads reports whether a member is who speaks for its side, where there are several.
func (r *ring) heads(m *view.Member) bool {
	return len(r.sides) > 1 && leads(m)
}

// voted reports whether a member's vote is of the term it is in and nobody leads yet.
func (r *ring) voted(m *view.Member) bool {
	if m.VotedFor == "" || m.VotedTerm != m.Term || !m.Up {
		return false
	}
	for _, o := range r.members {
		if leads(o) && o.Term >= m.Term {
			return false
		}
	}
	return true
}

// log is the end of a member's log, each entry's term in the brackets of its state.
func (r *ring) log(m *view.Member, w int) []grid.Span {
	last := fmt.Sprint(m.Last)
	number := theme.Number
	if !m.Up {
		number = theme.Muted
	}
	if w < 16 {
		return line(span("log ", theme.Muted), span(last, number))
	}
	row := line(span("log ", theme.Muted))
	entries := m.Log()
	term := m.Term
	for _, e := range entries[max(len(entries)-shownCells, 0):] {
		term = max(term, e.Term)
	}
	cell := len(fmt.Sprint(term)) + 2
	n := min(shownCells, (w-7-len(last))/cell, len(entries))
	if n == len(entries) && m.SnapshotIndex > 0 {
		row = append(row, span("┊", theme.Muted)) // what was before is cut off behind a snapshot
	}
	for _, e := range entries[len(entries)-max(n, 0):] {
		l, t, st := "[", "]", theme.Good
		switch m.Entry(e.Index) {
		case view.EntryWritten, view.EntryAbsent:
			l, t, st = ".", ".", theme.Busy
		case view.EntryDurable:
			l, t, st = ":", ":", theme.Busy
		}
		if st == theme.Good {
			st = theme.Term(e.Term)
		}
		if !m.Up {
			st = theme.Muted
		}
		if r.f.Fresh(e.Event) {
			st |= grid.Fresh
		}
		row = append(row, span(l+fmt.Sprint(e.Term)+t, st))
	}
	return append(row, span(" "+last, number))
}

// says are the rows below the log, what matters most first.
func (r *ring) says(m *view.Member, w int) [][]grid.Span {
	switch {
	case !m.Up:
		return r.down(m, w)
	case stands(m):
		return r.candidacy(m, w)
	case leads(m):
		return r.leadership(m, w)
	}
	rows := [][]grid.Span{r.timeout(m, w)}
	if snapshot := r.install(m, w); snapshot != nil {
		rows = [][]grid.Span{snapshot}
	}
	if m.Learner {
		if rows = rows[:0]; r.install(m, w) != nil {
			rows = append(rows, r.install(m, w))
		}
		rows = append(rows, line(span("has no vote", theme.Muted)))
	}
	vote := r.vote(m, w)
	if r.voted(m) && r.Form == scene.Small { // there is no room for both; who leads is not known
		return append(rows, vote)
	}
	if vote != nil && !m.Learner && (w >= 20 || r.voted(m)) {
		rows = append(rows, vote)
	}
	return append(rows, r.believes(m, w))
}

// down says why a member is down and since when, and what is left of it.
func (r *ring) down(m *view.Member, w int) [][]grid.Span {
	why := m.Reason
	if why == "" {
		why = "stopped"
	}
	why, _, _ = strings.Cut(why, ": ")
	ago := words.Dur(r.f.S.At-m.Since) + " ago"
	short, _, _ := strings.Cut(why, " by ")
	said := fit(w-1, why+", "+ago, short+", "+ago, short, "down")
	rows := [][]grid.Span{line(span(said, theme.Bad))}
	if !strings.HasSuffix(said, ago) {
		rows = append(rows, line(span(fit(w-1, ago, words.Dur(r.f.S.At-m.Since)), theme.Bad)))
	}
	if keeps := "disk keeps log, vote"; w > len(keeps) {
		rows = append(rows, line(span(fit(w-1, "its "+keeps, keeps), theme.Muted)))
	}
	return rows
}

// fit is the first of some sayings, the longest first, that there is room for.
func fit(w int, says ...string) string {
	for _, s := range says {
		if grid.Width(s) <= w {
			return s
		}
	}
	return grid.Cut(says[len(says)-1], w)
}

// vote is whom a member voted for, if in the term it is in.
func (r *ring) vote(m *view.Member, w int) []grid.Span {
	if m.VotedFor == "" || m.VotedTerm != m.Term {
		return nil
	}
	if r.voted(m) {
		said := "✓ voted for " + m.VotedFor
		return line(span(fit(w-1, fmt.Sprintf("%s in term %d", said, m.VotedTerm), said, "✓ "+m.VotedFor), theme.Term(m.VotedTerm)|grid.Bold))
	}
	if r.Form == scene.Small {
		return nil
	}
	return line(span(fmt.Sprintf("voted for %s in term %d", m.VotedFor, m.VotedTerm), theme.Muted))
}

// believes is who leads, as a member knows it, marked where somebody knows of a newer term.
func (r *ring) believes(m *view.Member, w int) []grid.Span {
	leader := m.Leader
	who, st := leader+" leads", theme.Muted
	switch {
	case leader == "":
		who, st = "nobody leads", theme.Warn
	case leader == m.Name:
		who = "it leads"
	}
	for _, o := range r.members {
		if o.Up && o.Term > m.Term {
			st = theme.Warn
		}
	}
	if w < 20 {
		who = strings.TrimSuffix(who, " leads")
		row := line(span(fit(w-1, "→ "+who, who), st))
		if !titled(m, w) && leader != "" {
			row = append(row, span(fmt.Sprintf(" t%d", m.Term), theme.Term(m.Term)))
		}
		return row
	}
	told := len(r.sides) > 1 || m.Revision < r.f.S.Store.Revision-1 || leads(m)
	room := w - 1 - 9 - 6 - len(fmt.Sprint(m.Revision))
	if told && len(who) > room || 10+len(who) > w {
		who = strings.TrimSuffix(who, " leads")
	}
	row := line(span("believes ", theme.Muted), span(who, st))
	if told && len(who) <= room {
		number := theme.Number
		if m.Revision < r.f.S.Store.Revision {
			number = theme.Warn
		}
		row = append(row, span("; rev ", theme.Muted), span(fmt.Sprint(m.Revision), number))
	}
	return row
}

// timeout is the bar of a follower's election timeout: full while it hears of its leader.
// What is left is known in quarters of the least timeout; the lot itself is not. Live it slides from one to the next.
func (r *ring) timeout(m *view.Member, w int) []grid.Span {
	label := "timeout  "
	left, st := timeoutLeft(m)
	n := w - 13
	if r.Form == scene.Small {
		n = w - 14
	}
	if w < 20 {
		label, n = "", w-2
	}
	factor := r.slowed(m)
	if w >= 20 {
		n -= len([]rune(factor))
	}
	if left == 0 && w >= 20 {
		return line(span(label, theme.Muted), span("any moment", theme.Bad|grid.Bold), span(factor, theme.Warn))
	}
	full := int(float64(n) * (float64(left) - r.slid(m)) / 4)
	return line(span(label, theme.Muted), span(strings.Repeat("▓", max(full, 0)), st), span(strings.Repeat("░", max(n-full, 0)), st), span(factor, theme.Warn))
}

// slid is how far a follower's election timeout has run down since its last mark, as a share of the way to the
// next: only while somebody watches it happen.
func (r *ring) slid(m *view.Member) float64 {
	if r.f.Motion == nil || m.Timeout == nil {
		return 0
	}
	for _, q := range r.f.Motion.Lamps {
		if q.Slides && q.Event.Payload == any(m.Timeout) {
			return q.Share
		}
	}
	return 0
}

// slowed is by how much elections are slowed down: " ×8", or nothing.
func (r *ring) slowed(m *view.Member) string {
	if m.Timeout != nil && m.Timeout.Factor > 1 {
		return fmt.Sprintf(" ×%d", m.Timeout.Factor)
	}
	for _, f := range r.f.S.FaultsOn("store") {
		if f.Fault.Fault == "slow-elections" && f.Detail != "" {
			return " ×" + f.Detail
		}
	}
	return ""
}

// candidacy are the votes for a candidate, as its box tells them.
func (r *ring) candidacy(m *view.Member, w int) [][]grid.Span {
	label, needs := "votes ", r.f.S.Store.Quorum()
	if preVoting(r.f, m) {
		label = "pre-votes "
	}
	ballots, has := r.ballotsOf(m), 0
	named := 1+len(label)+3*len(ballots) <= w
	for _, b := range ballots {
		if b.mark == '✓' {
			has++
		}
	}
	if 1+3*len(ballots) > w { // beside somebody whose box has them all
		return [][]grid.Span{line(span(fmt.Sprint(has), theme.Number|grid.Bold), span(fmt.Sprintf(" of %d", needs.Total), theme.Muted)), r.believes(m, w)}
	}
	votes := line(span(label, theme.Muted))
	for _, b := range ballots {
		if named {
			votes = append(votes, span(" "+b.name+string(b.mark), b.style))
		} else { // in the order of their names, which the foot has
			votes = append(votes, span(string(b.mark), b.style))
		}
	}
	return [][]grid.Span{
		votes,
		line(span(fmt.Sprintf("needs %d of %d, has ", needs.Need, needs.Total), theme.Muted), span(fmt.Sprint(has), theme.Number|grid.Bold)),
		r.believes(m, w),
	}
}

// ballot is what a voter said to a candidate, as far as the picture shows it.
type ballot struct {
	name  string
	mark  rune
	style grid.Style
}

// ballotsOf are the votes in a member's last candidacy: ✓ given, ✗ refused or lost, ◇ on
// the way, · not asked.
func (r *ring) ballotsOf(m *view.Member) []ballot {
	pre, term := preVoting(r.f, m), m.Term
	if pre {
		term++
	}
	rpc := "RequestVote"
	if pre {
		rpc = "RequestPreVote"
	}
	var all []ballot
	for _, o := range r.members {
		if o.Learner {
			continue
		}
		b := ballot{o.Name, '·', theme.Muted}
		switch {
		case o == m:
			if pre || m.VotedFor == m.Name && m.VotedTerm == term {
				b.mark, b.style = '✓', theme.Good
			}
		case !o.Up || r.f.S.Link(m.Name, o.Name) == view.Severed:
			b.mark, b.style = '✗', theme.Bad
		}
		for _, v := range m.Votes {
			if v.From == o.Name && v.Term == term && v.Pre == pre {
				b.mark, b.style = '✓', theme.Good
				if !v.Granted {
					b.mark, b.style = '✗', theme.Bad
				}
			}
		}
		if b.mark == '·' {
			for _, x := range r.f.S.Store.InFlight() {
				if x.RPC == rpc && x.From == m.Name && x.To == o.Name {
					b.mark, b.style = '◇', theme.Term(term)
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// leadership is how many members answer a leader, and how far it knows entries to be safe.
func (r *ring) leadership(m *view.Member, w int) [][]grid.Span {
	q := r.f.S.Store.Quorum()
	answer, others := 0, 0
	marks := "●"
	for _, o := range r.members {
		if o == m || o.Learner {
			continue
		}
		others++
		p := m.Peer(o.Name)
		if o.Up && r.f.S.Link(o.Name, m.Name) != view.Severed && r.f.S.Link(m.Name, o.Name) != view.Severed && (p == nil || p.Lost == 0) {
			answer++
		}
	}
	marks = strings.Repeat("●", 1+answer) + strings.Repeat("○", others-answer)
	st := theme.Good
	if 1+answer < q.Need {
		st = theme.Bad
	}
	if w < 20 {
		return [][]grid.Span{line(span(marks, st)), line(span(fmt.Sprintf("rev %d", m.Revision), theme.Number))}
	}
	only := ""
	if 1+answer < q.Need {
		only = "only "
	}
	row := line(span(fmt.Sprintf("%s%d/%d answer", only, answer, others), theme.Text))
	commit := line(span("commit ", theme.Muted), span(fmt.Sprint(m.Commit), theme.Number))
	if r.Form == scene.Full {
		word := ": quorum "
		if only != "" || others > 4 {
			word = " "
		}
		row = append(row, span(word, theme.Muted))
	} else {
		row = append(row, span("  ", theme.Muted))
		commit = append(commit, span("  applied ", theme.Muted), span(fmt.Sprint(m.Applied), theme.Number))
	}
	rows := [][]grid.Span{append(row, span(marks, st)), commit}
	if s := r.sends(m); s != nil {
		rows = append([][]grid.Span{}, s...)
	}
	return append(rows, r.believes(m, w))
}

// sends says that a leader has to send a snapshot, and why.
func (r *ring) sends(m *view.Member) [][]grid.Span {
	for _, x := range r.f.S.Store.InFlight() {
		if x.RPC != "InstallSnapshot" || x.From != m.Name {
			continue
		}
		to := r.f.S.Store.Member(x.To)
		if to == nil {
			continue
		}
		begins := m.SnapshotIndex + 1
		if log := m.Log(); len(log) > 0 {
			begins = log[0].Index
		}
		return [][]grid.Span{
			line(span("snapshot ", theme.Muted), span("▓▓▓▓ ", theme.Term(m.Term)), span(fmt.Sprintf("up to %d", m.SnapshotIndex), theme.Text)),
			line(span(fmt.Sprintf("%s needs %d, log from %d", to.Name, to.Last+1, begins), theme.Warn)),
		}
	}
	return nil
}

// install is how far the installation of a snapshot has come on a member: under way,
// installed, then the entries that are still to come. It is nil without one.
func (r *ring) install(m *view.Member, w int) []grid.Span {
	leader := r.f.S.Store.Member(r.f.S.Store.Leader)
	for _, x := range r.f.S.Store.InFlight() {
		if x.RPC == "InstallSnapshot" && x.To == m.Name {
			row := line(span("install ", theme.Muted), span("under way", theme.Busy|grid.Bold))
			if leader != nil && leader.Last > leader.SnapshotIndex {
				if then := fmt.Sprintf(", then %d", leader.Last-leader.SnapshotIndex); 18+len(then) <= w {
					row = append(row, span(then, theme.Muted))
				}
			}
			return row
		}
	}
	if leader == nil || m.SnapshotIndex == 0 || leader.Last <= m.Last || len(m.Log()) > int(leader.Last-m.SnapshotIndex) || m.Last > m.SnapshotIndex+uint64(len(m.Log())) {
		return nil
	}
	if log := m.Log(); len(log) > 0 && log[0].Index <= m.SnapshotIndex { // it took this snapshot itself
		return nil
	}
	return line(span("installed", theme.Good|grid.Bold), span(fmt.Sprintf(", %d to come", leader.Last-m.Last), theme.Muted))
}
