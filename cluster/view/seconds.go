package view

import (
	"strings"
	"time"

	"kviz/cluster/trace"
)

// maxSeconds is how many seconds in which something happened are kept.
const maxSeconds = 1200

// Second is what one second of virtual time brought, from the disks at the bottom to
// the work queues at the top.
type Second struct {
	gen
	N        int64  // which second since the epoch
	Fsync    Sample // writes to the members' logs, of every member
	Commit   Sample // from the leader's write until a quorum had it
	Answer   Sample // requests to the API servers
	Overtime Count  // of those: ended because their time, or the store's, was over
	Depth    Count  // keys ready in all work queues, when the second ended
	Deepest  Count  // and when it was most
	Renewed  int    // Leases of nodes that were renewed
	Bound    int    // pods that the scheduler gave a node
}

func (s *Second) seal() {}

// Sample is durations of one kind: how many there were, and the longest.
type Sample struct {
	Count   int
	Longest trace.ID // the event of the longest
	top     [16]time.Duration
}

// Count is a number and the event that it has last changed with.
type Count struct {
	N     int
	Event trace.ID
}

func (s *Sample) add(d time.Duration, id trace.ID) {
	s.Count++
	if d > s.top[0] || s.Count == 1 {
		s.Longest = id
	}
	s.insert(d)
}

// insert keeps the longest in order.
func (s *Sample) insert(d time.Duration) {
	for i := range s.top {
		if d > s.top[i] {
			s.top[i], d = d, s.top[i]
		}
	}
}

// merge adds another second's.
func (s *Sample) merge(o *Sample) {
	if o.top[0] > s.top[0] || s.Count == 0 {
		s.Longest = o.Longest
	}
	s.Count += o.Count
	for _, d := range o.top {
		s.insert(d)
	}
}

// P99 is the 99th percentile, of more than 1600 a little more than that.
func (s *Sample) P99() time.Duration {
	return s.top[min(s.Count/100, len(s.top)-1)]
}

// second is the second of an event, ready to be changed.
func (b *Builder) second(e *trace.Event) *Second {
	n := int64(e.At / time.Second)
	_, had := b.s.seconds.get(n)
	x := edit(b, b.s.seconds, n)
	if !had {
		x.N, x.Depth, x.Deepest = n, b.s.ready, b.s.ready
		b.s.seconds.trim(maxSeconds)
	}
	return x
}

// deepen notes that keys have become ready in a work queue, or fewer are.
func (b *Builder) deepen(e *trace.Event, by int) {
	if by == 0 {
		return
	}
	x := b.second(e)
	b.s.ready.N, b.s.ready.Event = b.s.ready.N+by, e.ID
	x.deepen(b.s.ready)
}

// deepen notes how many keys are ready now.
func (s *Second) deepen(now Count) {
	s.Depth = now
	if now.N > s.Deepest.N {
		s.Deepest = now
	}
}

// Depths is how many keys were ready at most in the work queues in each of the last n seconds,
// the present one last.
func (s *State) Depths(n int) []int {
	all, known := make([]int, n), n // from the index known on
	now := int64(s.At / time.Second)
	s.seconds.back(func(second int64, x *Second) bool {
		at := n - 1 - int(now-second)
		for i := max(at+1, 0); i < known; i++ { // nothing changed in them
			all[i] = x.Depth.N
		}
		if known = max(at, 0); at >= 0 {
			all[at] = x.Deepest.N
		}
		return at > 0
	})
	return all
}

// Renewed is how many Leases of nodes were renewed in each of the last n seconds that are over,
// the latest last.
func (s *State) Renewed(n int) []int {
	return s.over(n, func(x *Second) int { return x.Renewed })
}

// Bound is how many pods the scheduler gave a node in each of the last n seconds that are over,
// the latest last.
func (s *State) Bound(n int) []int {
	return s.over(n, func(x *Second) int { return x.Bound })
}

// over reads a number of each of the last n seconds that are over.
func (s *State) over(n int, read func(*Second) int) []int {
	all := make([]int, n)
	now := int64(s.At / time.Second)
	s.seconds.back(func(second int64, x *Second) bool {
		at := n - int(now-second)
		if at >= 0 && at < n {
			all[at] = read(x)
		}
		return at > 0
	})
	return all
}

// ReadyIn is how many keys were ready at most in each of n seconds, of which the last is that of
// the time now.
func (q *Queue) ReadyIn(n int, now time.Duration) []int {
	all := make([]int, n)
	last := int64(now / time.Second)
	depth, from := 0, 0 // what it was when a second begins
	for _, d := range q.Depths() {
		at := n - 1 - int(last-int64(d.At/time.Second))
		for ; from <= min(at, n-1); from++ {
			all[from] = depth
		}
		if depth = d.Ready; at >= 0 && at < n {
			all[at] = max(all[at], depth)
		}
	}
	for ; from < n; from++ {
		all[from] = depth
	}
	return all
}

// answered notes how long a request took and whether its time was over.
func (b *Builder) answered(e *trace.Event, p *trace.Response) {
	x := b.second(e)
	x.Answer.add(p.Took, e.ID)
	if overtime(p.Code, p.Message) {
		x.Overtime.N, x.Overtime.Event = x.Overtime.N+1, e.ID
	}
}

// overtime reports whether a request was ended because it took too long: the API
// server's own limit, or the client's, is 504; what etcd gave up on reaches the
// client in its words and as 500.
func overtime(code int, message string) bool {
	return code == 504 || code == 500 && strings.HasPrefix(message, "etcdserver: request timed out")
}
