// Package timeline draws the timeline: how busy the cluster was, where commands, faults and
// elections are, how long the store took for writes, and where we are. Its axis is virtual
// time, or the position in the stream (axis.go), where a quiet hour takes no room and every
// event can be reached. The height of the blocks in the first row says how densely events
// followed one another in virtual time.
//
// Start reading at [Index], then latency.go and strip.go (what it keeps of the events).
package timeline

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Mark is a moment worth jumping to.
type Mark struct {
	Pos   uint64
	Glyph rune
	Style grid.Style
	Words string
	rank  int
	at    time.Duration
}

// Index finds the marks of a stream as it grows.
type Index struct {
	next  uint64
	marks []Mark
	times []time.Duration // when every timesEvery-th event happened

	axis    Axis
	strip   strip
	drawn   drawn
	heights heights
	touched bool
}

// Touched reports whether somebody has changed the cluster since it was ready: through
// its API, through etcd's, or by breaking something.
func (x *Index) Touched() bool { return x.touched }

// touches reports whether an event tells that somebody changes the cluster. Whoever
// belongs to it has a name that begins with "system:".
func touches(e *trace.Event) bool {
	switch p := e.Payload.(type) {
	case *trace.Fault:
		return true // to break something changes the cluster, and so does to mend it, add a member, compact
	case *trace.Command:
		return e.Kind == trace.CommandStart && etcdctlWrites.MatchString(p.Line)
	case *trace.Restore:
		return true
	case *trace.Request:
		asks := strings.HasSuffix(p.Resource, "reviews") // which are created, and not stored
		return slices.Contains(writes, p.Verb) && !asks && p.User != "" && !strings.HasPrefix(p.User, "system:")
	}
	return false
}

// etcdctlWrites finds the commands of etcdctl that change something; the others ask.
var etcdctlWrites = regexp.MustCompile(`\betcdctl\s(?:.*\s)?(?:put|del|txn|compaction|defrag|disarm|grant|revoke|add|remove|promote|update|enable|disable|delete|passwd|(?:grant|revoke)-(?:role|permission)|move-leader|elect|lock|make-mirror)(?:\s|$)`)

var writes = []string{"create", "update", "patch", "apply", "delete", "deletecollection"}

// timesEvery is how far apart the times are that are remembered of events that
// are not in memory any more.
const timesEvery = 512

// when is the time of the event at a position.
func (x *Index) when(s *trace.Stream, pos uint64) (time.Duration, bool) {
	if pos >= s.First() {
		if e := s.Get(pos); e != nil {
			return e.At, true
		}
	}
	if n := pos / timesEvery; n < uint64(len(x.times)) {
		return x.times[n], true
	}
	return 0, false
}

// Catch takes in up to max new events.
func (x *Index) Catch(s *trace.Stream, max int) {
	for max > 0 {
		events, next, _ := s.Read(x.next, min(max, 4096))
		if len(events) == 0 {
			break
		}
		pos := next - uint64(len(events))
		for i, e := range events {
			for uint64(len(x.times))*timesEvery <= pos+uint64(i) {
				x.times = append(x.times, e.At)
			}
			x.strip.take(e)
			x.touched = (x.touched || touches(e)) && e.Kind != trace.Ready
			if m, ok := markOf(e); ok {
				m.Pos, m.at = pos+uint64(i), e.At
				x.marks = append(x.marks, m)
			}
		}
		x.next = next
		max -= len(events)
	}
	first := s.Oldest()
	if len(x.marks) > 0 && x.marks[0].Pos < first {
		n := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].Pos >= first })
		x.marks = append([]Mark(nil), x.marks[n:]...)
	}
}

func markOf(e *trace.Event) (Mark, bool) {
	switch e.Kind {
	case trace.CommandStart:
		if c, ok := e.Payload.(*trace.Command); ok {
			return Mark{Glyph: '›', Style: theme.Accent, Words: c.Line, rank: 3}, true
		}
	case trace.FaultInjected, trace.FaultHealed:
		if f, ok := e.Payload.(*trace.Fault); ok {
			if e.Kind == trace.FaultHealed {
				return Mark{Glyph: '+', Style: theme.Good, Words: "mended: " + f.Fault + " " + f.Target, rank: 4}, true
			}
			return Mark{Glyph: '!', Style: theme.Bad, Words: "broken: " + f.Fault + " " + f.Target, rank: 5}, true
		}
	case trace.MemberRole:
		if m, ok := e.Payload.(*trace.MemberState); ok && m.Role == "leader" {
			return Mark{Glyph: '★', Style: theme.Term(m.Term), Words: fmt.Sprintf("%s leads term %d", m.Member, m.Term), rank: 2}, true
		}
	case trace.Ready:
		return Mark{Glyph: '✓', Style: theme.Good, Words: "ready", rank: 1}, true
	case trace.InvariantBroken:
		return Mark{Glyph: '✗', Style: theme.Bad, Words: "broken invariant", rank: 6}, true
	}
	return Mark{}, false
}

// Marks lists the marks, oldest first.
func (x *Index) Marks() []Mark { return x.marks }

// Before is the last mark before a position.
func (x *Index) Before(pos uint64) (Mark, bool) {
	n := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].Pos >= pos })
	if n == 0 {
		return Mark{}, false
	}
	return x.marks[n-1], true
}

// After is the first mark after a position.
func (x *Index) After(pos uint64) (Mark, bool) {
	n := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].Pos > pos })
	if n == len(x.marks) {
		return Mark{}, false
	}
	return x.marks[n], true
}

// Where is a place in the stream.
type Where struct {
	First, Len uint64 // what can be reached: [First, Len)
	At         uint64 // position of the event we are at
	Live       bool
	Playing    bool
	Mark       uint64 // the remembered position + 1; 0 for none
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// Draw draws two to four rows: how busy the cluster was with the marks, how long writes
// took, the time, and the scrubber. With two, the first is how long writes took; with
// three the time stands at the ends of the scrubber.
func (x *Index) Draw(a grid.Area, s *trace.Stream, w Where) {
	n := w.Len - w.First
	width := a.W()
	if n == 0 || width < 10 {
		a.Text(0, 0, "no events yet", theme.Muted)
		return
	}
	d := x.columns(s, w, width)
	row := 0
	if a.H() > 2 {
		x.density(a, 0, s, w, width)
		row = 1
	}
	col := x.mapping(s, w, width)
	best, marked := map[int]int{}, map[int]bool{} // marked: the columns of the marks in the row of the latency
	for _, m := range x.marks {
		if c, seen := col(m); row == 0 && seen && m.Pos >= w.First && m.Pos < w.Len {
			marked[c] = true
		}
	}
	x.latency(a, row, d, marked)
	if a.H() > 3 {
		x.clock(a, 2, d)
	}
	for _, m := range x.marks {
		if m.Pos < w.First || m.Pos >= w.Len {
			continue
		}
		c, seen := col(m)
		if !seen {
			continue
		}
		if m.rank > best[c] {
			best[c] = m.rank
			a.Put(c, 0, m.Glyph, m.Style|grid.Bold)
		}
	}
	begins := ""
	if a.H() < 4 {
		begins = moment(d.edges[0]) + " "
	}
	x.scrubber(a, a.H()-1, s, w, begins, func(pos uint64) int { return x.column(s, pos, width, w) })
}

// mapping says in which column a mark is drawn, and whether it is seen at all.
func (x *Index) mapping(s *trace.Stream, w Where, width int) func(Mark) (int, bool) {
	from, to, ok := x.span(s, w)
	return func(m Mark) (int, bool) {
		if !ok {
			return column(m.Pos, width, w), true
		}
		return columnOf(m.at, from, to, width), m.at >= from && m.at <= to
	}
}

// heights is how high the blocks of a stretch stand, cached while it is the same.
type heights struct {
	first, end uint64
	from, to   time.Duration // on a time axis, in buckets
	levels     []uint8
}

// rounded is from how many events a column on the ends of the stretch are
// rounded to about a column.
const rounded = 64

// density draws the blocks. Both ends of a long stretch are rounded: a cluster
// at work adds events with every frame, and blocks that would look the same are
// not computed again.
func (x *Index) density(a grid.Area, row int, s *trace.Stream, w Where, width int) {
	if from, to, ok := x.span(s, w); ok {
		x.byTime(a, row, from, to, width)
		return
	}
	step := uint64(1)
	if n := w.Len - w.First; n >= rounded*uint64(width) {
		for step*uint64(width)*2 <= n {
			step *= 2
		}
	}
	first, end := (w.First+step-1)/step*step, w.Len/step*step
	if h := &x.heights; h.first != first || h.end != end || len(h.levels) != width {
		x.compute(s, first, end, width)
	}
	for c, level := range x.heights.levels {
		a.Put(c, row, blocks[level], theme.Line)
	}
}

// compute computes the heights of a stretch: the logarithm of the events in a
// virtual second, between the lowest and the highest there is.
func (x *Index) compute(s *trace.Stream, first, end uint64, width int) {
	n := end - first
	logs := make([]float64, width)
	low, high := math.Inf(1), math.Inf(-1)
	known, t0, ok0 := uint64(math.MaxUint64), time.Duration(0), false
	for c := 0; c < width; c++ {
		from := first + n*uint64(c)/uint64(width)
		to := first + n*uint64(c+1)/uint64(width)
		if to == from {
			to = min(from+1, end)
		}
		if known != from {
			t0, ok0 = x.when(s, from)
		}
		last := min(to, end-1)
		t1, ok1 := x.when(s, last)
		if ok0 && ok1 {
			dt := max(t1-t0, 100*time.Microsecond)
			rate := float64(to-from) / dt.Seconds()
			logs[c] = math.Log(max(rate, 0.01))
			low, high = min(low, logs[c]), max(high, logs[c])
		}
		known, t0, ok0 = last, t1, ok1
	}
	h := heights{first: first, end: end, levels: make([]uint8, width)}
	for c := range h.levels {
		if high > low {
			x := (logs[c] - low) / (high - low)
			h.levels[c] = uint8(max(0, min(int(x*x*float64(len(blocks)-1)), len(blocks)-1)))
		}
	}
	x.heights = h
}

// byTime draws the blocks on a time axis: the logarithm of the events in a column, between
// the lowest and the highest there is.
func (x *Index) byTime(a grid.Area, row int, from, to time.Duration, width int) {
	step := max(x.strip.step, bucketTime) // nothing may be counted yet
	if h := &x.heights; h.from != from/step || h.to != to/step || len(h.levels) != width || h.end != x.next {
		logs := make([]float64, width)
		low, high := math.Inf(1), math.Inf(-1)
		for c := range width {
			n := x.strip.over(from+(to-from)*time.Duration(c)/time.Duration(width), from+(to-from)*time.Duration(c+1)/time.Duration(width)).events
			logs[c] = math.Log(float64(n + 1))
			low, high = min(low, logs[c]), max(high, logs[c])
		}
		*h = heights{end: x.next, from: from / step, to: to / step, levels: make([]uint8, width)}
		for c := range h.levels {
			if high > low {
				y := (logs[c] - low) / (high - low)
				h.levels[c] = uint8(max(0, min(int(y*float64(len(blocks)-1)), len(blocks)-1)))
			}
		}
	}
	for c, level := range x.heights.levels {
		a.Put(c, row, blocks[level], theme.Line)
	}
}

// scrubber draws where we are. Where no row of times stands above it, the time at which it
// begins stands at its left end, if there is room.
func (x *Index) scrubber(a grid.Area, row int, s *trace.Stream, w Where, begins string, col func(uint64) int) {
	at, last := s.Get(w.At), s.Get(w.Len-1)
	label := ""
	if at != nil && last != nil {
		label = fmt.Sprintf(" #%s of #%s  %s ", at.ID, last.ID, words.Clock(at.At))
	}
	state, st := "NOW", theme.Good|grid.Bold
	switch {
	case !w.Live && w.Playing:
		state, st = "PAST ▶", theme.Past|grid.Bold
	case !w.Live:
		state, st = "PAST", theme.Past|grid.Bold
	}
	here := min(col(w.At), a.W()-1)
	if w.Live {
		here = a.W() - 1
	}
	line, done := theme.Line, theme.Muted
	if !w.Live {
		done = theme.Past
	}
	for c := 0; c < a.W(); c++ {
		if c < here {
			a.Put(c, row, '━', done)
		} else {
			a.Put(c, row, '─', line)
		}
	}
	if w.Mark > 0 && w.Mark-1 >= w.First && w.Mark-1 < w.Len {
		a.Put(min(col(w.Mark-1), a.W()-1), row, '┃', theme.Key)
	}
	a.Put(here, row, '●', st)
	room := grid.Width(label) + len([]rune(state)) + 3
	x0 := here + 2
	if here > a.W()/2 {
		x0 = max(here-room-1, 0)
	}
	if n := grid.Width(begins); x0 > n+1 && here > n {
		a.Text(0, row, begins, theme.Muted)
	}
	end := a.Text(x0, row, label, theme.Event)
	a.Text(end, row, state+" ", st)
}

// column is where a position is drawn on the axis of events.
func column(pos uint64, width int, w Where) int {
	return int((pos - w.First) * uint64(width) / (w.Len - w.First))
}

// At is the position that a click in column c means on the axis of events: the first that is
// drawn there, and in the last column, where now is drawn, the newest of all.
func At(c, width int, w Where) uint64 {
	if width <= 0 || w.Len == w.First {
		return w.First
	}
	if c >= width-1 {
		return w.Len - 1
	}
	n, cols := w.Len-w.First, uint64(width)
	return min(w.First+(n*uint64(max(c, 0))+cols-1)/cols, w.Len-1)
}

// MarkAt is the mark that is drawn in column c, if there is one.
func (x *Index) MarkAt(c, width int, s *trace.Stream, w Where) (Mark, bool) {
	best, ok := Mark{}, false
	col := x.mapping(s, w, width)
	for _, m := range x.marks {
		if m.Pos < w.First || m.Pos >= w.Len {
			continue
		}
		if at, seen := col(m); seen && at == c && (!ok || m.rank > best.rank) {
			best, ok = m, true
		}
	}
	return best, ok
}
