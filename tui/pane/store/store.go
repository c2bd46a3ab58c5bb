// Package store is the pane of the replicated store. Above, the members' logs side
// by side, one cell an entry, with the term as its digit and colour and the
// commit, match and next marks; then votes, messages under way, the last
// revisions, and the tree of keys. Its other views are the keys with their
// values, the members, what the store does beside keys, its metrics, reads at single
// members, and the chart of how slowness climbs from its disks to the work queues.
package store

import (
	"fmt"
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

// Store is the pane.
type Store struct {
	pane.List
	open  map[string]bool // branches of the key tree that are open
	limit int             // the threshold of the alert line: one of thresholds
	step  int             // how much time a column of the chart is: one of steps
	value value
}

var about = pane.Info{
	Name: "store", Title: "Store",
	Means: "The store that holds the cluster's state, and how its members agree. Every cell is an entry of a member's raft " +
		"log; the digit and the colour are the term in which it was proposed. An entry is safe once a quorum of " +
		"members has it on disk: then the leader moves the commit mark, the members apply it, and a new revision exists. " +
		"A message says what it carries: \"78+1\" is one entry after entry 78; without entries it is a heartbeat.",
	Legend: [][2]string{
		{"[3]", "committed entry of term 3"},
		{":3:", "on this member's disk, not committed"},
		{".3.", "written, not yet on disk"},
		{"▾", "the leader's commit index"},
		{"^", "match: the leader knows the follower has it"},
		{">", "next: what the leader sends next"},
		{"★", "leader"},
		{"◇", "candidate"},
		{"──▷", "message under way"},
		{"○", "learner: it has no vote"},
		{"✗", "down, or lost"},
	},
}

// New makes the pane.
func New() *Store {
	p := &Store{List: pane.NewList(about), open: map[string]bool{"/registry": true}}
	p.Key(keymap.Bind(keymap.Open, "open", "Open or close a branch of the keys; show the object of a key.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if b, ok := on.Value.(view.Branch); ok && b.Key == nil {
			p.open[b.Name] = !p.open[b.Name]
			return action.Redraw{}
		}
		return on.Open()
	})
	p.Views("store.part", "view",
		pane.View{Name: "raft", Means: "the raft logs", Draw: p.drawLogs},
		pane.View{Name: "keys", Means: "revisions and keys", Draw: p.drawAllKeys},
		pane.View{Name: "members", Means: "members with quorum, sizes and faults", Draw: p.tabbed(p.drawMembers)},
		pane.View{Name: "leases", Means: "transactions, leases and watchers", Draw: p.tabbed(p.drawUpkeep)},
		pane.View{Name: "metrics", Means: "metrics", Draw: p.tabbed(p.drawMetrics)},
		pane.View{Name: "reads", Means: "reads", Draw: p.tabbed(drawReads)},
		pane.View{Name: "cascade", Means: "the chart from slow disks to full queues", Draw: p.tabbed(p.drawCascade)})
	p.Key(keymap.Bind("store.back", "view back", "The previous view.", "V"), pane.Then(p.PreviousView))
	p.Key(keymap.Bind("store.value", "value", "The value of the key under the cursor: decoded, then the bytes, then closed.", "x"), p.look)
	p.Key(keymap.Bind("store.read", "read", "Ask every member for the key under the cursor, linearizable and serializable.", "R"), p.read)
	p.Key(keymap.Bind("store.cascade", "cascade", "The chart of how slowness climbs: fsync, commit, API requests, timeouts, queue depth over the same time; again goes back to the logs.", "c"), pane.Then(p.toCascade))
	p.Key(keymap.Bind("store.step", "scale", "How much virtual time a column of the chart is.", "S"), pane.Turn(&p.step, len(steps)))
	p.Key(keymap.Bind("store.limit", "threshold", "Change the threshold of the alert about slow disks.", "T"), pane.Turn(&p.limit, len(thresholds)))
	return p
}

// Do implements [pane.Pane]; other panes too ask for the chart to be shown.
func (p *Store) Do(name string, on pane.Subject, f *pane.Frame) action.Action {
	if name == pane.Slowness {
		p.ShowView("cascade")
		return action.Redraw{}
	}
	return p.List.Do(name, on, f)
}

// toCascade shows the chart, or the logs again.
func (p *Store) toCascade() {
	if p.View().Name == "cascade" {
		p.ShowView("raft")
		return
	}
	p.ShowView("cascade")
}

// read asks every member for a key.
func (p *Store) read(on pane.Subject, _ *pane.Frame) action.Action {
	key, ok := strings.CutPrefix(on.ID, "key/")
	if !ok {
		return action.Notice{Text: "Put the cursor on a key (v shows the keys) to read it at every member."}
	}
	p.ShowView("reads")
	return action.Exec{Line: "kviz read '" + key + "'"}
}

// Note implements [pane.Pane].
func (*Store) Note(f *pane.Frame) string {
	s := &f.S.Store
	if len(s.Members()) == 0 {
		return fmt.Sprintf("revision %d", s.Revision)
	}
	for _, m := range s.Members() {
		if m.Name == s.Leader {
			return fmt.Sprintf("%s leads term %d, revision %d", m.Name, m.Term, s.Revision)
		}
	}
	return fmt.Sprintf("no leader, term %d, revision %d", s.Term, s.Revision)
}

// wide is from which width on the revisions and keys stand beside the logs.
const wide = 130

// Draw implements [pane.Pane].
func (p *Store) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

// tabsFrom is from how many rows on the logs and keys have tabs above them: beside other
// panes every row is needed.
const tabsFrom = 12

// drawLogs draws the members' logs, and what they come to: revisions and keys.
func (p *Store) drawLogs(s *pane.Sheet, f *pane.Frame) {
	y := 0
	if f.Rows >= tabsFrom {
		y = p.drawTabs(s, y)
	}
	if s.W() >= wide {
		left := s.W() * 55 / 100
		a, b := s.Halves(left)
		p.drawRaft(a, f, y)
		p.drawKeys(b, f, drawRevisions(b, f, p.drawValue(b, f, y), 12))
		s.Divide(y, left, a, b)
		return
	}
	y = p.drawValue(s, f, p.drawRaft(s, f, y))
	p.drawKeys(s, f, drawRevisions(s, f, y, 6))
}

// drawAllKeys draws revisions and keys alone.
func (p *Store) drawAllKeys(s *pane.Sheet, f *pane.Frame) {
	y := 0
	if f.Rows >= tabsFrom {
		y = p.drawTabs(s, y)
	}
	y = p.drawValue(s, f, drawRefused(s, f, y))
	p.drawKeys(s, f, drawRevisions(s, f, y, 6))
}

// tabbed draws a view below the tabs and the alarms.
func (p *Store) tabbed(draw func(s *pane.Sheet, f *pane.Frame, y int)) func(*pane.Sheet, *pane.Frame) {
	return func(s *pane.Sheet, f *pane.Frame) { draw(s, f, p.drawAlarms(s, f, p.drawTabs(s, 0))) }
}

// drawTabs names the views and which one is shown.
func (p *Store) drawTabs(s *pane.Sheet, y int) int {
	a, x := s.Row(y), 0
	for _, v := range p.Info().Views {
		if v.Name == p.View().Name {
			x = a.Text(x, 0, "▸"+v.Name, theme.Accent|grid.Bold) + 1
		} else {
			x = a.Text(x, 0, " "+v.Name, theme.Muted) + 1
		}
	}
	if hint := "v V other views"; x+len(hint) < s.W() {
		a.Right(s.W(), 0, hint, theme.Muted)
	}
	return y + 1
}

// drawRaft draws what the members have and what goes on between them.
func (p *Store) drawRaft(s *pane.Sheet, f *pane.Frame, y int) int {
	y = p.drawAlarms(s, f, drawLogs(s, f, y))
	if f.Rows >= 24 && len(f.S.Store.Members()) > 0 {
		y = s.Legend(y, [2]string{"[1]", "committed"}, [2]string{":1:", "on disk"}, [2]string{".1.", "written"}, [2]string{"▾", "commit"},
			[2]string{"^", "match"}, [2]string{">", "next"}, [2]string{"digit", "term"})
	}
	y = drawQuorum(s, f, y)
	y = drawVotes(s, f, y)
	y = drawRefused(s, f, y)
	return drawMessages(s, f, y)
}

// drawQuorum says what it means that too few members are up, or that none
// leads.
func drawQuorum(s *pane.Sheet, f *pane.Frame, y int) int {
	q := f.S.Store.Quorum()
	switch {
	case q.Total == 0:
		return y
	case !q.OK():
		return s.Say(y, fmt.Sprintf("No quorum: %d of %d members are up, %d are needed. Nothing can be committed; writes wait, then fail.", q.Have, q.Total, q.Need), theme.Bad)
	case f.S.Store.Leader == "":
		return s.Say(y, "No leader: an election is due. Writes wait until a member has the votes of a quorum.", theme.Warn)
	}
	return y
}

func drawLogs(s *pane.Sheet, f *pane.Frame, y int) int {
	members := f.S.Store.Members()
	if len(members) == 0 {
		s.Row(y).Text(0, 0, "The bare store: one process, no raft, no members (--store mvcc).", theme.Muted)
		return drawEndpoints(s, f, y+1)
	}
	var last, commit, term uint64
	var leader *view.Member
	for _, m := range members {
		last = max(last, m.Last)
		commit = max(commit, m.Commit)
		term = max(term, m.Term)
		if m.Up && m.Role == "leader" {
			leader = m
		}
	}
	digits := len(fmt.Sprint(term))
	cell := digits + 3
	head := 15
	if s.W() < 60 {
		head = 9
	}
	n := uint64(max((s.W()-head-cell)/cell, 1))
	first := uint64(1)
	if last > n {
		first = last - n + 1
	}
	a := s.Row(y)
	if head > 9 {
		a.Text(0, 0, "member    term", theme.Muted)
	} else {
		a.Text(0, 0, "log   t", theme.Muted)
	}
	drawIndexes(a, head, cell, first, last, commit)
	for i, m := range members {
		drawLog(s, f, y+1+i, m, leader, first, last, head, cell, digits)
	}
	return y + 1 + len(members)
}

// drawIndexes names the entries by their indexes, whole and with a space between two:
// first the one that is committed, then those of the others that have room.
func drawIndexes(a grid.Area, head, cell int, first, last, commit uint64) {
	at := func(i uint64) (from, to int) {
		from = head + int(i-first)*cell + 1
		return from, from + len(fmt.Sprint(i))
	}
	from, to := a.W(), a.W() // what the commit mark takes
	if commit >= first && commit <= last {
		from, to = at(commit)
		from--
		if over := to - a.W(); over > 0 {
			from, to = from-over, to-over
		}
		a.Text(from, 0, fmt.Sprintf("▾%d", commit), theme.Good|grid.Bold)
	}
	free := head
	for i := first; i <= last; i++ {
		x, end := at(i)
		if x < free || end > a.W() || i == commit || x <= to && end >= from {
			continue
		}
		a.Text(x, 0, fmt.Sprint(i), theme.Muted)
		free = end + 1
	}
}

func drawLog(s *pane.Sheet, f *pane.Frame, y int, m, leader *view.Member, first, last uint64, head, cell, digits int) {
	a := s.Row(y)
	glyph, st := pane.Member(m)
	term := theme.Term(m.Term)
	word := "follow"
	switch {
	case !m.Up:
		word, term = "down", st
	case m.Role == "leader":
		word = "LEAD"
	case m.Role == "candidate":
		word = "CAND"
	case m.Learner:
		word = "learn"
	}
	if f.Fresh(m.Event) {
		st, term = st|grid.Fresh, term|grid.Fresh
	}
	a.Put(0, 0, glyph, st)
	x := a.Text(2, 0, m.Name+" ", st)
	if head > 9 {
		a.Text(max(x, 4), 0, grid.Pad(word, 6), st)
		a.Text(11, 0, fmt.Sprint(m.Term), term)
	} else {
		a.Text(max(x, 4), 0, "t"+fmt.Sprint(m.Term), term)
	}
	s.Hot(0, y, head-2, pane.Subject{ID: "member/" + m.Name, Target: "member/" + m.Name, Event: m.Event, Words: Words(m), Copy: m.Name})
	var peer *view.Peer
	if leader != nil && leader != m {
		peer = leader.Peer(m.Name)
	}
	for _, e := range m.Log() {
		if e.Index < first || e.Index > last {
			continue
		}
		drawEntry(s, f, y, head+int(e.Index-first)*cell, m, e, digits)
	}
	if peer == nil {
		return
	}
	if peer.Match >= first && peer.Match <= last {
		a.Put(head+int(peer.Match-first)*cell+digits+2, 0, '^', theme.Cause|grid.Bold)
	}
	if peer.Next >= first && peer.Next <= last+1 && m.Entry(peer.Next) == view.EntryAbsent {
		a.Put(head+int(peer.Next-first)*cell+1, 0, '>', theme.Cause|grid.Bold)
	}
}

func drawEntry(s *pane.Sheet, f *pane.Frame, y, x int, m *view.Member, e view.LogEntry, digits int) {
	state := m.Entry(e.Index)
	l, r := "[", "]"
	st := theme.Term(e.Term)
	switch state {
	case view.EntryWritten, view.EntryAbsent:
		l, r = ".", "."
	case view.EntryDurable:
		l, r = ":", ":"
	case view.EntryApplied:
		st |= grid.Bold
	}
	if f.Fresh(e.Event) {
		st |= grid.Fresh
	}
	a := s.Row(y)
	a.Text(x, 0, l+grid.PadLeft(fmt.Sprint(e.Term), digits)+r, st)
	kind := e.Type
	if kind == "" {
		kind = "entry"
	}
	s.Hot(x, y, digits+2, pane.Subject{
		ID: fmt.Sprintf("entry/%s/%d", m.Name, e.Index), Event: e.Event, Target: "member/" + m.Name, Kind: trace.RaftAppend,
		Words: fmt.Sprintf("Entry %d of term %d (%s, %s) on member %s: %s.", e.Index, e.Term, kind, words.Bytes(e.Size), m.Name, state),
	})
}

// Words says how a member is.
func Words(m *view.Member) string {
	if !m.Up {
		if m.Reason != "" {
			return "Member " + m.Name + " is down: " + m.Reason + "."
		}
		return "Member " + m.Name + " is down."
	}
	w := fmt.Sprintf("Member %s: %s in term %d; log to %d, on disk %d, committed %d, applied %d, revision %d.",
		m.Name, m.Role, m.Term, m.Last, m.Durable, m.Commit, m.Applied, m.Revision)
	if m.Learner {
		w += " It is a learner: it has no vote."
	}
	if m.DBSize > 0 {
		w += fmt.Sprintf(" Its database has %s, of which %s are in use.", words.Bytes(int(m.DBSize)), words.Bytes(int(m.DBInUse)))
	}
	if m.DiskError != "" {
		w += " Its disk says: " + m.DiskError + "."
	}
	return w
}

func drawVotes(s *pane.Sheet, f *pane.Frame, y int) int {
	q := f.S.Store.Quorum()
	members := f.S.Store.Members()
	for _, m := range members {
		if m.Role != "candidate" && !(m.Role == "leader" && len(m.Votes) > 0 && m.Commit+1 >= m.Last && f.S.At-m.Since < 100*time.Millisecond) {
			continue
		}
		a := s.Row(y)
		label, term, pre := "votes for %s in term %d ", m.Term, preVoting(f, m)
		if pre {
			label, term = "pre-votes for %s, before term %d ", m.Term+1
		}
		x := a.Text(0, 0, fmt.Sprintf(label, m.Name, term), theme.Term(term)|grid.Bold)
		for _, o := range members {
			mark, st := "·", theme.Muted
			if o.Name == m.Name && (pre || m.VotedFor == m.Name && m.VotedTerm == term) {
				mark, st = "✓", theme.Good
			}
			for _, v := range m.Votes {
				if v.From != o.Name || v.Term != term || v.Pre != pre {
					continue
				}
				if v.Granted {
					mark, st = "✓", theme.Good
				} else {
					mark, st = "✗", theme.Bad
				}
			}
			x = a.Text(x, 0, "["+o.Name+" "+mark+"]", st)
		}
		needs := fmt.Sprintf("needs %d of %d", q.Need, q.Total)
		if x+1+grid.Width(needs) > s.W() {
			needs = fmt.Sprintf("%d/%d", q.Need, q.Total)
		}
		a.Fit(x+1, 0, s.W()-x-1, needs, theme.Muted)
		y++
	}
	return y
}

// preVoting reports whether a candidate still asks whether it would be elected:
// only then does it go on to the next term and ask for votes.
func preVoting(f *pane.Frame, m *view.Member) bool {
	asks := func(list []*view.Message) bool {
		for _, x := range list {
			if x.RPC == "RequestPreVote" && x.From == m.Name && x.Request != nil && x.Request.Term == m.Term+1 {
				return true
			}
		}
		return false
	}
	return m.Role == "candidate" && (asks(f.S.Store.InFlight()) || asks(f.S.Store.EndedMessages()))
}

func drawMessages(s *pane.Sheet, f *pane.Frame, y int) int {
	all := append(f.S.Store.EndedMessages(), f.S.Store.InFlight()...)
	if len(all) == 0 {
		return y
	}
	most := 5
	if s.Columns() { // beside the keys: to the end of the window
		most = max(f.Rows-y-1, 5)
	}
	y = s.Heading(y, "messages between members", fmt.Sprintf("%d under way, newest first", len(f.S.Store.InFlight())))
	type loss struct{ from, to, content, why string }
	lost := map[loss]int{} // the same message lost again and again is one row
	like := func(m *view.Message) (loss, bool) {
		if m.Phase != "lost" || m.Answer == nil {
			return loss{}, false
		}
		return loss{m.From, m.To, content(m, true), m.Answer.Error}, true
	}
	for _, m := range all {
		if l, ok := like(m); ok {
			lost[l]++
		}
	}
	for i := len(all) - 1; i >= 0 && most > 0; i-- {
		times := 1
		if l, ok := like(all[i]); ok {
			if times = lost[l]; times == 0 {
				continue
			}
			lost[l] = 0
		}
		drawMessage(s, f, y, all[i], times)
		y, most = y+1, most-1
	}
	return y
}

func drawMessage(s *pane.Sheet, f *pane.Frame, y int, m *view.Message, times int) {
	label := content(m, s.W() >= 66)
	event, arrow, st, end := m.Sent, "──▷ ", theme.Busy, ""
	switch m.Phase {
	case "delivered":
		event, arrow, st = m.Delivered, "══▶ ", theme.Busy
	case "answered":
		event, arrow, st = m.Ended, "──▶ ", theme.Muted
		end = "✓"
		if m.Answer != nil && !m.Answer.OK {
			end, st = "✗ refused", theme.Warn
		} else if m.Answer != nil && m.Answer.Match > 0 {
			end = fmt.Sprintf("✓ has %d", m.Answer.Match)
		}
	case "lost":
		event, arrow, st, end = m.Ended, "──✗ ", theme.Bad, "lost"
		if m.Answer != nil && m.Answer.Error != "" {
			end += ": " + m.Answer.Error
		}
		if times > 1 {
			end += fmt.Sprintf(" ×%d", times)
		}
	}
	if f.Fresh(event) {
		st |= grid.Fresh
	}
	s.Line(y, pane.Subject{
		ID: fmt.Sprintf("msg/%d", m.Serial), Event: event, Kind: trace.RaftSend,
		Words: fmt.Sprintf("%s from %s to %s: %s. %s", m.RPC, m.From, m.To, m.Phase, end),
	},
		grid.Span{Text: m.From + " ──", Style: st}, grid.Span{Text: label, Style: st}, grid.Span{Text: arrow, Style: st},
		grid.Span{Text: m.To + " ", Style: st}, grid.Span{Text: end, Style: st})
}

// content is what a message carries, in full or in short.
func content(m *view.Message, full bool) string {
	label, r := m.RPC, m.Request
	if r == nil {
		return label
	}
	if full {
		label += fmt.Sprintf(" term %d", r.Term)
	} else {
		label += fmt.Sprintf(" t%d", r.Term)
	}
	switch n := len(r.Entries); {
	case m.RPC != "AppendEntries":
	case n > 0 && full:
		label += fmt.Sprintf(", %s after %d", entries(n), r.PrevLog)
	case n > 0:
		label += fmt.Sprintf(" %d+%d", r.PrevLog, n)
	case full:
		label += fmt.Sprintf(", no entry, commit %d", r.Commit)
	default:
		label += fmt.Sprintf(" commit %d", r.Commit)
	}
	return label
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func drawRefused(s *pane.Sheet, f *pane.Frame, y int) int {
	r := f.S.Store.Refused
	if len(r) == 0 || f.S.At-r[len(r)-1].At > 10e9 {
		return y
	}
	last := r[len(r)-1]
	s.Line(y, pane.Subject{ID: "refused", Event: last.Event, Kind: trace.StoreRefused, Words: "The store refused " + last.Op + " " + last.Key + ": " + last.Error},
		grid.Span{Text: "✗ " + last.Error, Style: theme.Bad}, grid.Span{Text: " (" + last.Op + " " + last.Key + ")", Style: theme.Muted})
	return y + 1
}

func drawRevisions(s *pane.Sheet, f *pane.Frame, y, most int) int {
	all := f.S.Store.Commits()
	note := fmt.Sprintf("newest %d", f.S.Store.Revision)
	if f.S.Store.Compacted > 0 {
		note += fmt.Sprintf(", gone up to %d", f.S.Store.Compacted)
	}
	y = s.Heading(y, "revisions", note+"; what each write put, its version and size")
	if len(all) == 0 {
		s.Row(y).Fit(0, 0, s.W(), "Nothing is written yet.", theme.Muted)
		return y + 1
	}
	shown := 0
	for i := len(all) - 1; i >= 0 && shown < most; i-- {
		c := all[i]
		for _, k := range c.Changes {
			if !f.Match(k.Key, k.Object.String()) {
				continue
			}
			drawChange(s, f, y, c, k)
			y++
			shown++
		}
	}
	return y
}

func drawChange(s *pane.Sheet, f *pane.Frame, y int, c *view.Commit, k trace.KeyChange) {
	sign, st, what := "put", theme.Added, fmt.Sprintf("v%d %s", k.Version, words.Bytes(k.Size))
	switch {
	case k.Deleted:
		sign, st, what = "del", theme.Removed, ""
	case k.Version > 1:
		st = theme.Text
	}
	fresh := grid.Style(0)
	if f.Fresh(c.Event) {
		fresh = grid.Fresh
	}
	a := s.Row(y)
	x := a.Text(0, 0, grid.PadLeft(fmt.Sprint(c.Revision), 6), theme.Number|fresh)
	x = a.Text(x+1, 0, sign, st|fresh)
	right := min(s.W()-grid.Width(what)-1, max(x+52, 90))
	a.Fit(x+1, 0, right-x-2, strings.TrimPrefix(k.Key, "/registry/"), theme.Text|fresh)
	a.Text(right, 0, what, theme.Muted)
	s.Hot(0, y, s.W(), pane.Subject{
		ID: fmt.Sprintf("rev/%d/%s", c.Revision, k.Key), Ref: k.Object, Event: c.Event, Kind: trace.StoreCommit, Copy: k.Key,
		Words: fmt.Sprintf("Revision %d: %s %s (version %d, created at revision %d).", c.Revision, sign, k.Key, k.Version, k.CreateRevision),
	})
}

func (p *Store) drawKeys(s *pane.Sheet, f *pane.Frame, y int) {
	y = s.Heading(y, "keys", fmt.Sprintf("%d below /registry", f.S.Store.KeyCount()))
	p.branch(s, f, y, "/registry", 0)
}

func (p *Store) branch(s *pane.Sheet, f *pane.Frame, y int, path string, depth int) int {
	for _, b := range f.S.Store.Branches(path) {
		if y > 2000 {
			s.Row(y).Text(0, 0, "… more keys; a filter narrows them (/)", theme.Muted)
			return y + 1
		}
		if b.Key != nil && !f.Match(b.Key.Key) {
			continue
		}
		name := b.Name[strings.LastIndex(b.Name, "/")+1:]
		indent := strings.Repeat("  ", depth)
		on := pane.Subject{ID: "key/" + b.Name, Value: b, Copy: b.Name, Words: fmt.Sprintf("%d keys below %s.", b.Keys, b.Name)}
		if b.Key != nil {
			on.Ref, on.Event = b.Key.Ref, b.Key.Event
			on.Words = fmt.Sprintf("%s: written at revision %d, version %d, %s.", b.Name, b.Key.ModRevision, b.Key.Version, words.Bytes(b.Key.Size))
			st := theme.Text
			if f.Fresh(b.Key.Event) {
				st |= grid.Fresh
			}
			s.Line(y, on, grid.Span{Text: indent + "  " + name, Style: st}, grid.Span{Text: fmt.Sprintf("  revision %d, version %d", b.Key.ModRevision, b.Key.Version), Style: theme.Muted})
			y++
			continue
		}
		mark := "▸ "
		if p.open[b.Name] {
			mark = "▾ "
		}
		s.Line(y, on, grid.Span{Text: indent + mark, Style: theme.Accent}, grid.Span{Text: name, Style: theme.Name}, grid.Span{Text: "  " + words.Count(b.Keys, "key"), Style: theme.Muted})
		y++
		if p.open[b.Name] {
			y = p.branch(s, f, y, b.Name, depth+1)
		}
	}
	return y
}
