package store

import (
	"fmt"
	"time"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawRaft draws what the members have and what goes on between them.
func (p *Store) drawRaft(s *pane.Sheet, f *pane.Frame, y int) int {
	legend := f.Rows >= 24 && len(f.S.Store.Members()) > 0
	y = p.drawAlarms(s, f, drawLogs(s, f, y, legend))
	if legend {
		y = s.Legend(y, [2]string{"[1]", "committed"}, [2]string{":1:", "on disk"}, [2]string{".1.", "written"}, [2]string{"▾", "commit"},
			[2]string{"^", "matchIndex"}, [2]string{">", "nextIndex"}, [2]string{"digit", "term"})
	}
	y = drawQuorum(s, f, y)
	y = drawVotes(s, f, y)
	y = drawRefused(s, f, y)
	most := 5
	if s.Columns() { // beside the keys: to the end of the window
		most = max(f.Rows-y-1, 5)
	}
	return drawMessages(s, f, y, most)
}

// drawQuorum says what it means that too few members are up, or that none
// leads.
func drawQuorum(s *pane.Sheet, f *pane.Frame, y int) int {
	q := pane.Known(f.S)
	switch {
	case q.Total == 0:
		return y
	case !q.OK() && f.S.Store.Quorum().OK():
		return s.Say(y, fmt.Sprintf("No quorum: of %d voters %s, %d are needed. Nothing can be committed; writes wait, then fail.", q.Total, together(q.Have), q.Need), theme.Bad)
	case !q.OK():
		return s.Say(y, fmt.Sprintf("No quorum: %d of %d members are up, %d are needed. Nothing can be committed; writes wait, then fail.", q.Have, q.Total, q.Need), theme.Bad)
	case f.S.Store.Leader == "":
		return s.Say(y, "No leader: an election is due. Writes wait until a member has the votes of a quorum.", theme.Warn)
	}
	return y
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
		w += fmt.Sprintf(" Its database has %s; %s of it are in use.", words.Bytes(int(m.DBSize)), words.Bytes(int(m.DBInUse)))
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
	voted := m.VotedFor == m.Name && m.VotedTerm == m.Term
	return m.Role == "candidate" && (!voted || asks(f.S.Store.InFlight()) || asks(f.S.Store.EndedMessages()))
}
