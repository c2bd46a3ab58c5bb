package clustermap

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/scene"
)

// lookBack is how many events are looked at for the last one that went over a line.
const lookBack = 20000

// Touch implements [pane.Toucher]: a click on a line puts the cursor on what went over it last.
// Where several lines lie on each other, it is the one of them that something went over last.
func (m *Map) Touch(x, y int, f *pane.Frame) string {
	m.touched = nil
	if m.View().Name != "picture" || m.scene == nil {
		return ""
	}
	lines := m.linesAt(x, y)
	if len(lines) == 0 {
		return ""
	}
	line, e := m.lastOver(lines, f)
	m.touched = over(m.scene.Edges[line], e)
	return m.touched.ID
}

// linesAt are the ways on which a cell lies; of those that are drawn nowhere none.
func (m *Map) linesAt(x, y int) (lines []int) {
	for i, e := range m.scene.Edges {
		if i < len(m.lights) && m.lights[i] != scene.Hidden && slices.ContainsFunc(e.Cells, func(c scene.Cell) bool { return c.X == x && c.Y == y }) {
			lines = append(lines, i)
		}
	}
	return lines
}

// lastOver is the last event that went over one of some lines, and which; one of the routine that
// never ends only where there is no other. Without any it is the first line, and nil.
func (m *Map) lastOver(lines []int, f *pane.Frame) (line int, last *trace.Event) {
	line = lines[0]
	if f.H == nil {
		return line, nil
	}
	stream := f.H.Stream()
	_, at, ok := stream.At(f.S.Last)
	if !ok {
		return line, nil
	}
	for pos, n := at+1, 0; pos > stream.Oldest() && n < lookBack; n++ {
		pos--
		e := stream.Get(pos)
		if e == nil {
			break
		}
		l, ok := motion.Of(e, f.S)
		if !ok || l.To == "" || last != nil && l.Rank == motion.Routine {
			continue
		}
		i, _, ok := m.scene.Way(l.From, l.To)
		if !ok || !slices.Contains(lines, i) {
			continue
		}
		if l.Rank != motion.Routine {
			return i, e
		}
		line, last = i, e
	}
	return line, last
}

// over is what the cursor finds on a line.
func over(way scene.Edge, e *trace.Event) *pane.Subject {
	from, to := placeName(way.From), placeName(way.To)
	on := &pane.Subject{ID: "line/" + way.From + "/" + way.To, Value: way.Class}
	if e == nil {
		on.Words = fmt.Sprintf("Nothing has gone between %s and %s yet.", from, to)
		return on
	}
	on.Event, on.Kind, on.Value = e.ID, e.Kind, listed(way.Class, e)
	on.Words = fmt.Sprintf("Last between %s and %s: #%s %s.", from, to, e.ID, view.Explain(e))
	return on
}

// placeName is a place as one says it.
func placeName(id string) string {
	switch id {
	case scene.APIServer:
		return "the API server"
	case scene.Controllers:
		return "the controllers"
	case scene.Scheduler:
		return "the scheduler"
	case scene.Servers:
		return "the servers beside it"
	case scene.Nodes:
		return "the nodes"
	case scene.Store:
		return "the store"
	}
	if service, ok := strings.CutPrefix(id, "svc/"); ok {
		return "Service " + service
	}
	if volume, ok := strings.CutPrefix(id, "vol/"); ok {
		return "volume " + volume
	}
	if member, ok := strings.CutPrefix(id, "member/"); ok {
		return "member " + member
	}
	return strings.TrimPrefix(id, "node/")
}

// listed is the list in which an event stands that went over a line, with the cursor on it.
func listed(class scene.Class, e *trace.Event) action.Focus {
	request := func(n uint64) action.Focus {
		return action.Focus{Pane: "api", Do: pane.Requests, On: fmt.Sprintf("req/%d", n)}
	}
	switch x := e.Payload.(type) {
	case *trace.Request:
		return request(x.Request)
	case *trace.Stage:
		return request(x.Request)
	case *trace.Response:
		return request(x.Request)
	case *trace.WatchEvent:
		return action.Focus{Pane: "api", Do: pane.Watches, On: fmt.Sprintf("watch/%d", x.Watch)}
	}
	return listOf(class)
}

// listOf is the list of what goes over lines of a class.
func listOf(class scene.Class) action.Focus {
	switch class {
	case scene.Watches:
		return action.Focus{Pane: "api", Do: pane.Watches}
	case scene.Raft:
		return action.Focus{Pane: "store", Do: pane.Members}
	case scene.Attaches:
		return action.Focus{Pane: "node"}
	case scene.Selects:
		return action.Focus{Pane: "network"}
	}
	return action.Focus{Pane: "api", Do: pane.Requests}
}

// openLine opens the list of what goes over a line.
func openLine(on pane.Subject) action.Action {
	switch v := on.Value.(type) {
	case action.Focus:
		return v
	case scene.Class:
		return listOf(v)
	}
	return on.Open()
}

// touchedLine is the line on which the cursor is, as a thing: where it runs in a row for the
// longest. Once the cursor has left it, it is a line like any other.
func (m *Map) touchedLine(p *picture) {
	m.lights = m.lights[:0]
	for _, l := range p.Lines {
		m.lights = append(m.lights, l.Light)
	}
	on := m.touched
	if on == nil || p.f.Cursor != on.ID {
		m.touched = nil
		return
	}
	for _, e := range p.Edges {
		if "line/"+e.From+"/"+e.To != on.ID {
			continue
		}
		x, y, w := longest(e.Cells)
		p.s.Hot(x, y, w, *on)
		return
	}
}

// longest is the longest part of a way that runs in a row.
func longest(cells []scene.Cell) (x, y, w int) {
	for i := 0; i < len(cells); {
		k := i
		for k+1 < len(cells) && cells[k+1].Y == cells[i].Y {
			k++
		}
		if left := min(cells[i].X, cells[k].X); k-i+1 > w {
			x, y, w = left, cells[i].Y, k-i+1
		}
		i = k + 1
	}
	return x, y, w
}
