package student

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// away is where a student is who looks around: at another pane, or another event of the same run. It reads the history that
// the teacher's run has, and nothing else.
type away struct {
	host *pane.Host
	no   int    // of the pane, from 0
	pos  uint64 // how many events are before it
}

// lookAround goes from the class's picture to a pane, at the event where the class is, or where the student was.
func (m *Model) lookAround(no int) {
	if no >= len(m.cfg.Panes) || m.scene.Stand.History == nil || m.look.Beat == nil {
		return
	}
	pos, _ := m.stage.Where()
	if m.away != nil {
		pos = m.away.pos
	}
	m.away = &away{host: pane.NewHost(m.cfg.Panes[no](), ""), no: no, pos: pos}
}

// walk goes on by events, back for a negative number. What the run has not come to on the stage is not shown: it would give
// answers away.
func (m *Model) walk(by int) {
	if m.look.Beat == nil || m.scene.Stand.History == nil {
		return
	}
	most, _ := m.stage.Where()
	if m.away == nil {
		m.lookAround(m.shown())
	}
	if m.away == nil {
		return
	}
	pos := int64(m.away.pos) + int64(by)
	m.away.pos = uint64(min(max(pos, 1), int64(most)))
}

// shown is the number of the pane on the stage.
func (m *Model) shown() int {
	for i, make := range m.cfg.Panes {
		if make().Info().Name == m.stage.Pane() {
			return i
		}
	}
	return 0
}

// drawAway draws the pane that is looked at.
func (m *Model) drawAway(g *grid.Grid) {
	a := g.Area()
	a.Clear()
	h := m.scene.Stand.History
	st := h.At(m.away.pos - 1)
	if st == nil { // it has left memory
		_, st = m.stage.Where()
	}
	x := a.Text(1, 0, "you look around", theme.Title)
	a.Text(x+2, 0, "f follows "+m.cfg.Teacher+" again", theme.Muted)
	a.Right(a.W()-1, 0, "#"+st.Last.String(), theme.Past)
	in := grid.Rect{X: 0, Y: 1, W: a.W(), H: max(a.H()-3, 0)}
	m.away.host.Dirty()
	m.away.host.Draw(g, in, pane.Frame{S: st, H: h})
	a.Spans(1, a.H()-2, markup.Line(explained(st.Event), theme.Text)...)
	m.drawKeys(a)
}

func explained(e *trace.Event) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("#%s  %s", e.ID, view.Explain(e))
}
