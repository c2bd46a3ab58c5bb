package apipipe

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// table is where the columns of the list of requests are.
type table struct {
	w, cols int  // width; columns a stage
	stages  int  // where the stages begin
	client  int  // where the client stands, 0 for nowhere
	took    bool // say how long it took
}

func columns(w int) table {
	t := table{w: w, cols: 1}
	switch {
	case w >= 160:
		t.cols, t.client, t.took = 7, 70, true
	case w >= 110:
		t.cols, t.took = 6, true
	case w >= 100:
		t.cols = 6
	case w >= 70:
		t.cols, t.took = 3, true
	case w >= 48:
		t.cols = 2
	}
	t.stages = w - len(trace.Stages())*t.cols - 5
	if t.took {
		t.stages -= 7
	}
	return t
}

func (t table) header(s *pane.Sheet) int {
	a := s.Row(0)
	a.Text(1, 0, "request", theme.Muted)
	if t.client > 0 {
		a.Text(t.client, 0, "from", theme.Muted)
	}
	for i, st := range trace.Stages() {
		if t.cols >= 6 {
			s.Row(i%2).Text(t.stages+i*t.cols, 0, short[st], theme.Muted)
		}
	}
	if t.cols == 3 {
		a.Text(t.stages, 0, "authentication … storage", theme.Muted)
	}
	s.Mark(grid.Rect{X: t.stages, Y: 0, W: len(trace.Stages())*t.cols + t.heads() - 1, H: t.heads()}, "stages") // the last name is longer than its column
	if t.cols < 3 {
		a.Text(t.stages, 0, "stages", theme.Muted)
	}
	if t.took {
		a.Right(s.W()-5, 0, "took", theme.Muted)
	}
	a.Right(s.W(), 0, "code", theme.Muted)
	return t.heads()
}

// heads is how many rows the names of the columns take: those of the stages stand turn about in two.
func (t table) heads() int {
	if t.cols >= 6 {
		return 2
	}
	return 1
}

// fromRoom is in how many columns there is room for what is asked and for whose request it is.
const fromRoom = 28

func (t table) request(s *pane.Sheet, f *pane.Frame, y int, r *view.Request, chosen bool) {
	a := s.Row(y)
	st := theme.Text
	if f.Fresh(r.Received) || view.RequestOf(f.Event()) == r.Request.Request {
		st |= grid.Fresh
	}
	if chosen {
		a.Put(0, 0, '▸', theme.Accent)
	}
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	key := r.Name
	switch {
	case key == "":
		key = r.Namespace // the server makes the name up, or it is about all
	case r.Namespace != "":
		key = r.Namespace + "/" + key
	}
	room := t.stages - 1
	if t.client > 0 {
		room = t.client - 1
		a.Fit(t.client, 0, t.stages-t.client-1, r.Client, theme.Muted)
	}
	if at := strings.TrimPrefix(r.Server, trace.CompAPIServer); at != "" && t.client == 0 { // another server than the first: "/b"
		a.Right(room, 0, at, theme.Busy)
		room -= grid.Width(at) + 1
	} else if at != "" {
		a.Right(t.stages-1, 0, at, theme.Busy)
	}
	if t.client == 0 && room >= fromRoom {
		client := grid.CutLeft(pane.Abbreviate(r.Client), room/4)
		a.Right(room, 0, "← "+client, theme.Muted)
		room -= grid.Width(client) + 3
	}
	line := a.Sub(0, 0, room, 1)
	x := line.Text(1, 0, r.Verb, theme.Accent&0xff|st&grid.Fresh)
	x = line.Text(max(x, 7)+1, 0, name, theme.Name|st&grid.Fresh)
	if left := room - x - 1; left > 6 { // the end tells objects of a workload apart
		key = grid.CutLeft(key, left)
	}
	line.Text(x+1, 0, key, st)
	drawStages(a, f, r, t.stages, t.cols)
	for i, st := range trace.Stages() { // a lesson points at one stage of one request
		s.Mark(grid.Rect{X: t.stages + i*t.cols, Y: y, W: 1, H: 1}, requestID(r)+"#"+st)
	}
	if t.took && r.Done {
		a.Right(s.W()-5, 0, words.Dur(r.Took), theme.Number)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r), Event: latest(r), Ref: refOf(r), Kind: trace.RequestReceived, Words: describe(r), Copy: r.Path, Value: by(r.User)})
}
