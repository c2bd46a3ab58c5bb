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
		if c == trace.CompKCM || c == trace.CompDNS || strings.HasSuffix(c, "-controller") {
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

// newLanes has the lanes that occur in a chain.
func newLanes(chain []view.Link, w int) *lanes {
	count := map[string]int{}
	for _, l := range chain {
		count[laneOf(l.Event)]++
	}
	var names []string
	for _, n := range laneOrder {
		if count[n] > 0 {
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
	case w < 110:
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
// question last and under the cursor, for a screen of w columns; nil if there is no such
// event.
func Lanes(h *view.History, id trace.ID, w int, others ...trace.ID) overlay.Overlay {
	asked := h.Event(id)
	chain := h.Chain(id)
	if asked == nil || len(chain) < 2 { // nothing to draw an arrow between
		return Why(h, id, others...)
	}
	slices.Reverse(chain)
	l := newLanes(chain, w)
	var first, before *trace.Event
	p := &overlay.Picker{Wide: true, Head: stamp("", "") + l.head()}
	for _, link := range chain {
		e := link.Event
		it := overlay.Item{Style: theme.Event, Do: action.Goto{ID: link.ID}}
		since := ""
		switch {
		case e == nil:
			it.Off = "This event is older than what the trace has in memory."
			since = "?"
		case before == nil:
			first = e
		default:
			took := e.At - before.At
			since = "+" + words.Dur(took)
			if took > waited {
				p.Items = append(p.Items, overlay.Item{Label: stamp("", words.Dur(took)) + l.gap(e), Style: theme.Muted, Note: "meanwhile: " + e.Lane.String()})
			}
		}
		it.Label = stamp("#"+link.ID.String(), since)
		if e != nil {
			it.Label += l.row(before, e, link.ID == id)
			it.Note = view.Explain(e)
			it.Detail = e.Lane.String() + ": " + view.Explain(e)
			before = e
		}
		p.Items = append(p.Items, it)
	}
	question := len(p.Items) - 1
	if first != nil {
		p.Title = fmt.Sprintf("Why #%s?  %s in %s, oldest first", id, words.Count(len(chain)-1, "cause"), words.Dur(asked.At-first.At))
	}
	if all := h.Why(id); len(all) > len(chain) {
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("… all %d causes, with queues, stages and caches", len(all)-1), Key: "a", Style: theme.Muted, Do: action.AllCauses{ID: id}})
	}
	if then := h.Followed(id); len(then) > 0 {
		it := overlay.Item{Label: fmt.Sprintf("and then (%d)", len(then)), Key: "f", Style: theme.Title, Do: action.Goto{ID: then[0]}}
		if e := h.Event(then[0]); e != nil {
			it.Note = "#" + then[0].String() + " " + e.Lane.String() + "  " + view.Explain(e)
		}
		p.Items = append(p.Items, it)
	}
	p.Items = append(p.Items, overlay.Item{Label: "the same as a list, with all that followed", Key: "v", Style: theme.Muted, Do: action.WhyList{ID: id}})
	for _, other := range others {
		if e := h.Event(other); e != nil && other != id {
			p.Items = append(p.Items, overlay.Item{Label: "rather: why #" + other.String() + "?", Note: view.Explain(e), Style: theme.Muted, Do: action.Why{ID: other}})
		}
	}
	p.Select(question)
	return p
}
