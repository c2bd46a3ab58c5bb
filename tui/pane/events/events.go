// Package events is the pane of the stream itself, drawn as a sequence diagram.
// One event a row, one column (lane) a component; an arrow leads from the lane
// of an event's cause to its own, one hop and no more, because whole chains
// cannot be read ("why?" shows them as a list).
//
// Start reading at [Events.Draw].
package events

import (
	"fmt"
	"sort"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Events is the pane.
type Events struct {
	pane.List
	raft   bool // show the raft lane whole
	up     int  // how many events the cursor is above the present one
	filter filtered
	rows   []uint64 // positions shown, oldest first
	at     string   // ID of the row under the cursor
	left   int      // columns of the event numbers; the rest begins there
}

var about = pane.Info{
	Name: "events", Title: "Events",
	Means: "Everything that happens, in one order. Each row is an event in the lane of the component it happened to; an arrow " +
		"comes from the lane of its cause. The row marked ▸ is where we are. Enter goes to the event under the cursor. The lanes: " +
		"client is the console and kubectl, controllers those of the controller manager, runtime the container runtime.",
	Legend: [][2]string{{"●", "an event without a cause: an input or a timer"}, {"├──▷", "caused by the lane where the arrow starts"}, {"◆", "caused by its own lane"}, {"▸", "the event we are at"}},
}

// New makes the pane.
func New() *Events {
	p := &Events{List: pane.NewList(about)}
	p.Key(keymap.Bind(keymap.Open, "go there", "Go to the moment of the event under the cursor.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		p.up = 0
		if on.Event.IsZero() {
			return nil
		}
		return action.Goto{ID: on.Event}
	})
	p.Key(keymap.Bind("events.raft", "chatter", "Show or hide the messages and disk writes of raft, Lease renewals, and writes of Kubernetes Events.", "r"), pane.Then(func() {
		p.raft, p.filter = !p.raft, filtered{}
	}))
	p.Key(keymap.Bind("events.object", "this object", "Show the object that the event is about.", "o"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if on.Ref.Name == "" {
			return action.Notice{Text: "this event is about no object"}
		}
		return action.Show{Ref: on.Ref}
	})
	return p
}

// Note implements [pane.Pane].
func (p *Events) Note(f *pane.Frame) string {
	n := fmt.Sprintf("%d so far", f.S.Events)
	if !p.raft {
		n += ", chatter hidden (r)"
	}
	return n
}

// Move implements [pane.Mover]: the cursor goes through all events there are.
func (p *Events) Move(dx, dy int, f *pane.Frame) bool {
	if dy == 0 {
		return true
	}
	p.up = max(p.up-dy, 0)
	return true
}

// At implements [pane.Pointer].
func (p *Events) At() string { return p.at }

// Select implements [pane.Pointer].
func (p *Events) Select(on pane.Subject, f *pane.Frame) {
	_, here, _ := f.H.Stream().At(f.S.Last)
	_, pos, ok := f.H.Stream().At(on.Event)
	if !ok {
		return
	}
	if pos > here {
		p.up = 0
		return
	}
	p.up = max(len(p.look(f, here, -1, 4096))-len(p.look(f, pos, -1, 4096)), 0)
}

// lanes are the columns, left to right: as a request flows.
var lanes = []string{"client", "apiserver", "store", "control", "scheduler", "kubelet", "runtime", "proxy", "network", "kviz"}

// laneOf is the column of a component.
func laneOf(l trace.Lane) int {
	switch l.Component {
	case trace.CompConsole, trace.CompClient:
		return 0
	case trace.CompAPIServer:
		return 1
	case trace.CompMember, "store":
		return 2
	case trace.CompScheduler:
		return 4
	case trace.CompKubelet:
		return 5
	case trace.CompRuntime, trace.CompRegistry:
		return 6
	case trace.CompProxy:
		return 7
	case trace.CompNet:
		return 8
	case trace.CompSimulation:
		return 9
	}
	return 3
}

func (p *Events) wants(f *pane.Frame, e *trace.Event) bool {
	if !p.raft && view.Routine(e) {
		return false
	}
	switch {
	case view.OfClock(e): // kviz' own clock is no part of the cluster: only who asks for it by its kind sees it
		return f.Filter != "" && !strings.HasPrefix(f.Filter, "!") && f.Match(string(e.Kind))
	case f.Filter == "":
		return true
	}
	return f.Match("#"+e.ID.String(), e.Lane.String(), string(e.Kind), e.Object.String(), view.Explain(e))
}

// Draw implements [pane.Pane].
func (p *Events) Draw(s *pane.Sheet, f *pane.Frame) {
	stream := f.H.Stream()
	_, here, ok := stream.At(f.S.Last)
	if !ok {
		s.Say(0, "Nothing has happened yet. Every event of the cluster appears here, oldest above, as soon as it boots.", theme.Muted)
		return
	}
	col, _ := columns(s.W(), 0)
	heads := 1
	if col > 0 { // the names of the lanes, turn about in two rows
		heads = 2
	}
	p.find(f, here, max(f.Rows-heads, 1))
	p.left = p.numbers(stream)
	times := timesAt(s.W(), p.left)
	p.left += times.w()
	_, text := columns(s.W(), p.left)
	header(s, col, p.left, text)
	times.header(s)
	var before *trace.Event
	for i, pos := range p.rows {
		if e := stream.Get(pos); e != nil {
			p.drawEvent(s, f, i+heads, e, pos == here, col, text)
			times.draw(s, i+heads, e, before)
			before = e
		}
	}
	if len(p.rows) == 0 {
		s.Say(1, "No event matches /"+f.Filter+". Esc in the filter shows all again; r shows the chatter too.", theme.Muted)
	}
}

// find chooses the positions to show: the cursor's event and what is before
// it; what follows the present event is shown too while we are in the past.
func (p *Events) find(f *pane.Frame, here uint64, rows int) {
	stream := f.H.Stream()
	p.rows = p.rows[:0]
	after := 0
	if !f.Live && here+1 < stream.Len() {
		after = min(rows/3, len(p.look(f, here+1, 1, rows/3)))
	}
	back := p.look(f, here, -1, rows+p.up)
	if p.up > len(back)-1 {
		p.up = max(len(back)-1, 0)
	}
	p.at = ""
	if len(back) > 0 {
		if e := stream.Get(back[p.up]); e != nil {
			p.at = "#" + e.ID.String()
		}
	}
	if p.up > rows-after-2 {
		skip := p.up - (rows - after - 2)
		back = back[min(skip, len(back)):]
		after = 0
		back = back[:min(rows, len(back))]
	} else {
		back = back[:min(rows-after, len(back))]
	}
	for i := len(back) - 1; i >= 0; i-- {
		p.rows = append(p.rows, back[i])
	}
	if left := rows - len(p.rows); left > 0 && !f.Live && here+1 < stream.Len() && after > 0 {
		p.rows = append(p.rows, p.look(f, here+1, 1, left)...)
	}
}

// look collects up to n positions that are wanted, from pos in a direction.
func (p *Events) look(f *pane.Frame, pos uint64, dir, n int) []uint64 {
	return p.filter.look(p, f, pos, dir, n)
}

// filtered remembers which events a filter lets through, so that a long
// stream is judged once.
type filtered struct {
	filter   string
	raft     bool
	from, to uint64 // positions judged
	hits     []uint64
}

// atOnce bounds how many events are judged for one drawing.
const atOnce = 30_000

func (x *filtered) look(p *Events, f *pane.Frame, pos uint64, dir, n int) []uint64 {
	stream := f.H.Stream()
	if x.filter != f.Filter || x.raft != p.raft || x.to == 0 || pos > x.to+atOnce || x.to < stream.Oldest() {
		start := max(stream.Oldest(), pos-min(pos, atOnce/2))
		*x = filtered{filter: f.Filter, raft: p.raft, from: start, to: start}
	}
	end := min(stream.Len(), max(pos+1, x.to))
	if dir > 0 {
		end = min(stream.Len(), pos+4096)
	}
	for ; x.to < end; x.to++ {
		if e := stream.Get(x.to); e != nil && p.wants(f, e) {
			x.hits = append(x.hits, x.to)
		}
	}
	at := sort.Search(len(x.hits), func(i int) bool { return x.hits[i] > pos })
	for judged := 0; dir < 0 && at < n && x.from > stream.Oldest() && judged < atOnce; judged += 2048 {
		old := x.from
		x.from -= min(x.from-stream.Oldest(), 2048)
		var more []uint64
		for q := x.from; q < old; q++ {
			if e := stream.Get(q); e != nil && p.wants(f, e) {
				more = append(more, q)
			}
		}
		x.hits = append(more, x.hits...)
		at += len(more)
	}
	var out []uint64
	if dir < 0 {
		for i := at - 1; i >= 0 && len(out) < n; i-- {
			out = append(out, x.hits[i])
		}
		return out
	}
	for i := sort.Search(len(x.hits), func(i int) bool { return x.hits[i] >= pos }); i < len(x.hits) && len(out) < n; i++ {
		out = append(out, x.hits[i])
	}
	return out
}

// numbers is how wide the column of the numbers must be for the rows shown.
func (p *Events) numbers(stream *trace.Stream) int {
	w := 8
	for _, pos := range p.rows {
		if e := stream.Get(pos); e != nil {
			w = max(w, len(e.ID.String())+2)
		}
	}
	return w
}

// columns gives the width of a lane and where the text begins; 0 for no lanes.
func columns(w, left int) (lane, text int) {
	switch {
	case w >= 190:
		lane = 8
	case w >= 96:
		lane = 5
	default:
		return 0, left
	}
	return lane, left + lane*len(lanes)
}

func header(s *pane.Sheet, col, left, text int) {
	a := s.Row(0)
	a.Text(1, 0, "event", theme.Muted)
	if col == 0 {
		a.Text(left, 0, grid.Pad("who", whoWidth(s.W()))+" what", theme.Muted)
		return
	}
	for i, name := range lanes {
		s.Row(i%2).Text(left+i*col, 0, name, theme.Term(uint64(i)))
	}
	a.Text(text, 0, "what happened", theme.Muted)
}

func (p *Events) drawEvent(s *pane.Sheet, f *pane.Frame, y int, e *trace.Event, here bool, col, text int) {
	a := s.Row(y)
	num, body := theme.Event, theme.Text
	if e.ID.Compare(f.S.Last) > 0 {
		num, body = theme.Muted, theme.Muted // it lies ahead of where we are
	}
	if here {
		a.Put(0, 0, '▸', theme.Accent|grid.Bold)
		num |= grid.Bold
		body |= grid.Bold
	}
	a.Text(1, 0, e.ID.String(), num)
	say := view.Explain(e)
	if e.Kind == trace.PacketHop { // what it met, not once more which packet
		if _, met, ok := strings.Cut(say, " meets "); ok {
			say = met
		}
	}
	if col == 0 {
		lane := laneOf(e.Lane)
		w := whoWidth(s.W())
		a.Fit(p.left, 0, w, who(e.Lane), theme.Term(uint64(lane)))
		at := p.left + w + 1
		a.Fit(at, 0, s.W()-at, say, body)
	} else {
		p.drawLanes(a, f, e, col)
		who := e.Lane.Instance
		if laneOf(e.Lane) == 3 {
			who = pane.Abbreviate(e.Lane.Component)
		}
		x := text
		if who != "" && s.W()-text > 40 && !strings.Contains(say, who) {
			x = a.Text(x, 0, who+" ", theme.Name&0xff)
		}
		a.Fit(x, 0, s.W()-x, say, body)
	}
	s.Hot(0, y, s.W(), pane.Subject{
		ID: "#" + e.ID.String(), Event: e.ID, Ref: e.Object, Kind: e.Kind, Target: target(e.Lane),
		Words: "#" + e.ID.String() + " " + e.Lane.String() + ": " + say, Copy: "#" + e.ID.String() + " " + e.Lane.String() + " " + string(e.Kind) + " " + say,
	})
}

// whoWidth is the width of the column that says who did it, where there are no lanes.
func whoWidth(w int) int { return min(max(w/5, 7), 16) }

// who is a lane's name in one column.
func who(l trace.Lane) string {
	switch {
	case laneOf(l) == 1 && l.Instance == "":
		return "API server"
	case l.Component == trace.CompMember || l.Component == trace.CompAPIServer:
		return l.Component + " " + l.Instance
	case l.Instance != "" && laneOf(l) != 3 && l.Instance != l.Component:
		return l.Instance + " " + l.Component
	}
	return pane.Abbreviate(l.Component)
}

func (p *Events) drawLanes(a grid.Area, f *pane.Frame, e *trace.Event, col int) {
	own := laneOf(e.Lane)
	for i := range lanes {
		a.Put(p.left+i*col+1, 0, '┊', theme.Line)
	}
	st := theme.Term(uint64(own)) | grid.Bold
	glyph := '●'
	from := -1
	for _, c := range e.Causes {
		if ce := f.H.Event(c); ce != nil {
			from = laneOf(ce.Lane)
		}
	}
	switch {
	case from == own:
		glyph = '◆'
	case from >= 0:
		x0, x1 := p.left+from*col+1, p.left+own*col+1
		line := theme.Cause &^ grid.Bold
		if x0 < x1 {
			a.Put(x0, 0, '├', line)
			for x := x0 + 1; x < x1; x++ {
				a.Put(x, 0, '─', line)
			}
			glyph = '▷'
		} else {
			a.Put(x0, 0, '┤', line)
			for x := x1 + 1; x < x0; x++ {
				a.Put(x, 0, '─', line)
			}
			glyph = '◁'
		}
	}
	a.Put(p.left+own*col+1, 0, glyph, st)
}

func target(l trace.Lane) string {
	switch l.Component {
	case trace.CompMember, trace.CompKubelet, trace.CompProxy, trace.CompRuntime:
		if l.Instance != "" {
			return l.Component + "/" + l.Instance
		}
	case trace.CompScheduler, trace.CompAPIServer, trace.CompKCM, trace.CompCCM:
		return l.Component
	}
	if strings.HasSuffix(l.Component, "-controller") {
		return view.Manager(l.Component)
	}
	return ""
}
