package timeline

import (
	"math"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawn is what was computed for the last drawing, and of what.
type drawn struct {
	w     Where
	axis  Axis
	width int
	next  uint64 // how many events were counted
	edges []time.Duration
	took  []time.Duration // the longest answer to a write in a column; 0 for none
	gaps  []bool          // on the axis of events: much time lies between this column and the next
	holes []hole
}

// columns computes what the columns show, unless it is the same as the last time.
func (x *Index) columns(s *trace.Stream, w Where, width int) *drawn {
	key := Where{First: w.First, Len: w.Len}
	if x.axis != Events {
		key.Len = 0
		if x.axis == Lately {
			if from, to, _ := x.span(s, w); to-from == window {
				key.At = uint64(to / bucketTime)
			}
		}
	}
	d := &x.drawn
	if d.w == key && d.axis == x.axis && d.width == width && d.next == x.next && d.edges != nil {
		return d
	}
	*d = drawn{w: key, axis: x.axis, width: width, next: x.next, edges: x.edges(s, w, width)}
	d.took, d.gaps = make([]time.Duration, width), make([]bool, width)
	for c := range width {
		b := x.strip.over(d.edges[c], d.edges[c+1])
		d.took[c] = b.longest
		d.gaps[c] = x.axis == Events && d.edges[c+1]-d.edges[c] > holeFrom
	}
	d.holes = x.strip.holes(d.edges[0], d.edges[width])
	return d
}

// The longest and the shortest time that the blocks tell apart.
const (
	shortest = time.Millisecond
	longest  = 10 * time.Second
)

// latency draws how long writes took, the logarithm as the height: a hole where writes
// waited and none was committed, with its length in it.
func (x *Index) latency(a grid.Area, row int, d *drawn, marked map[int]bool) {
	for c, t := range d.took {
		switch {
		case t > 0:
			st := theme.Good
			if t >= 100*time.Millisecond {
				st = theme.Warn
			}
			if t >= time.Second {
				st = theme.Bad
			}
			a.Put(c, row, blocks[level(t)], st)
		case d.gaps[c]:
			a.Put(c, row, '╎', theme.Muted)
		default:
			a.Put(c, row, blocks[0], theme.Line)
		}
	}
	for _, h := range d.holes {
		c0, c1 := -1, -1 // the columns that lie in it
		for c := range d.width {
			if d.edges[c] >= h.from && d.edges[c+1] <= h.to {
				if c0 < 0 {
					c0 = c
				}
				c1 = c + 1
			}
		}
		if c0 < 0 {
			continue
		}
		a.Text(c0, row, strings.Repeat(" ", c1-c0), theme.Bad)
		x.inHole(a, row, c0, c1, h, marked)
	}
}

// inHole writes how long a hole is, in as many words as there is room for where no mark stands.
func (x *Index) inHole(a grid.Area, row, c0, c1 int, h hole, marked map[int]bool) {
	from, to := c0, c0 // the widest stretch without a mark
	for c, begin := c0, c0; c <= c1; c++ {
		if c < c1 && !marked[c] {
			continue
		}
		if c-begin > to-from {
			from, to = begin, c
		}
		begin = c + 1
	}
	c0, c1 = from, to

	length := words.Dur((h.to - h.from).Truncate(bucketTime))
	for _, said := range []string{"no write " + length, length, "✗"} {
		if n := grid.Width(said); n <= c1-c0 {
			a.Text(c0+(c1-c0-n)/2, row, said, theme.Bad|grid.Bold)
			return
		}
	}
}

// level is the height of a block.
func level(t time.Duration) int {
	share := math.Log(float64(t)/float64(shortest)) / math.Log(float64(longest)/float64(shortest))
	return max(0, min(int(share*float64(len(blocks))), len(blocks)-1))
}

// ticks are what the labels of the time may be apart.
var ticks = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// clock writes the virtual time below the columns: on a time axis at round times, else at
// every tenth column.
func (x *Index) clock(a grid.Area, row int, d *drawn) {
	const apart = 10
	if d.axis == Events {
		for c := 0; c+apart <= d.width; c += 2 * apart {
			a.Text(c, row, moment(d.edges[c]), theme.Muted)
		}
		return
	}
	span := d.edges[d.width] - d.edges[0]
	step := ticks[len(ticks)-1]
	for _, t := range ticks {
		if int64(t)*int64(d.width) >= int64(span)*apart {
			step = t
			break
		}
	}
	for t := (d.edges[0] + step - 1) / step * step; t <= d.edges[d.width]; t += step {
		c := columnOf(t, d.edges[0], d.edges[d.width], d.width)
		if label := moment(t); c+grid.Width(label) <= d.width {
			a.Text(c, row, label, theme.Muted)
		}
	}
}

// moment is a time as a label: to the second, or to the tenth if it is not a whole one.
func moment(t time.Duration) string {
	text := words.Clock(t)
	if whole, part, ok := strings.Cut(text, "."); ok {
		if strings.Trim(part, "0") == "" {
			return whole
		}
		return whole + "." + part[:1]
	}
	return text
}
