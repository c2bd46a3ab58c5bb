package store

import (
	"fmt"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// stagedHead is how wide the beginning of a member's row is on a lesson's stage.
const stagedHead = 20

// stagedMessage is how wide the column of messages is there.
const stagedMessage = 16

// stagedCell is how wide an entry is there, with the room for a ring around it.
const stagedCell = 6

// drawStagedLogs draws the members' logs for a lesson's stage: nothing else, large, with room for a ring
// around everything.
func drawStagedLogs(s *pane.Sheet, f *pane.Frame) {
	members := f.S.Store.Members()
	if len(members) == 0 {
		drawLogs(s, f, 1, false)
		return
	}
	var last, commit, term uint64
	for _, m := range members {
		last, commit, term = max(last, m.Last), max(commit, m.Commit), max(term, m.Term)
	}
	n := uint64(max((s.W()-stagedHead-stagedMessage)/stagedCell, 1))
	first := uint64(1)
	if last > n {
		first = last - n + 1
	}
	gap := max(1, min((f.Rows-3)/len(members), 4))
	top := 1
	if gap > 1 {
		top = 2
	}
	if f.Rows >= top+1+gap*len(members)+2 {
		top++
	}
	a := s.Row(0)
	for i := first; i <= last; i++ {
		x, st, text := stagedHead+int(i-first)*stagedCell, theme.Muted, fmt.Sprint(i)
		if i == commit {
			text, st = text+"▾", theme.Good|grid.Bold
			s.Mark(grid.Rect{X: x, Y: 0, W: grid.Width(text), H: 1}, "commit")
		}
		a.Text(x, 0, text, st)
	}
	for i, m := range members {
		drawStagedLog(s, f, top+i*gap, m, first, last, len(fmt.Sprint(term)))
	}
	drawStagedLegend(s, f, top+(len(members)-1)*gap+1, commit, term)
}

// drawStagedLog draws one member: who it is, its entries, and a message that is on its way to it.
func drawStagedLog(s *pane.Sheet, f *pane.Frame, y int, m *view.Member, first, last uint64, digits int) {
	a := s.Row(y)
	glyph, st := pane.Member(m)
	word := m.Role
	switch {
	case !m.Up:
		word = "down"
	case m.Learner:
		word = "learner"
	case word == "":
		word = "starting"
	}
	bold := grid.Style(0)
	if word == "leader" {
		bold = grid.Bold
	}
	a.Put(2, 0, glyph, st|bold)
	a.Text(4, 0, m.Name, st|bold)
	a.Text(6, 0, word, st|bold)
	s.Mark(grid.Rect{X: 6, Y: y, W: 9, H: 1}, "member/"+m.Name+"#role")
	end := a.Text(16, 0, fmt.Sprintf("t%d", m.Term), theme.Term(m.Term)|bold)
	s.Mark(grid.Rect{X: 16, Y: y, W: end - 16, H: 1}, "member/"+m.Name+"#term")
	s.Hot(2, y, end-2, pane.Subject{ID: "member/" + m.Name, Target: "member/" + m.Name, Event: m.Event, Words: Words(m), Copy: m.Name})
	at := func(i uint64) int { return stagedHead + int(i-first)*stagedCell }
	for _, e := range m.Log() {
		if e.Index >= first && e.Index <= last {
			drawEntry(s, f, y, at(e.Index), m, e, digits)
		}
	}
	for i := max(m.Last+1, first); i <= last; i++ {
		a.Text(at(i)+1, 0, "·", theme.Muted)
	}
	drawStagedMessage(s, f, y, m)
}

// drawStagedMessage draws the newest message to a member that is under way, or the one that arrives, ends
// or is answered in this moment.
func drawStagedMessage(s *pane.Sheet, f *pane.Frame, y int, m *view.Member) {
	var newest *view.Message
	for _, msg := range f.S.Store.InFlight() {
		if msg.To == m.Name && (newest == nil || weighs(msg) >= weighs(newest)) {
			newest = msg
		}
	}
	for _, msg := range f.S.Store.InFlight() {
		if msg.To == m.Name && msg.Delivered == f.S.Last {
			newest = msg
		}
	}
	for _, msg := range f.S.Store.EndedMessages() {
		if msg.To == m.Name && msg.Ended == f.S.Last {
			newest = msg
		}
	}
	if newest == nil {
		return
	}
	text, st := inWords(newest)
	x := s.W() - stagedMessage + 2
	end := s.Row(y).Text(x, 0, text, st|grid.Bold)
	s.Mark(grid.Rect{X: x, Y: y, W: end - x, H: 1}, fmt.Sprintf("msg/%d", newest.Serial))
	s.Mark(grid.Rect{X: x, Y: y, W: end - x, H: 1}, "msg/to/"+m.Name)
}

// weighs says how much a message matters: heartbeats come all the time.
func weighs(m *view.Message) int {
	if m.RPC == "AppendEntries" && (m.Request == nil || len(m.Request.Entries) == 0) {
		return 0
	}
	return 1
}

// inWords is a message in one or two words, with an arrow that says which way it goes.
func inWords(m *view.Message) (string, grid.Style) {
	asks := map[string]string{
		"AppendEntries": "heartbeat", "RequestPreVote": "pre-vote?", "RequestVote": "vote?", "InstallSnapshot": "snapshot", "TimeoutNow": "lead now",
	}[m.RPC]
	if weighs(m) > 0 && m.RPC == "AppendEntries" {
		asks = "append"
	}
	switch {
	case m.Phase == "lost" && m.Answer != nil && strings.HasPrefix(m.Answer.Error, "it was overtaken"):
		return "✗ too late", theme.Bad // it arrived when its sender had given it up
	case m.Phase == "lost" && m.Came > 0:
		return "✗ answer", theme.Bad
	case m.Phase == "lost":
		return "✗ " + asks, theme.Bad
	case m.Came > 1 && m.Phase == "delivered":
		return "▷▷ " + asks, theme.Busy
	case m.Phase != "answered" || m.Answer == nil:
		return "▷ " + asks, theme.Busy
	case m.Answer.OK && (m.RPC == "RequestPreVote" || m.RPC == "RequestVote"):
		return "◁ yes", theme.Good
	case m.Answer.OK:
		return "◁ has it", theme.Good
	}
	return "◁ no", theme.Bad
}

// drawStagedLegend draws what the cells mean, in the last row.
func drawStagedLegend(s *pane.Sheet, f *pane.Frame, after int, commit, term uint64) {
	y := max(f.Rows-1, after)
	if y >= f.Rows {
		return
	}
	a := s.Row(y)
	x := a.Text(2, 0, fmt.Sprintf("[%d]", term), theme.Text|grid.Bold)
	x = a.Text(x+1, 0, "committed", theme.Muted)
	x = a.Text(x+3, 0, fmt.Sprintf(":%d:", term), theme.Text)
	x = a.Text(x+1, 0, "on disk", theme.Muted)
	x = a.Text(x+3, 0, fmt.Sprintf(".%d.", term), theme.Text)
	x = a.Text(x+1, 0, "written", theme.Muted)
	x += 3
	st, up := theme.Good, ""
	if q := f.S.Store.Quorum(); q.Total > 0 {
		up = fmt.Sprintf("%d of %d up", q.Have, q.Total)
		if !q.OK() {
			st = theme.Bad
		}
	}
	mark := fmt.Sprintf("▾ commit index %d", commit)
	if end := x + grid.Width(mark); end+1 < s.W()-2-grid.Width(up) { // else there is room for the quorum alone
		a.Text(x, 0, mark, theme.Good)
		s.Mark(grid.Rect{X: x, Y: y, W: end - x, H: 1}, "commit")
	}
	if up != "" {
		a.Right(s.W()-2, 0, up, st)
		s.Mark(grid.Rect{X: s.W() - 2 - grid.Width(up), Y: y, W: grid.Width(up), H: 1}, "quorum")
	}
}
