package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Cascade is how slowness climbs from the store's disks to the work queues: what
// has been measured on each floor, over the same virtual time.
type Cascade struct {
	From   time.Duration // when the first column begins
	Step   time.Duration // how long a column is
	Floors []Floor       // from the bottom up
}

// Floor is one measure over time.
type Floor struct {
	Name    string // "fsync p99"
	Means   string // what is measured, and where Kubernetes or etcd tell it
	Counted string // what its numbers count: "request"; "" if they are durations
	Values  []int64
	Events  []trace.ID // behind each value the event that it is so high by
	Tops    []int64    // of what goes up and down within a column how high it was, Values being what it ended with; else nil
	Peak    int64      // the highest of all
	High    int64      // from which value on it is high
	Rose    int        // the first column whose value is high; -1 if none's is
}

// Highs tells from where on the floors are high.
func (c *Cascade) Highs() string {
	var all []string
	for i := range c.Floors {
		if text := c.Floors[i].Level(c.Floors[i].High); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// At is when a column begins.
func (c *Cascade) At(column int) time.Duration { return c.From + time.Duration(column)*c.Step }

// Column is where a moment is, which may be before the first.
func (c *Cascade) Column(at time.Duration) int { return int(at/c.Step) - int(c.From/c.Step) }

// Risen lists the floors that were high, in the order in which they rose; in the same
// column from the bottom up.
func (c *Cascade) Risen() []*Floor {
	var all []*Floor
	for i := range c.Floors {
		if c.Floors[i].Rose >= 0 {
			all = append(all, &c.Floors[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Floor) int { return a.Rose - b.Rose })
	return all
}

// Order tells in which order the floors rose, with times as a screen writes them; ""
// if none did.
func (c *Cascade) Order(moment func(time.Duration) string) string {
	var out strings.Builder
	rose := c.Risen()
	for i, f := range rose {
		switch {
		case i == 0:
			fmt.Fprintf(&out, "first high (%s): ", c.Highs())
		case rose[i-1].Rose == f.Rose:
			out.WriteString(", ")
		default:
			out.WriteString(" → ")
		}
		out.WriteString(f.Name)
		if i == len(rose)-1 || rose[i+1].Rose != f.Rose {
			out.WriteString(" at " + moment(c.At(f.Rose)))
		}
	}
	return out.String()
}

// From where on a floor is high. It is the same whatever the peak is: while all is
// well the simulation does not feel how long a disk takes, so only the lowest two
// floors may be high by chance.
const (
	highTime = 100 * time.Millisecond
	highOver = 1
	highKeys = 4
)

// Cascade is the measures of the last columns of step (whole seconds) each, up to
// now.
func (s *State) Cascade(columns int, step time.Duration) *Cascade {
	end := int64(s.At / step)
	from := max(end-int64(columns)+1, 0)
	c := &Cascade{From: time.Duration(from) * step, Step: step}
	cols := make([]Second, end-from+1)
	per := int64(step / time.Second)
	s.seconds.back(func(n int64, x *Second) bool { // how deep it was before
		if n < from*per {
			cols[0].deepen(x.Depth)
			return false
		}
		return true
	})
	at := 0
	deep := cols[0].Depth
	s.seconds.from(from*per, func(n int64, x *Second) bool {
		for col := int(n/per - from); at < col; {
			at++
			cols[at].deepen(deep)
		}
		cols[at].add(x)
		deep = x.Depth
		return true
	})
	for at < len(cols)-1 {
		at++
		cols[at].deepen(deep)
	}
	times := func(name, means string, of func(*Second) *Sample) {
		f := Floor{Name: name, Means: means}
		for i := range cols {
			f.put(int64(of(&cols[i]).P99()), of(&cols[i]).Longest)
		}
		c.Floors = append(c.Floors, f.risen(int64(highTime)))
	}
	times("fsync p99", "what writes to the members' logs took with their fsync (etcd_disk_wal_fsync_duration_seconds)", func(x *Second) *Sample { return &x.Fsync })
	times("commit p99", "from the leader's write until a quorum had it", func(x *Second) *Sample { return &x.Commit })
	times("API p99", "what requests to the API server took (apiserver_request_duration_seconds)", func(x *Second) *Sample { return &x.Answer })
	over := Floor{Name: "timeouts", Means: "requests whose time was over: 504, or 500 where etcd gave up (apiserver_request_total)", Counted: "request"}
	queued := Floor{Name: "queue depth", Means: "keys that are ready and that no worker has, in all queues, when a column ends, and at most (workqueue_depth)", Counted: "key"}
	for i := range cols {
		x := &cols[i]
		over.put(int64(x.Overtime.N), x.Overtime.Event)
		queued.put(int64(x.Depth.N), x.Depth.Event)
		queued.top(int64(x.Deepest.N), x.Deepest.Event)
	}
	c.Floors = append(c.Floors, over.risen(highOver), queued.risen(highKeys))
	return c
}

// add brings one second into a column.
func (s *Second) add(o *Second) {
	s.Fsync.merge(&o.Fsync)
	s.Commit.merge(&o.Commit)
	s.Answer.merge(&o.Answer)
	if o.Overtime.N > 0 {
		if s.Overtime.N == 0 {
			s.Overtime.Event = o.Overtime.Event
		}
		s.Overtime.N += o.Overtime.N
	}
	s.deepen(o.Deepest)
	s.deepen(o.Depth)
}

func (f *Floor) put(v int64, by trace.ID) {
	f.Values, f.Events = append(f.Values, v), append(f.Events, by)
	f.Peak = max(f.Peak, v)
}

// top notes how high the newest column was at most. Where that was more than its last
// value it is what the column is about.
func (f *Floor) top(v int64, by trace.ID) {
	if i := len(f.Values) - 1; v > f.Values[i] {
		f.Events[i] = by
	}
	f.Tops = append(f.Tops, v)
	f.Peak = max(f.Peak, v)
}

// Top is how high a column was, in any moment of it.
func (f *Floor) Top(column int) int64 {
	if f.Tops == nil {
		return f.Values[column]
	}
	return f.Tops[column]
}

// risen finds where the floor rose.
func (f Floor) risen(high int64) Floor {
	f.High = high
	f.Rose = slices.IndexFunc(f.Values, func(v int64) bool { return v >= high })
	return f
}

// Level is a value in words.
func (f *Floor) Level(v int64) string {
	if f.Counted != "" {
		return count(int(v), f.Counted)
	}
	if d := time.Duration(v); d >= 10*time.Millisecond {
		return d.Round(time.Millisecond).String()
	}
	return time.Duration(v).Round(10 * time.Microsecond).String()
}

// Describe is the chart as text: a row a floor, each to its own peak, and one for the
// moments in between where it goes up and down within a column; and the order in which
// they rose.
func (c *Cascade) Describe() string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var out strings.Builder
	fmt.Fprintf(&out, "from %v on, a column is %v; each row to its own peak\n", c.From, c.Step)
	row := func(f *Floor, name string, values []int64, means string) {
		peak := max(f.Peak, 1)
		fmt.Fprintf(&out, "%-11s ", name)
		for _, v := range values {
			out.WriteRune(blocks[(v*int64(len(blocks)-1)+peak-1)/peak])
		}
		fmt.Fprintf(&out, "  %s %s\n", means, f.Level(slices.Max(values)))
	}
	for i := range c.Floors {
		f := &c.Floors[i]
		if f.Tops == nil {
			row(f, f.Name, f.Values, "at most")
			continue
		}
		row(f, f.Name, f.Tops, "for a moment at most")
		row(f, " and left", f.Values, "when a column ends at most")
	}
	if order := c.Order(time.Duration.String); order != "" {
		out.WriteString(order + "\n")
	}
	return out.String()
}
