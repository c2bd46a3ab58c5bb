package menu

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// laneOrder are the lanes of the picture, in the order of the map.
var laneOrder = []string{"you", "API", "store", "ctl", "sched", "kubelet", "runtime", "proxy", "net", "kviz", "other"}

// mostLanes is how many lanes there are at most: the rarest of more share one.
const mostLanes = 8

// laneOf is the lane that an event is drawn in.
func laneOf(e *trace.Event) string {
	if e == nil {
		return "other"
	}
	switch c := e.Lane.Component; c {
	case trace.CompConsole, trace.CompClient:
		return "you"
	case trace.CompAPIServer:
		return "API"
	case trace.CompStore, trace.CompMember:
		return "store"
	case trace.CompScheduler:
		return "sched"
	case trace.CompKubelet, trace.CompRuntime, trace.CompProxy, trace.CompNet:
		return c
	case trace.CompSimulation:
		return "kviz"
	default:
		if c == trace.CompKCM || c == trace.CompCCM || c == trace.CompDNS || strings.HasSuffix(c, "-controller") || strings.HasPrefix(c, "csi-") {
			return "ctl"
		}
	}
	return "other"
}

// waited is from how long on the time between two causes has a row of its own.
const waited = time.Second

// lanes draws a chain of causes, oldest first: a column for each place, and an arrow from
// cause to effect.
type lanes struct {
	names []string
	apart int
}

// newLanes has the lanes that occur in a chain, and in the plumbing that can be opened
// between its rows: no lane moves when it is. The rarest in the chain are the first to
// share one.
func newLanes(chain, plumbing []view.Link, w int) *lanes {
	occurs, count := map[string]bool{}, map[string]int{}
	for _, l := range plumbing {
		occurs[laneOf(l.Event)] = true
	}
	for _, l := range chain {
		occurs[laneOf(l.Event)] = true
		count[laneOf(l.Event)]++
	}
	var names []string
	for _, n := range laneOrder {
		if occurs[n] {
			names = append(names, n)
		}
	}
	for len(names) > mostLanes {
		rarest := 0
		for i, n := range names {
			if count[n] < count[names[rarest]] && n != "other" {
				rarest = i
			}
		}
		names = slices.Delete(names, rarest, rarest+1)
		if !slices.Contains(names, "other") {
			names = append(names, "other")
		}
	}
	apart := 8
	switch { // the words beside need room too
	case w < 110, len(names) > 6:
		apart = 5
	case len(names) > 4:
		apart = 6
	}
	return &lanes{names, apart}
}

// column is where the lane of an event is drawn.
func (l *lanes) column(e *trace.Event) int {
	i := slices.Index(l.names, laneOf(e))
	if i < 0 {
		i = len(l.names) - 1
	}
	return 2 + i*l.apart
}

// width is how many columns the lanes take.
func (l *lanes) width() int { return 2 + (len(l.names)-1)*l.apart + 2 }

// head names the lanes over them.
func (l *lanes) head() string {
	row := []rune(strings.Repeat(" ", l.width()+l.apart))
	for i, n := range l.names {
		n = n[:min(len(n), l.apart-1)]
		copy(row[max(2+i*l.apart-len(n)/2, 0):], []rune(n))
	}
	return strings.TrimRight(string(row), " ")
}

// row draws the way from the cause before to an event: the question is ◉.
func (l *lanes) row(before, e *trace.Event, asked bool) string {
	row := l.still('│')
	at := l.column(e)
	if before != nil {
		from := l.column(before)
		for x := min(from, at) + 1; x < max(from, at); x++ {
			if row[x] = '─'; (x-2)%l.apart == 0 {
				row[x] = '┼'
			}
		}
		switch {
		case from < at:
			row[from], row[at-1] = '╰', '▶'
		case from > at:
			row[from], row[at+1] = '╯', '◀'
		}
	}
	if row[at] = '●'; asked {
		row[at] = '◉'
	}
	return string(row)
}

// gap draws the lanes while nothing happens but in that of one.
func (l *lanes) gap(of *trace.Event) string {
	row := l.still('┆')
	row[l.column(of)] = '┃'
	return string(row)
}

// beside draws an event that is not of the chain: no arrow leads to it.
func (l *lanes) beside(e *trace.Event) string {
	row := l.still('│')
	row[l.column(e)] = '·'
	return string(row)
}

func (l *lanes) still(r rune) []rune {
	row := []rune(strings.Repeat(" ", l.width()))
	for i := range l.names {
		row[2+i*l.apart] = r
	}
	return row
}

// stamp is the number of an event and the time since the one before.
func stamp(id, since string) string { return grid.Pad(id, 9) + grid.PadLeft(since, 8) + " " }

// Lanes is the chain of causes of an event as a picture, the oldest first, with the
// question last and under the cursor, for a screen of w columns, below the answers that there
// are; nil if there is no such event.
func Lanes(h *view.History, id trace.ID, w int, reasons []view.Reason, others ...trace.ID) overlay.Overlay {
	asked := h.Event(id)
	all := h.Why(id)
	c := newChain(all)
	if asked == nil || len(c.rows) < 2 { // nothing to draw an arrow between
		return Why(h, id, reasons, others...)
	}
	links := make([]view.Link, len(c.rows))
	for i, r := range c.rows {
		links[i] = r.Link
	}
	c.lanes = newLanes(links, all, w)
	c.Picker = &overlay.Picker{Wide: true, Intro: answer(reasons), Head: stamp("", "") + c.lanes.head()}
	if first := c.rows[0].Event; first != nil {
		c.Title = fmt.Sprintf("Why #%s?  %s in %s, oldest first", id, words.Count(len(c.rows)-1, "cause"), words.Dur(asked.At-first.At))
	}
	if then := h.Followed(id); len(then) > 0 {
		it := overlay.Item{Label: fmt.Sprintf("and then (%d)", len(then)), Key: "f", Style: theme.Title, Do: action.Goto{ID: then[0]}}
		if e := h.Event(then[0]); e != nil {
			it.Note = "#" + then[0].String() + " " + e.Lane.String() + "  " + view.Explain(e)
		}
		c.tail = append(c.tail, it)
	}
	c.tail = append(c.tail, overlay.Item{Label: "the same as a list, with all that followed", Key: "v", Style: theme.Muted, Do: action.WhyList{ID: id}})
	for _, other := range others {
		if e := h.Event(other); e != nil && other != id {
			c.tail = append(c.tail, overlay.Item{Label: "rather: why #" + other.String() + "?", Note: view.Explain(e), Style: theme.Muted, Do: action.Why{ID: other}})
		}
	}
	c.draw(len(c.rows)-1, trace.ID{})
	return c
}
