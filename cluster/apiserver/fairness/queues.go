package fairness

import (
	"math"
	"time"

	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/apiserver/pkg/util/shufflesharding"
)

// queueSet is the queues of one priority level and the seats behind them
// (apiserver pkg/util/flowcontrol/fairqueuing/queueset/queueset.go). A request
// takes a seat while it is served. Where all are taken it waits in one of a few
// queues that its flow was dealt, the one with the least work in it; and when a
// seat is free, the queue goes first whose request would have ended first if all
// queues had been served side by side.
type queueSet struct {
	limit  int // seats; meaningless where exempt
	exempt bool
	length int // how many requests may wait in a queue
	dealer *shufflesharding.Dealer
	queues []*queue // more than are dealt, where there were more before
	dealt  int      // none: a request that finds no seat is rejected
	only   *queue   // that a request came to last
	direct row      // those that are served and came through no queue
	held   *held    // seats that are kept for watchers

	now      time.Duration         // up to when r has run
	r        fcrequest.SeatSeconds // what each busy queue has been given since the start: virtual time
	robin    int                   // the queue that was served last
	enqueued int
	busy     int // queues with requests that wait or are served
	waiting  int
	served   int // requests
	inUse    int // seats, those that are kept for watchers too
	wanted   int // seats, by requests that wait
	queued   int // seats in use by requests that came from a queue
	demand   demand
	counts   Counts
}

// Counts are a level's requests since the server's start. Cancelled are those that
// left their queue because they had waited too long.
type Counts struct{ Dispatched, Rejected, Cancelled uint64 }

// queue is the requests of some flows, the oldest first.
type queue struct {
	index   int
	waiting row
	length  int
	work    fcrequest.SeatSeconds // of those that wait
	next    fcrequest.SeatSeconds // when the first would be served in virtual time
	sitting row
	served  int
	inUse   int
}

// row is requests in the order in which they came.
type row struct{ first, last *Seat }

func (r *row) push(s *Seat) {
	s.prev, s.next = r.last, nil
	if r.last != nil {
		r.last.next = s
	} else {
		r.first = s
	}
	r.last = s
}

func (r *row) remove(s *Seat) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		r.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		r.last = s.prev
	}
	s.prev, s.next = nil, nil
}

// Work is what a request is thought to take (request/width.go WorkEstimate).
type Work struct {
	Seats int // while it is served
	// Final seats are kept for Latency after it has been answered: for the work of
	// telling the watchers.
	Final   int
	Latency time.Duration
}

// Width is how many seats the request takes all the time.
func (w *Work) Width() int { return max(w.Seats, w.Final) }

func (w *Work) final() fcrequest.SeatSeconds {
	return fcrequest.SeatsTimesDuration(float64(w.Final), w.Latency)
}

// Seat is a request at its priority level. The zero value is one that has not
// come there.
type Seat struct {
	// Owner is the request, for listing what waits and what is being served.
	Owner any
	// Watch says that the request is a watch, which sits while it begins.
	Watch bool
	// Wake is called when a request that waited gets its seat.
	Wake func()

	schema     *Schema
	set        *queueSet
	queue      *queue // nil where it went through none
	prev, next *Seat
	work       Work
	arrived    fcrequest.SeatSeconds
	came       time.Duration
	began      time.Duration
	state      state
}

type state uint8

const (
	outside state = iota
	waits
	sits
)

// Waits reports whether the request waits in a queue.
func (s *Seat) Waits() bool { return s.state == waits }

// Came is when the request came to its level.
func (s *Seat) Came() time.Duration { return s.came }

// Queue is the number of the request's queue, -1 where it went through none.
func (s *Seat) Queue() int {
	if s.queue == nil {
		return -1
	}
	return s.queue.index
}

// Work is what the request is thought to take.
func (s *Seat) Work() Work { return s.work }

// Ahead is how many requests wait in the same queue and came before.
func (s *Seat) Ahead() (n int) {
	if s.state != waits {
		return 0
	}
	for o := s.prev; o != nil; o = o.prev {
		n++
	}
	return n
}

func (s *Seat) stats() *Flow { return s.schema.Stats }

// guess is how long a request is thought to be served until it has been.
const guess = 3 * time.Millisecond

// total is the work the request is thought to be.
func (s *Seat) total() fcrequest.SeatSeconds {
	return fcrequest.SeatsTimesDuration(float64(s.work.Seats), guess) + s.work.final()
}

// configure sets how many queues there are. Requests that wait keep their places;
// queues beyond the new number get no more of them.
func (q *queueSet) configure(now time.Duration, queues, hand, length int) error {
	q.sync(now)
	q.dealt = queues
	if queues > 0 {
		dealer, err := shufflesharding.NewDealer(queues, hand)
		if err != nil {
			return err
		}
		q.dealer, q.length = dealer, length
		for len(q.queues) < queues {
			q.queues = append(q.queues, &queue{index: len(q.queues)})
		}
	}
	return nil
}

// resize sets how many seats there are.
func (q *queueSet) resize(now time.Duration, limit int) {
	q.sync(now)
	q.limit = limit
	q.dispatch()
}

// idle reports whether nobody waits and nobody is served.
func (q *queueSet) idle() bool { return q.waiting == 0 && q.served == 0 }

// sync lets virtual time run: as fast as there are seats for each busy queue.
func (q *queueSet) sync(now time.Duration) {
	d := now - q.now
	q.now = now
	if q.busy > 0 && d > 0 {
		q.r += fcrequest.SeatsTimesDuration(math.Min(float64(q.queued+q.wanted), float64(q.limit))/float64(q.busy), d)
	}
}

// count notes how many seats are wanted now.
func (q *queueSet) count() { q.demand.set(q.now, q.inUse+q.wanted) }

// start brings a request of a flow. It has a seat, or it waits, or, if false, it
// is rejected.
func (q *queueSet) start(now time.Duration, s *Seat, work Work, flow uint64) bool {
	q.sync(now)
	s.set, s.work, s.came = q, work, now
	if q.dealt < 1 {
		if !q.fits(work.Width()) {
			q.counts.Rejected++
			s.stats().reject(concurrencyLimit, 0)
			return false
		}
		q.direct.push(s)
		q.sit(s)
		return true
	}
	u := q.choose(flow)
	if q.inUse >= q.limit && u.length >= q.length {
		q.bound(u)
		q.counts.Rejected++
		s.stats().reject(queueFull, 0)
		return false
	}
	if u.length == 0 && u.served == 0 {
		u.next = q.r
		q.busy++
	}
	s.queue, s.arrived, s.state = u, q.r, waits
	u.waiting.push(s)
	u.length++
	u.work += s.total()
	q.waiting++
	q.held.waiting++
	q.wanted += work.Width()
	s.stats().queue(1, work.Width(), u.length)
	q.count()
	q.only = u
	q.bound(u)
	q.dispatch()
	return true
}

// choose deals a flow its hand of queues and takes the one with the least work.
func (q *queueSet) choose(flow uint64) *queue {
	var cards [8]int
	hand := q.dealer.DealIntoHand(flow, cards[:])
	offset := q.enqueued % len(hand)
	q.enqueued++
	var best *queue
	for i := range hand {
		if u := q.queues[hand[(offset+i)%len(hand)]]; best == nil || u.work < best.work {
			best = u
		}
	}
	return best
}

// fits reports whether there are so many seats. A request that wants more than
// there are is served alone.
func (q *queueSet) fits(seats int) bool {
	switch {
	case q.exempt:
		return true
	case seats > q.limit:
		return q.served == 0
	}
	return q.inUse+seats <= q.limit
}

// dispatch gives out seats while there are any.
func (q *queueSet) dispatch() {
	for q.waiting > 0 && q.inUse < q.limit {
		u := q.nextQueue()
		s := u.waiting.first
		if !q.fits(s.work.Width()) {
			return // and nobody else passes it meanwhile
		}
		q.robin = u.index
		q.unqueue(u, s)
		total := s.total()
		q.wanted -= s.work.Width()
		if s.work.Final > q.limit { // it takes longer on fewer seats
			s.work.Latency = s.work.final().DurationPerSeat(float64(q.limit))
			s.work.Final = q.limit
		}
		u.served++
		u.inUse += s.work.Width()
		u.sitting.push(s)
		q.queued += s.work.Width()
		q.sit(s)
		u.next += total
		q.bound(u)
		if s.Wake != nil {
			s.Wake()
		}
	}
}

// nextQueue is the one whose oldest request would end first in virtual time; of
// equals the first behind the queue that was served last.
func (q *queueSet) nextQueue() *queue {
	if q.only.length == q.waiting {
		return q.only // nobody waits elsewhere
	}
	n := len(q.queues)
	var best *queue
	var end fcrequest.SeatSeconds
	for i := 1; i <= n; i++ {
		u := q.queues[(q.robin+i)%n]
		if u.waiting.first == nil {
			continue
		}
		if e := u.next + u.waiting.first.total(); best == nil || e < end {
			best, end = u, e
		}
	}
	return best
}

func (q *queueSet) sit(s *Seat) {
	s.state, s.began = sits, q.now
	q.served++
	q.inUse += s.work.Width()
	q.counts.Dispatched++
	s.stats().sit(s.work.Width(), !q.exempt, q.now-s.came)
	q.count()
}

// bound keeps a queue that has used less than its share from saving it up: in
// virtual time nothing is served before it came.
func (q *queueSet) bound(u *queue) {
	if first := u.waiting.first; first != nil && u.next < first.arrived {
		u.next = first.arrived
	}
}

// finish frees the seats of a request that has been served, at once or after the
// time for which they are kept for its watchers.
func (s *Seat) finish(now time.Duration) {
	q, u := s.set, s.queue
	q.sync(now)
	s.state = outside
	q.served--
	s.stats().finish(s.Watch, now-s.began)
	if u != nil {
		u.sitting.remove(s)
		u.served--
		// It was charged for a guess; now it is known how long it took.
		u.next -= fcrequest.SeatsTimesDuration(float64(s.work.Seats), guess-(now-s.began))
		q.bound(u)
		q.rest(u)
	} else {
		q.direct.remove(s)
	}
	kept := keep{at: now + s.work.Latency, set: q, queue: u, seats: s.work.Width(), flow: s.stats()}
	if s.work.Latency > 0 {
		q.held.add(kept)
	} else {
		kept.free()
	}
	q.dispatch()
}

// leave takes a request that has waited too long out of its queue.
func (s *Seat) leave(now time.Duration) {
	q, u := s.set, s.queue
	q.sync(now)
	s.state = outside
	q.unqueue(u, s)
	q.wanted -= s.work.Width()
	q.counts.Rejected++
	q.counts.Cancelled++
	s.stats().reject(timeOut, now-s.came)
	q.count()
	q.bound(u)
	q.rest(u)
}

func (q *queueSet) unqueue(u *queue, s *Seat) {
	u.waiting.remove(s)
	u.length--
	u.work -= s.total()
	q.waiting--
	q.held.waiting--
	s.stats().queue(-1, s.work.Width(), u.length)
}

// rest notes that nobody of a queue waits or is served any more.
func (q *queueSet) rest(u *queue) {
	if u.length == 0 && u.served == 0 {
		q.busy--
	}
}
