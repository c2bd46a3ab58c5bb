package store

import (
	"fmt"
	"strconv"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawLogs draws the members' logs, and what they come to: revisions and keys.
func (p *Store) drawLogs(s *pane.Sheet, f *pane.Frame) {
	if f.Stage {
		drawStagedLogs(s, f)
		return
	}
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

// drawLogs draws a row for each member with its log; with indexes what the leader knows of it, too, which has to be explained.
func drawLogs(s *pane.Sheet, f *pane.Frame, y int, indexes bool) int {
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
	head := withRole
	if s.W() < 60 {
		head = withoutRole
	}
	bar := timeoutBar
	if s.W() < 40 {
		bar = 0
	}
	n := uint64(max((s.W()-head-cell-bar)/cell, 1))
	first := uint64(1)
	if last > n {
		first = last - n + 1
	}
	a := s.Row(y)
	if head == withRole {
		a.Text(0, 0, "member        term", theme.Muted)
	} else {
		a.Text(0, 0, "log   t", theme.Muted)
	}
	drawIndexes(a, head, cell, first, last, commit)
	for i, m := range members {
		drawLog(s, f, y+1+i, m, first, last, head, cell, digits)
		if indexes && leader != nil && leader != m {
			drawIndexesOf(s.Row(y+1+i), m, leader.Peer(m.Name), first, last, head, cell, digits)
		}
		if bar > 0 {
			drawTimeout(s.Row(y+1+i), m)
		}
	}
	return y + 1 + len(members)
}

// How wide the beginning of a member's row is: its sign, its name, its role and its term; without the
// role, which the sign says too, where there is little room.
const (
	withRole    = 18
	withoutRole = 9
	roleFrom    = 4
	termFrom    = roleFrom + len("candidate") + 1
)

// timeoutBar is how wide the last column is: a blank and six cells of the member's election
// timeout.
const timeoutBar = 7

// drawTimeout draws what is left of a follower's election timeout at the end of its row.
func drawTimeout(a grid.Area, m *view.Member) {
	if !m.Up || m.Learner || m.Role == "leader" || m.Role == "candidate" {
		return
	}
	left, st := timeoutLeft(m)
	for i := range 6 {
		r := '░'
		if i < (6*left+3)/4 {
			r = '▓'
		}
		a.Put(a.W()-6+i, 0, r, st)
	}
}

// timeoutLeft is how many quarters of its least election timeout a follower has left, as
// far as that is known, and how that looks.
func timeoutLeft(m *view.Member) (quarters int, st grid.Style) {
	if m.Timeout == nil {
		return 4, theme.Good
	}
	switch m.Timeout.Left {
	case 0, 1:
		return m.Timeout.Left, theme.Bad
	}
	return m.Timeout.Left, theme.Warn
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

func drawLog(s *pane.Sheet, f *pane.Frame, y int, m *view.Member, first, last uint64, head, cell, digits int) {
	a := s.Row(y)
	glyph, st := pane.Member(m)
	term := theme.Term(m.Term)
	word := m.Role
	switch {
	case !m.Up:
		word, term = "down", st
	case m.Learner:
		word = "learner"
	case m.Role == "":
		word = "starting"
	}
	if f.Fresh(m.Event) {
		st, term = st|grid.Fresh, term|grid.Fresh
	}
	a.Put(0, 0, glyph, st)
	x := a.Text(2, 0, m.Name+" ", st)
	if head == withRole {
		a.Text(max(x, roleFrom), 0, word, st)
		a.Text(termFrom, 0, fmt.Sprint(m.Term), term)
	} else {
		a.Text(max(x, 4), 0, "t"+fmt.Sprint(m.Term), term)
	}
	s.Hot(0, y, head-2, pane.Subject{ID: "member/" + m.Name, Target: "member/" + m.Name, Event: m.Event, Words: Words(m), Copy: m.Name})
	for _, e := range m.Log() {
		if e.Index < first || e.Index > last {
			continue
		}
		drawEntry(s, f, y, head+int(e.Index-first)*cell, m, e, digits)
	}
}

// drawIndexesOf marks what the leader knows of a member: up to where its log is the leader's, and what it is sent next.
func drawIndexesOf(a grid.Area, m *view.Member, peer *view.Peer, first, last uint64, head, cell, digits int) {
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
	a.Text(x, 0, l+grid.PadLeft(strconv.FormatUint(e.Term, 10), digits)+r, st)
	s.HotTold(x, y, digits+2, pane.Subject{
		ID: "entry/" + m.Name + "/" + strconv.FormatUint(e.Index, 10), Event: e.Event, Target: "member/" + m.Name, Kind: trace.RaftAppend,
	}, func() string {
		kind := e.Type
		if kind == "" {
			kind = "entry"
		}
		return fmt.Sprintf("Entry %d of term %d (%s, %s) on member %s: %s.", e.Index, e.Term, kind, words.Bytes(e.Size), m.Name, state)
	})
}
