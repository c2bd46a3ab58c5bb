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

	now      time.Duration         // up to when r has run
	r        fcrequest.SeatSeconds // what each busy queue has been given since the start: virtual time
	robin    int                   // the queue that was served last
	enqueued int
	busy     int // queues with requests that wait or are served
	waiting  int
	served   int // requests
	inUse    int // seats
	wanted   int // seats, by requests that wait
	queued   int // seats in use by requests that came from a queue
	counts   Counts
}

// Counts are a level's requests since the server's start.
type Counts struct{ Dispatched, Rejected, TimedOut uint64 }

// queue is the requests of some flows, the oldest first.
type queue struct {
	index  int
	first  *Seat
	last   *Seat
	length int
	work   fcrequest.SeatSeconds // of those that wait
	next   fcrequest.SeatSeconds // when the first would be served in virtual time
	served int
	inUse  int
}

// Seat is a request at its priority level. The zero value is one that has not
// come there.
type Seat struct {
	set        *queueSet
	queue      *queue // nil where it went through none
	prev, next *Seat
	seats      int
	arrived    fcrequest.SeatSeconds
	came       time.Duration
	began      time.Duration
	state      state
	// Wake is called when a request that waited gets its seat.
	Wake func()
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

// Seats is how many the request takes.
func (s *Seat) Seats() int { return s.seats }

// Ahead is how many requests wait in the same queue and came before.
func (s *Seat) Ahead() (n int) {
	for o := s.prev; o != nil; o = o.prev {
		n++
	}
	return n
}

// guess is how long a request is thought to be served until it has been.
const guess = 3 * time.Millisecond

// configure sets how many queues and seats there are. Requests that wait keep
// their places; queues beyond the new number get no more of them.
func (q *queueSet) configure(now time.Duration, queues, hand, length, limit int) error {
	q.sync(now)
	q.limit, q.dealt = limit, queues
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
	q.dispatch()
	return nil
}

// sync lets virtual time run: as fast as there are seats for each busy queue.
func (q *queueSet) sync(now time.Duration) {
	d := now - q.now
	q.now = now
	if q.busy > 0 && d > 0 {
		q.r += fcrequest.SeatsTimesDuration(math.Min(float64(q.queued+q.wanted), float64(q.limit))/float64(q.busy), d)
	}
}

// start brings a request of a flow. It has a seat, or it waits, or, if false, it
// is rejected.
func (q *queueSet) start(now time.Duration, s *Seat, seats int, flow uint64) bool {
	q.sync(now)
	s.set, s.seats, s.came = q, seats, now
	if q.dealt < 1 {
		if !q.fits(seats) {
			q.counts.Rejected++
			return false
		}
		q.sit(s)
		return true
	}
	u := q.choose(flow)
	if q.inUse >= q.limit && u.length >= q.length {
		q.bound(u)
		q.counts.Rejected++
		return false
	}
	if u.length == 0 && u.served == 0 {
		u.next = q.r
		q.busy++
	}
	s.queue, s.arrived, s.state = u, q.r, waits
	u.push(s)
	q.waiting++
	q.wanted += seats
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
		s := u.first
		if !q.fits(s.seats) {
			return // and nobody else passes it meanwhile
		}
		q.robin = u.index
		u.remove(s)
		q.waiting--
		q.wanted -= s.seats
		u.served++
		u.inUse += s.seats
		q.queued += s.seats
		q.sit(s)
		u.next += s.work()
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
		if u.first == nil {
			continue
		}
		if e := u.next + u.first.work(); best == nil || e < end {
			best, end = u, e
		}
	}
	return best
}

func (q *queueSet) sit(s *Seat) {
	s.state, s.began = sits, q.now
	q.served++
	q.inUse += s.seats
	q.counts.Dispatched++
}

// work is what the request is thought to take.
func (s *Seat) work() fcrequest.SeatSeconds {
	return fcrequest.SeatsTimesDuration(float64(s.seats), guess)
}

// bound keeps a queue that has used less than its share from saving it up: in
// virtual time nothing is served before it came.
func (q *queueSet) bound(u *queue) {
	if u.first != nil && u.next < u.first.arrived {
		u.next = u.first.arrived
	}
}

// Finish frees the seat of a request that has been served, and gives it to
// others. It does nothing to one that has none.
func (s *Seat) Finish(now time.Duration) {
	if s.state != sits {
		return
	}
	q, u := s.set, s.queue
	q.sync(now)
	s.state = outside
	q.served--
	q.inUse -= s.seats
	if u != nil {
		u.served--
		u.inUse -= s.seats
		q.queued -= s.seats
		// It was charged for a guess; now it is known how long it took.
		u.next -= fcrequest.SeatsTimesDuration(float64(s.seats), guess-(now-s.began))
		q.bound(u)
		q.rest(u)
	}
	q.dispatch()
}

// Leave takes a request that has waited too long out of its queue.
func (s *Seat) Leave(now time.Duration) {
	if s.state != waits {
		return
	}
	q, u := s.set, s.queue
	q.sync(now)
	s.state = outside
	u.remove(s)
	q.waiting--
	q.wanted -= s.seats
	q.counts.Rejected++
	q.counts.TimedOut++
	q.bound(u)
	q.rest(u)
}

// rest notes that nobody of a queue waits or is served any more.
func (q *queueSet) rest(u *queue) {
	if u.length == 0 && u.served == 0 {
		q.busy--
	}
}

func (u *queue) push(s *Seat) {
	s.prev, s.next = u.last, nil
	if u.last != nil {
		u.last.next = s
	} else {
		u.first = s
	}
	u.last = s
	u.length++
	u.work += s.work()
}

func (u *queue) remove(s *Seat) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		u.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		u.last = s.prev
	}
	s.prev, s.next = nil, nil
	u.length--
	u.work -= s.work()
}
