package store

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawMessages lists the last messages, at most so many.
func drawMessages(s *pane.Sheet, f *pane.Frame, y, most int) int {
	all := append(f.S.Store.EndedMessages(), f.S.Store.InFlight()...)
	if len(all) == 0 {
		return y
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
