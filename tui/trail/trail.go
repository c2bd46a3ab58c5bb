// Package trail follows the effects of the user's newest command across the picture of
// the cluster: the paths that they have taken and the places that they have reached,
// until the next command.
//
// Start reading at [Trail.Update], then [Walk] (what is drawn of it).
package trail

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/scene"
)

// Stop is a station of a command: the causes that follow one another at one place.
type Stop struct {
	Place, Word string
	Event       trace.ID // the newest of them
	More        int      // objects that went the same way beside the first: the second of two pods
	at          uint64   // position of the first
}

// Walk is how far a command has come. It is not changed once it is made.
type Walk struct {
	Version uint64
	Line    string      // the command
	Event   trace.ID    // with which it began
	Ways    [][2]string // from place to place, as package scene calls them
	Stops   []Stop
	Reached int           // so many of the stops; those after them are known from later
	Done    bool          // it has come to an end: everything is as it was asked for
	Held    string        // what holds it at the last stop; "" for nothing, or nothing that is known
	Took    time.Duration // from the beginning to the last stop that is reached
	At      time.Duration // when that was reached
}

// Last is the stop that is reached last.
func (w *Walk) Last() Stop { return w.Stops[w.Reached-1] }

// Trail follows commands along the trace. It is not safe for use by several goroutines.
type Trail struct {
	head    uint64 // events before this position have been looked at
	walks   []*walk
	version uint64
	shown   *Walk
	key     shown // what it is made of
	behind  bool

	back  int      // so many commands before the newest are shown
	none  bool     // none is shown
	since trace.ID // the newest command when that was chosen
}

// shown is what a [Walk] depends on.
type shown struct {
	begin                      trace.ID
	ways, reached, known, more int
	held                       string
}

// walk is all that is known of one command.
type walk struct {
	line    string
	begin   trace.ID
	at      uint64
	since   time.Duration
	outside bool // kubectl of another terminal
	path    *view.Path
	known   map[[2]string]bool
	ways    []way
	stops   []Stop
	times   []time.Duration
	done    uint64 // position at which all was as asked for; 0 for never

	stations map[trace.ID]int // which stop they are of
	met      map[meeting]bool
	others   []other
	objects  []touched
}

// meeting is an object at a stop.
type meeting struct {
	stop   int
	object trace.Ref
}

// other is one more object that came to a stop.
type other struct {
	stop int
	at   uint64
}

// touched is an object that was changed on the way.
type touched struct {
	object trace.Ref
	at     uint64
}

type way struct {
	ends [2]string
	at   uint64
}

const (
	most     = 32    // commands that are remembered
	atOnce   = 20000 // events that are looked at in one go
	together = 2 * time.Second
)

// Update follows the trace up to a position, at which the state is, and gives how far the
// newest command has come there; nil for none.
func (t *Trail) Update(stream *trace.Stream, to uint64, s *view.State) *Walk {
	t.head = max(t.head, stream.First())
	for n := 0; t.head < to && n < atOnce; {
		events, next, _ := stream.Read(t.head, int(min(to-t.head, atOnce)))
		if len(events) == 0 {
			break
		}
		for i, e := range events {
			t.take(next-uint64(len(events)-i), e, s)
		}
		t.head, n = next, n+len(events)
	}
	t.behind = t.head < to
	return t.show(to, s)
}

// Behind reports whether not everything has been looked at yet.
func (t *Trail) Behind() bool { return t.behind }

// take takes in one event.
func (t *Trail) take(pos uint64, e *trace.Event, s *view.State) {
	if t.begins(pos, e, s) {
		return
	}
	if len(t.walks) == 0 {
		return
	}
	w := t.walks[len(t.walks)-1]
	station := w.path.Take(e)
	if !w.path.Has(e.ID) {
		return
	}
	if l, ok := motion.Of(e, s); ok && l.To != "" && l.Rank != motion.Routine {
		w.went(pos, l.From, l.To)
	}
	switch {
	case e.Kind == trace.RequestReceived && len(w.stops) < 2:
		w.stop(pos, e, "API", e.Payload.(*trace.Request).Verb)
	case station:
		place, word := said(e)
		w.stop(pos, e, place, word)
		w.stations[e.ID] = len(w.stops) - 1
		if e.Kind == trace.Converged && w.done == 0 {
			w.done = pos + 1
		}
	}
	if like, ok := w.path.Like(e); ok {
		w.meets(pos, w.stations[like], e.Object)
	}
	if e.Kind == trace.StoreCommit {
		w.touches(pos, e.Object)
	}
}

// meets notes that an object came to a stop.
func (w *walk) meets(pos uint64, stop int, object trace.Ref) {
	object.UID = ""
	if object == (trace.Ref{}) || w.met[meeting{stop, object}] {
		return
	}
	w.met[meeting{stop, object}] = true
	if first := (meeting{stop: stop}); w.met[first] {
		w.others = append(w.others, other{stop, pos})
	} else {
		w.met[first] = true
	}
}

// mostTouched bounds how many objects of a command are remembered.
const mostTouched = 64

// touches notes that an object was changed.
func (w *walk) touches(pos uint64, object trace.Ref) {
	if len(w.objects) < mostTouched && !slices.ContainsFunc(w.objects, func(t touched) bool { return t.object == object }) {
		w.objects = append(w.objects, touched{object, pos})
	}
}

// begins begins a new walk with a command of the console, a fault, or a change that another
// program asks for; several of these at once belong together.
func (t *Trail) begins(pos uint64, e *trace.Event, s *view.State) bool {
	switch p := e.Payload.(type) {
	case *trace.Command:
		if e.Kind == trace.CommandStart && strings.HasPrefix(p.Line, "kubectl") {
			t.begin(pos, e, p.Line).stop(pos, e, "you", verb(p.Line))
			return true
		}
	case *trace.Fault:
		if e.Kind == trace.FaultInjected && !strings.HasPrefix(p.Target, "member/") && p.Target != "store" {
			t.begin(pos, e, p.Fault+" "+p.Target).stop(pos, e, "you", p.Fault)
			return true
		}
	case *trace.Request:
		if e.Kind != trace.RequestReceived || len(e.Causes) > 0 || p.Verb == "get" || p.Verb == "list" || p.Verb == "watch" {
			return false
		}
		l, ok := motion.Of(e, s)
		if !ok || l.From != scene.You {
			return false
		}
		var w *walk
		if n := len(t.walks); n > 0 && t.walks[n-1].outside && e.At-t.walks[n-1].since < together {
			w = t.walks[n-1]
			w.path.Join(e.ID)
		} else {
			w = t.begin(pos, e, p.Verb+" "+p.Resource+" "+p.Name)
			w.outside = true
			w.stop(pos, e, "you", "outside")
			w.stop(pos, e, "API", p.Verb)
		}
		w.went(pos, l.From, l.To)
		return true
	}
	return false
}

func (t *Trail) begin(pos uint64, e *trace.Event, line string) *walk {
	w := &walk{line: line, begin: e.ID, at: pos, since: e.At, path: view.NewPath(e.ID), known: map[[2]string]bool{}, stations: map[trace.ID]int{}, met: map[meeting]bool{}}
	w.path.Take(e)
	if t.walks = append(t.walks, w); len(t.walks) > most {
		t.walks = t.walks[1:]
	}
	return w
}

func (w *walk) went(pos uint64, from, to string) {
	if ends := [2]string{from, to}; !w.known[ends] {
		w.known[ends] = true
		w.ways = append(w.ways, way{ends, pos})
	}
}

func (w *walk) stop(pos uint64, e *trace.Event, place, word string) {
	if n := len(w.stops); n > 0 && w.stops[n-1].Place == place {
		return
	}
	w.stops, w.times = append(w.stops, Stop{Place: place, Word: word, Event: e.ID, at: pos}), append(w.times, e.At)
}

// show is what is to be seen at a position.
func (t *Trail) show(to uint64, s *view.State) *Walk {
	back := -1
	for i := len(t.walks) - 1; i >= 0; i-- {
		w := t.walks[i]
		if w.at >= to {
			continue
		}
		ways, stops := 0, 0
		for ways < len(w.ways) && w.ways[ways].at < to {
			ways++
		}
		for stops < len(w.stops) && w.stops[stops].at < to {
			stops++
		}
		if stops < 2 { // nothing has come of it
			continue
		}
		if back < 0 { // the newest: what was chosen holds for as long as it is
			if back = t.back; w.begin != t.since {
				t.since, t.back, t.none, back = w.begin, 0, false, 0
			}
		}
		if t.none {
			break
		}
		if back > 0 {
			back--
			continue
		}
		key := shown{begin: w.begin, ways: ways, reached: stops, known: len(w.stops)}
		for key.more < len(w.others) && w.others[key.more].at < to {
			key.more++
		}
		done := w.done > 0 && w.done <= to
		if !done {
			key.held = w.held(s, to, w.times[stops-1])
		}
		if t.shown != nil && key == t.key {
			return t.shown
		}
		t.version++
		t.key = key
		t.shown = &Walk{
			Version: t.version, Line: w.line, Event: w.begin, Stops: slices.Clone(w.stops), Reached: stops, Done: done, Held: key.held,
			Took: w.times[stops-1] - w.since, At: w.times[stops-1],
		}
		for _, o := range w.others[:key.more] {
			t.shown.Stops[o.stop].More++
		}
		for _, x := range w.ways[:ways] {
			t.shown.Ways = append(t.shown.Ways, x.ends)
		}
		return t.shown
	}
	if t.back > 0 { // there are no more: none
		t.back, t.none = 0, true
	}
	t.shown = nil
	return nil
}

// Turn shows the command before the one that is shown; after the oldest none, and then the
// newest again. It says what is shown then.
func (t *Trail) Turn() string {
	switch {
	case t.none:
		t.back, t.none = 0, false
		return "the way of the newest command"
	case t.shown == nil:
		return "no command has gone any way yet"
	}
	t.back++
	return "the way of the command before, or none where there is none"
}

// verb is what a command of kubectl does, in a word.
func verb(line string) string {
	for _, word := range strings.Fields(line)[1:] {
		if !strings.HasPrefix(word, "-") {
			return word
		}
	}
	return "kubectl"
}
