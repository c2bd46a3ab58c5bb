package tui

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/drive"
)

// followed is from where in the trace commands and faults are this person's, who has just
// typed or chosen one.
type followed struct {
	armed bool
	from  uint64
}

// arm has the next command or fault in the trace followed by steps.
func (m *Explorer) arm() { m.mine = followed{armed: true, from: m.history().Stream().Len()} }

// follow finds what the person has done in the meantime.
func (m *Explorer) follow() {
	if !m.mine.armed {
		return
	}
	stream := m.history().Stream()
	for _, mark := range m.travel.Marks() {
		if mark.Pos < m.mine.from {
			continue
		}
		e := stream.Get(mark.Pos)
		if e == nil {
			continue
		}
		if words := leads(e); words != "" {
			m.drive.Follow(drive.Followed{ID: e.ID, Words: words})
		}
		m.mine.from = mark.Pos + 1
	}
}

// leads says what an event was, if it is a command or a fault whose effects a step can
// follow.
func leads(e *trace.Event) (words string) {
	switch p := e.Payload.(type) {
	case *trace.Command:
		if e.Kind == trace.CommandStart && !strings.HasPrefix(p.Line, "kviz") { // which drives the cluster; what it breaks has a mark of its own
			return p.Line
		}
	case *trace.Fault:
		// What members do has no causes that could be followed: it is stepped by the grain raft.
		if !strings.HasPrefix(p.Target, "member/") && !strings.HasPrefix(p.Target, "store") {
			return p.Fault + " " + p.Target
		}
	}
	return ""
}

// along goes on in the past along what came of a command; when that is over, to the next
// command.
func (m *Explorer) along(of *trace.Event, least trace.Grain) action.Action {
	if m.travel.Along(of.ID, least) {
		return nil
	}
	at, stream := m.travel.Where().At, m.history().Stream()
	for _, mark := range m.travel.Marks() {
		if e := stream.Get(mark.Pos); mark.Pos > at && e != nil && leads(e) != "" {
			m.travel.To(mark.Pos)
			return action.Notice{Text: "nothing more came of #" + of.ID.String() + "; here begins: " + leads(e)}
		}
	}
	return action.Notice{Text: "nothing more came of #" + of.ID.String() + ", " + leads(of) + ", up to now; s chooses a step by events"}
}

// followed is whose effects a step goes along, live or in the past.
func (m *Explorer) followed() drive.Followed {
	if !m.travel.Past() {
		return m.drive.Followed()
	}
	if of := m.behind(); of != nil && m.drive.Along() {
		return drive.Followed{ID: of.ID, Words: leads(of)}
	}
	return drive.Followed{}
}

// behind is the newest command or fault before where we stand in the past whose effects a
// step can follow; nil if there is none.
func (m *Explorer) behind() *trace.Event {
	marks, at, stream := m.travel.Marks(), m.travel.Where().At, m.history().Stream()
	for _, mark := range slices.Backward(marks) {
		if mark.Pos > at {
			continue
		}
		if e := stream.Get(mark.Pos); e != nil && leads(e) != "" {
			return e
		}
	}
	return nil
}
