package timeline

import (
	"sort"
	"time"

	"kviz/cluster/trace"
)

// Axis is what a column of the timeline is.
type Axis uint8

// The axes.
const (
	Lately Axis = iota // virtual time: of the whole run, or its last ten minutes if it is long
	Events             // the position in the stream: a quiet hour takes no room
	Whole              // virtual time, of the whole run
)

// From when on a run is long, and how much of it is seen then.
const (
	long   = time.Hour
	window = 10 * time.Minute
)

// Turn goes to the next axis and says in a sentence what it is.
func (x *Index) Turn() string {
	x.axis = (x.axis + 1) % 3
	x.drawn = drawn{}
	switch x.axis {
	case Events:
		return "The timeline is by events: a quiet hour takes no room."
	case Whole:
		return "The timeline is by virtual time, of the whole run."
	}
	return "The timeline is by virtual time: of the whole run, or its last ten minutes if it is longer than an hour."
}

// span is the stretch of virtual time that is seen on a time axis; false on that of events.
func (x *Index) span(s *trace.Stream, w Where) (from, to time.Duration, ok bool) {
	if x.axis == Events {
		return 0, 0, false
	}
	from, ok0 := x.when(s, w.First)
	to, ok1 := x.when(s, w.Len-1)
	if !ok0 || !ok1 || to <= from {
		return 0, 0, false
	}
	if x.axis == Lately && to-from > long {
		at, known := x.when(s, w.At)
		if known && at < to-window { // where we are stays in sight
			to = max(at+window/2, from+window)
		}
		from = to - window
	}
	return from, to, true
}

// Column is where the event at a position is drawn; -1 if it is not.
func (x *Index) Column(s *trace.Stream, pos uint64, width int, w Where) int {
	if pos < w.First || pos >= w.Len || width <= 0 {
		return -1
	}
	if from, _, ok := x.span(s, w); ok {
		if t, known := x.when(s, pos); !known || t < from {
			return -1
		}
	}
	return x.column(s, pos, width, w)
}

// column is where a position is drawn.
func (x *Index) column(s *trace.Stream, pos uint64, width int, w Where) int {
	if from, to, ok := x.span(s, w); ok {
		t, _ := x.when(s, pos)
		return columnOf(t, from, to, width)
	}
	return column(pos, width, w)
}

// columnOf is the column of a time.
func columnOf(t, from, to time.Duration, width int) int {
	if t <= from {
		return 0
	}
	return min(int((t-from)*time.Duration(width)/(to-from)), width-1)
}

// Position is the position that a click in a column means: the first that is drawn there or
// behind it, and in the last column, where now is drawn, the newest of all.
func (x *Index) Position(c, width int, s *trace.Stream, w Where) uint64 {
	from, to, ok := x.span(s, w)
	if !ok || width <= 0 {
		return At(c, width, w)
	}
	if last, _ := x.when(s, w.Len-1); c >= width-1 && to >= last {
		return w.Len - 1
	}
	c = max(c, 0)
	n := sort.Search(int(w.Len-w.First), func(i int) bool {
		t, _ := x.when(s, w.First+uint64(i))
		return columnOf(t, from, to, width) >= c && t >= from
	})
	return min(w.First+uint64(n), w.Len-1)
}

// edges are the times at which columns begin, and that at which the last one ends.
func (x *Index) edges(s *trace.Stream, w Where, width int) []time.Duration {
	edges := make([]time.Duration, width+1)
	if from, to, ok := x.span(s, w); ok {
		for c := range edges {
			edges[c] = from + (to-from)*time.Duration(c)/time.Duration(width)
		}
		return edges
	}
	n := w.Len - w.First
	for c := range edges {
		pos := min(w.First+n*uint64(c)/uint64(width), w.Len-1)
		edges[c], _ = x.when(s, pos)
	}
	return edges
}
