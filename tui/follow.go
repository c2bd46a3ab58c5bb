package tui

import (
	"strings"

	"kviz/cluster/trace"
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
		switch p := e.Payload.(type) {
		case *trace.Command:
			if e.Kind == trace.CommandStart && !strings.HasPrefix(p.Line, "kviz") { // which drives the cluster; what it breaks has a mark of its own
				m.drive.Follow(drive.Followed{ID: e.ID, Words: p.Line})
			}
		case *trace.Fault:
			// What members do has no causes that could be followed: it is stepped by the grain raft.
			if !strings.HasPrefix(p.Target, "member/") && !strings.HasPrefix(p.Target, "store") {
				m.drive.Follow(drive.Followed{ID: e.ID, Words: p.Fault + " " + p.Target})
			}
		}
		m.mine.from = mark.Pos + 1
	}
}
