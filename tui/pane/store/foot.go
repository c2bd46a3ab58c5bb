package store

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// recently is for how long after an election its votes are told.
const recently = 3 * time.Second

// drawFoot draws what stands below the picture: what goes on in words, the tabs of the
// views, and the logs where there is room.
func (p *Store) drawFoot(r *ring) {
	rows := r.tells()
	y, h := r.Foot.Y, r.Foot.H
	if r.Form == scene.Small && h < 4+len(r.members) {
		p.footLine(r, y, rows, 0)
		p.drawTabs(r.s, y+1)
		for i := 1; i < h-1; i++ {
			p.footLine(r, y+1+i, rows, i)
		}
		return
	}
	free := min(max(h-1-len(r.members), 2), 5) // above the logs: what is told, then the tabs
	if sides := len(r.sides); sides > 1 {      // what each side can do matters more than the logs
		free = min(max(free, sides+1), h)
	}
	for i := range free - 1 {
		p.footLine(r, y+i, rows, i)
	}
	p.drawTabs(r.s, y+free-1)
	if free+1+len(r.members) > h {
		return
	}
	y = drawLogs(r.s, r.f, y+free)
	if left := r.Foot.Y + h - y; left > 2 {
		drawMessages(r.s, r.f, y, left-1)
	}
}

func (p *Store) footLine(r *ring, y int, rows [][]grid.Span, i int) {
	if i < len(rows) {
		r.s.Row(y).Spans(0, 0, rows[i]...)
	}
}

// tells are the rows that say what goes on, what matters most first.
func (r *ring) tells() [][]grid.Span {
	var rows [][]grid.Span
	rows = append(rows, r.partition()...)
	if row := r.election(); row != nil {
		rows = append(rows, row)
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
	return rows
}

// steady says what goes on when nothing does.
func (r *ring) steady() []grid.Span {
	leader := r.f.S.Store.Leader
	if leader == "" || len(r.members) < 2 {
		return []grid.Span{span("nothing is under way", theme.Muted)}
	}
	said := "nothing is under way but " + leader + "'s heartbeats"
	if r.Form == scene.Full {
		said += ": each begins an election timeout anew"
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
				said = fmt.Sprintf("reads answer from revision %d", revision)
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

// election are the votes of who stands for election, or was elected a moment ago.
func (r *ring) election() []grid.Span {
	q := r.f.S.Store.Quorum()
	var of *view.Member
	for _, m := range r.members {
		if r.stands(m) && (of == nil || !r.stands(of) || m.Term > of.Term) {
			of = m
		}
		if of == nil && r.leads(m) && len(m.Votes) > 0 && r.f.S.At-m.Since < recently {
			of = m
		}
	}
	if of == nil {
		return r.leaderless()
	}
	label, term := "votes for %s, term %d   ", of.Term
	if preVoting(r.f, of) {
		label, term = "pre-votes for %s, before term %d   ", of.Term+1
	}
	row := []grid.Span{span(fmt.Sprintf(label, of.Name, term), theme.Term(term)|grid.Bold)}
	for _, b := range r.ballotsOf(of) {
		row = append(row, span("["+b.name+" "+string(b.mark)+"] ", b.style))
	}
	if r.leads(of) {
		return append(row, span(fmt.Sprintf(" elected %s ago: %d of %d make a quorum", words.Dur(r.f.S.At-of.Since), q.Need, q.Total), theme.Muted))
	}
	if said := r.split(of.Term); said != "" {
		return append(row, span("  "+said, theme.Warn))
	}
	return append(row, span(fmt.Sprintf("  %d of %d make a quorum", q.Need, q.Total), theme.Muted))
}

// leaderless says why nobody leads, and nobody stands for election either.
func (r *ring) leaderless() []grid.Span {
	q := r.f.S.Reach()
	switch {
	case q.Total == 0:
		return nil
	case !q.OK() && r.f.S.Store.Quorum().OK():
		return []grid.Span{span(fmt.Sprintf("no quorum: of %d voters %s, %d are needed; nothing can be committed", q.Total, together(q.Have), q.Need), theme.Bad|grid.Bold)}
	case !q.OK():
		return []grid.Span{span(fmt.Sprintf("no quorum: %d of %d members are up, %d are needed; nothing can be committed", q.Have, q.Total, q.Need), theme.Bad|grid.Bold)}
	case r.f.S.Store.Leader == "":
		return []grid.Span{span("no leader: whose election timeout ends first stands for election", theme.Warn)}
	}
	return nil
}

// split says how the votes of a term fell if several stood in it.
func (r *ring) split(term uint64) string {
	got, standing := map[string]int{}, 0
	for _, m := range r.members {
		if m.VotedTerm == term && m.VotedFor != "" {
			got[m.VotedFor]++
		}
		if m.Role == "candidate" && m.Term == term && m.VotedFor == m.Name {
			standing++
		}
	}
	if standing < 2 {
		return ""
	}
	var parts []string
	for _, m := range r.members {
		if n := got[m.Name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", m.Name, n))
		}
	}
	return fmt.Sprintf("split: %s of %d", strings.Join(parts, ", "), r.f.S.Store.Quorum().Total)
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
	row := []grid.Span{span("commit p99 ", theme.Muted), span(words.Dur(list[len(list)-1].Commit().P99), theme.Number)}
	any := false
	for _, m := range r.members {
		disks := m.Disks()
		if len(disks) == 0 || disks[len(disks)-1].Fsync.Count == 0 {
			continue
		}
		if !any {
			row = append(row, span("   fsync p99", theme.Muted))
		}
		any = true
		row = append(row, span("  "+m.Name+" ", theme.Muted), span(words.Dur(disks[len(disks)-1].Writes().P99), theme.Number))
	}
	return row
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
				return fmt.Sprintf("election for term %d", m.Term)
			}
		}
	}
	for _, m := range r.members {
		if r.ballots[m.Name] {
			return fmt.Sprintf("election for term %d", m.Term)
		}
	}
	return ""
}
