package timeline

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// What the buckets of a strip are: how long each is at first, how many there are at most,
// and from how long on a time without a committed write is a hole.
const (
	bucketTime = 100 * time.Millisecond
	maxBuckets = 36_000
	holeFrom   = 500 * time.Millisecond
)

// strip is how long the store took for writes, by virtual time: a row of buckets, merged by
// two when there are too many.
type strip struct {
	step    time.Duration
	buckets []bucket
	waiting map[uint64]bool // writes that are inside an API server
}

// bucket is what happened in a stretch of virtual time.
type bucket struct {
	events  int
	longest time.Duration // of the answers to writes
	commits int
	waited  bool // a write was waiting at some moment
}

// take counts an event.
func (p *strip) take(e *trace.Event) {
	if p.step == 0 {
		p.step, p.waiting = bucketTime, map[uint64]bool{}
	}
	b := p.at(e.At)
	b.events++
	switch x := e.Payload.(type) {
	case *trace.Request:
		if e.Kind == trace.RequestReceived && slices.Contains(writes, x.Verb) {
			p.waiting[x.Request] = true
			b.waited = true
		}
	case *trace.Response:
		if p.waiting[x.Request] {
			delete(p.waiting, x.Request)
			b.longest = max(b.longest, x.Took, time.Nanosecond)
		}
	case *trace.Commit:
		b.commits++
	case *trace.Process:
		if e.Kind == trace.ProcessExit && e.Lane.Component == trace.CompAPIServer {
			clear(p.waiting) // what was inside is never answered
		}
	}
}

// at is the bucket of a time. Those that nothing happened in are filled on the way.
func (p *strip) at(t time.Duration) *bucket {
	i := int(t / p.step)
	for i >= maxBuckets {
		p.merge()
		i = int(t / p.step)
	}
	for len(p.buckets) <= i {
		p.buckets = append(p.buckets, bucket{waited: len(p.waiting) > 0})
	}
	return &p.buckets[i]
}

// merge makes one bucket of every two.
func (p *strip) merge() {
	half := p.buckets[:0]
	for i := 0; i < len(p.buckets); i += 2 {
		b := p.buckets[i]
		if i+1 < len(p.buckets) {
			o := p.buckets[i+1]
			b = bucket{b.events + o.events, max(b.longest, o.longest), b.commits + o.commits, b.waited || o.waited}
		}
		half = append(half, b)
	}
	p.buckets, p.step = half, 2*p.step
}

// over sums up the buckets of a stretch, at least one.
func (p *strip) over(from, to time.Duration) bucket {
	var sum bucket
	if p.step == 0 {
		return sum
	}
	first, last := p.index(from), p.index(to-1)
	for i := first; i <= max(last, first) && i < len(p.buckets); i++ {
		b := &p.buckets[i]
		sum.events += b.events
		sum.longest = max(sum.longest, b.longest)
		sum.commits += b.commits
		sum.waited = sum.waited || b.waited
	}
	return sum
}

func (p *strip) index(t time.Duration) int { return max(int(t/p.step), 0) }

// hole is a stretch in which writes waited and none was committed.
type hole struct{ from, to time.Duration }

// holes are those that reach into a stretch, in their order.
func (p *strip) holes(from, to time.Duration) []hole {
	if p.step == 0 {
		return nil
	}
	var all []hole
	empty := func(i int) bool {
		return i >= 0 && i < len(p.buckets) && p.buckets[i].commits == 0 && p.buckets[i].waited
	}
	i := p.index(from)
	for empty(i - 1) {
		i--
	}
	for last := p.index(to); i <= last && i < len(p.buckets); i++ {
		if !empty(i) {
			continue
		}
		first := i
		for empty(i) {
			i++
		}
		if h := (hole{time.Duration(first) * p.step, time.Duration(i) * p.step}); h.to-h.from >= holeFrom {
			all = append(all, h)
		}
	}
	return all
}
