package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// recently is for how long after an election its votes are told.
const recently = 3 * time.Second

// drawFoot draws what stands below the picture: what goes on in words, the tabs of the
// views, and the logs where there is room.
func (p *Store) drawFoot(r *ring) {
	y, h := r.Foot.Y, r.Foot.H
	rows, must := r.tells(false)
	if must+2+len(r.members) > h { // the logs, with the tabs and their head, would have to give way
		rows, must = r.tells(true)
	}
	if r.Form == scene.Small && h < 4+len(r.members) {
		first := min(max(must, 1), h-1) // above the tabs: nothing stands between two sides
		for i := range h - 1 {
			at := y + i
			if i >= first {
				at++
			}
			p.footLine(r, at, rows, i)
		}
		p.drawTabs(r.s, y+first)
		return
	}
	free := min(max(h-1-len(r.members), 2), 5) // above the logs: what is told, then the tabs
	if must > 0 {                              // what each side can do, and how a vote ended, matters more than the logs
		free = min(max(free, must+1), h)
	}
	for i := range free - 1 {
		p.footLine(r, y+i, rows, i)
	}
	p.drawTabs(r.s, y+free-1)
	if free+1+len(r.members) > h {
		return
	}
	y = drawLogs(r.s, r.f, y+free, false)
	if left := r.Foot.Y + h - y; left > 2 {
		drawMessages(r.s, r.f, y, left-1)
	}
}

func (p *Store) footLine(r *ring, y int, rows [][]grid.Span, i int) {
	if i < len(rows) {
		r.s.Row(y).Spans(0, 0, rows[i]...)
	}
}

// tells are the rows that say what goes on, what matters most first, and how many of them must be seen: what
// the sides of a partition can do, and that a term had no winner, where it is tight beside the votes of the next.
func (r *ring) tells(tight bool) (rows [][]grid.Span, must int) {
	rows = append(rows, r.partition()...)
	must = len(rows)
	vote, lost := r.election(r.W), r.undecided()
	if vote != nil && lost != nil && tight {
		const gap = "   "
		room := r.W - len(gap) - widthOf(lost)
		if row := r.election(room); widthOf(row) <= room {
			vote, lost, must = append(append(row, span(gap, theme.Text)), lost...), nil, len(rows)+1
		}
	}
	if vote != nil {
		rows = append(rows, vote)
	}
	if lost != nil {
		rows = append(rows, lost)
		must = len(rows)
	}
	if row := r.waiting(); row != nil {
		rows = append(rows, row)
	}
	if row := r.under(r.W); row != nil {
		rows = append(rows, row)
	}
	if row := r.numbers(); row != nil {
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, r.steady())
	}
	return rows, must
}

// widthOf is how many columns spans take.
func widthOf(row []grid.Span) (w int) {
	for _, x := range row {
		w += grid.Width(x.Text)
	}
	return w
}

// steady says what goes on when nothing does.
func (r *ring) steady() []grid.Span {
	leader := r.f.S.Store.Leader
	if leader == "" || len(r.members) < 2 {
		return []grid.Span{span("nothing is under way", theme.Muted)}
	}
	said := "nothing is under way but " + leader + "'s heartbeats"
	if r.Form == scene.Full {
		said += ": each starts its election timeout again"
	}
	return []grid.Span{span(said, theme.Muted)}
}

// partition are the sides that do not reach one another, and what each can do.
func (r *ring) partition() [][]grid.Span {
	if len(r.sides) < 2 {
		return nil
	}
	q := r.f.S.Store.Quorum()
	var newest int64
	for _, m := range r.members {
		newest = max(newest, m.Revision)
	}
	var rows [][]grid.Span
	for _, side := range r.sides {
		votes := 0
		var revision int64
		leads := ""
		for _, m := range side {
			if !m.Learner {
				votes++
			}
			revision = max(revision, m.Revision)
			if m.Role == "leader" {
				leads = fmt.Sprintf("%s leads term %d", m.Name, m.Term)
			}
		}
		row := []grid.Span{span("side "+grid.Pad(names(side), 2*len(r.members)), theme.Title)}
		if votes < q.Need {
			said := fmt.Sprintf("reads there that ask no quorum answer from revision %d", revision)
			if r.Form == scene.Small {
				said = fmt.Sprintf("reads at rev %d", revision)
			}
			if behind := newest - revision; behind > 0 {
				said += fmt.Sprintf(", %d behind", behind)
			}
			row = append(row, span(fmt.Sprintf("%d of %d: no quorum   ", votes, q.Total), theme.Bad|grid.Bold), span(said+"; writes wait", theme.Warn))
		} else {
			if leads == "" {
				leads = "nobody leads yet"
			}
			row = append(row, span(fmt.Sprintf("%d of %d: quorum      ", votes, q.Total), theme.Good|grid.Bold), span(fmt.Sprintf("%s, writes go on, revision %d", leads, revision), theme.Text))
		}
		rows = append(rows, row)
	}
	return rows
}

// polled is the member whose votes are told: who stands for election, in the newest term, or was elected a
// moment ago.
func (r *ring) polled() *view.Member {
	var of *view.Member
	for _, m := range r.members {
		if stands(m) && (of == nil || !stands(of) || m.Term > of.Term) {
			of = m
		}
		if of == nil && leads(m) && len(m.Votes) > 0 && r.f.S.At-m.Since < recently {
			of = m
		}
	}
	return of
}

// election are the votes of who stands for election, or was elected a moment ago, in so many
// columns if they can be.
func (r *ring) election(columns int) []grid.Span {
	q := r.f.S.Store.Quorum()
	of := r.polled()
	if of == nil {
		return r.leaderless()
	}
	label, term := "votes for %s, term %d   ", of.Term
	if preVoting(r.f, of) {
		label, term = "pre-votes for %s, before term %d   ", of.Term+1
	}
	head := span(fmt.Sprintf(label, of.Name, term), theme.Term(term)|grid.Bold)
	tail := span(fmt.Sprintf("  %d of %d make a quorum", q.Need, q.Total), theme.Muted)
	if leads(of) {
		tail.Text = fmt.Sprintf(" elected %s ago: %d of %d make a quorum", words.Dur(r.f.S.At-of.Since), q.Need, q.Total)
	} else if p := r.f.S.Store.Poll(of.Term); p != nil && len(p.Tallies()) > 1 && !preVoting(r.f, of) {
		tail = span("  "+r.split(p), theme.Warn)
	}
	var row []grid.Span
	for _, form := range []string{"[%s %c] ", "%s%c "} { // the narrower one so that what it comes to is whole
		row = []grid.Span{head}
		w := grid.Width(head.Text) + grid.Width(tail.Text)
		for _, b := range r.ballotsOf(of) {
			row = append(row, span(fmt.Sprintf(form, b.name, b.mark), b.style))
			w += grid.Width(row[len(row)-1].Text)
		}
		if w <= columns {
			break
		}
	}
	return append(row, tail)
}

// leaderless says why nobody leads, and nobody stands for election either.
func (r *ring) leaderless() []grid.Span {
	q := pane.Known(r.f.S)
	switch {
	case q.Total == 0:
		return nil
	case !q.OK() && r.f.S.Store.Quorum().OK():
		return []grid.Span{span(fmt.Sprintf("no quorum: of %d voters %s, %d are needed; nothing can be committed", q.Total, together(q.Have), q.Need), theme.Bad|grid.Bold)}
	case !q.OK():
		return []grid.Span{span(fmt.Sprintf("no quorum: %d of %d members are up, %d are needed; nothing can be committed", q.Have, q.Total, q.Need), theme.Bad|grid.Bold)}
	case r.f.S.Store.Leader == "":
		return []grid.Span{span("no leader: the first election timeout to end starts an election", theme.Warn)}
	}
	return nil
}

// split says how the votes of a term fell if several stood in it: "split: b 2, c 2 of 5" once nobody
// can have those of a quorum any more.
func (r *ring) split(p *view.Poll) string {
	q := r.f.S.Store.Quorum()
	tallies := p.Tallies()
	var parts []string
	for _, t := range tallies {
		parts = append(parts, fmt.Sprintf("%s %d", t.Candidate, t.Votes))
	}
	said := fmt.Sprintf("%s of %d", strings.Join(parts, ", "), q.Total)
	switch {
	case p.Split(q):
		return "split: " + said
	case len(tallies) > 1 && p.Over.IsZero():
		return "so far " + said
	}
	return said
}

// undecided tells of the newest term that cannot have a winner any more, or ended without one: until
// somebody is elected, and for a moment after that. While its votes stand in a row of their own, it is told
// there.
func (r *ring) undecided() []grid.Span {
	p, st := r.f.S.Store.LastOver(), &r.f.S.Store
	said := "had no winner   "
	if now := st.Poll(st.Term); now != nil && now.Split(st.Quorum()) {
		if of := r.polled(); of != nil && stands(of) && of.Term == now.Term && !preVoting(r.f, of) {
			return nil
		}
		p, said = now, "has no winner   "
	}
	if p == nil || p.Term+1 < st.Term {
		return nil
	}
	for _, m := range r.members {
		if leads(m) && (m.Term < p.Term || r.f.S.At-m.Since >= recently) {
			return nil
		}
	}
	return []grid.Span{span(fmt.Sprintf("term %d %s", p.Term, said), theme.Term(p.Term)|grid.Bold), span(r.split(p), theme.Warn)}
}

// waiting says how many writes wait for the store, where that is not as ever.
func (r *ring) waiting() []grid.Span {
	n, oldest := 0, time.Duration(-1)
	for _, q := range r.f.S.ActiveRequests() {
		if q.Request == nil || q.Reached != trace.StageStorage || q.Verb == "get" || q.Verb == "list" || q.Verb == "watch" {
			continue
		}
		n++
		oldest = max(oldest, r.f.S.At-q.At)
	}
	if n == 0 || r.f.S.Store.Leader != "" && r.f.S.Reach().OK() && oldest < 500*time.Millisecond {
		return nil
	}
	wait := "1 waits"
	if n > 1 {
		wait = fmt.Sprintf("%d wait", n)
	}
	return []grid.Span{span("writes   ", theme.Muted), span(fmt.Sprintf("%s for a leader, the oldest for %s", wait, words.Dur(oldest.Truncate(100*time.Millisecond))), theme.Warn)}
}

// numbers are how long commits and the members' disks take.
func (r *ring) numbers() []grid.Span {
	list := r.f.S.Store.Latencies()
	if len(list) == 0 {
		return nil
	}
	l := list[len(list)-1]
	row := []grid.Span{span("commit p99 ", theme.Muted), span(words.Dur(l.Commit().P99), theme.Number), span(" "+trend(l.Series()), theme.Muted)}
	w := r.W
	for _, x := range row {
		w -= grid.Width(x.Text)
	}
	return append(row, r.syncs(w)...)
}

// trend draws how long commits took, the newest at the right: the slowest of so many each.
func trend(took []time.Duration) string {
	const cells, each = 12, 8
	if len(took) > cells*each {
		took = took[len(took)-cells*each:]
	}
	if len(took) == 0 {
		return ""
	}
	most := slices.Max(took)
	var b strings.Builder
	for len(took) > 0 {
		n := (len(took)-1)%each + 1 // the oldest cell has what is left over
		b.WriteRune(grid.Level(int(slices.Max(took[:n])), int(most)))
		took = took[n:]
	}
	return b.String()
}

// syncs are how long the members' disks take; the fastest and the slowest where there is no room for
// all.
func (r *ring) syncs(w int) []grid.Span {
	var row []grid.Span
	var fast, slow *view.Member
	took := map[string]time.Duration{}
	for _, m := range r.members {
		disks := m.Disks()
		if len(disks) == 0 || disks[len(disks)-1].Fsync.Count == 0 {
			continue
		}
		took[m.Name] = disks[len(disks)-1].Writes().P99
		if fast == nil || took[m.Name] < took[fast.Name] {
			fast = m
		}
		if slow == nil || took[m.Name] > took[slow.Name] {
			slow = m
		}
		row = append(row, span("  "+m.Name+" ", theme.Muted), span(words.Dur(took[m.Name]), theme.Number))
	}
	if len(row) == 0 {
		return nil
	}
	row = append([]grid.Span{span("   fsync p99", theme.Muted)}, row...)
	for _, x := range row {
		w -= grid.Width(x.Text)
	}
	if w >= 0 {
		return row
	}
	return append(row[:1:1], span("  "+fast.Name+" ", theme.Muted), span(words.Dur(took[fast.Name]), theme.Number),
		span(" to "+slow.Name+" ", theme.Muted), span(words.Dur(took[slow.Name]), theme.Number))
}

// sidesInWords are how many sides there are, from two on.
var sidesInWords = []string{"two", "three", "four", "five", "many"}

// note is what the picture's title says.
func (r *ring) note() string {
	f := r.f
	if sides := r.sides; len(sides) > 1 {
		counts, writes := make([]string, len(sides)), 0
		for i, side := range sides {
			counts[i] = fmt.Sprint(len(side))
			if len(side) >= f.S.Store.Quorum().Need {
				writes++
			}
		}
		can := []string{"none can write", "one can write"}[min(writes, 1)]
		return strings.Join(counts, " | ") + ": " + sidesInWords[min(len(sides), len(sidesInWords))-2] + " sides, " + can
	}
	if f.S.Store.Leader == "" {
		for _, m := range r.members {
			if m.Up && m.Role == "candidate" {
				if preVoting(f, m) {
					return fmt.Sprintf("pre-votes for term %d", m.Term+1)
				}
				return fmt.Sprintf("election for term %d", m.Term)
			}
		}
	}
	return ""
}
