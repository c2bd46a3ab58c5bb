package raftstore

import (
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// order is the requests under way, in the order in which they were called: writes
// (write.go), which one leader after the other is given until their end is known
// (feed.go); linearizable reads, which wait for the writes called before them (read.go);
// and how all of them end when their time is over (deadline.go).
type order struct {
	store   answering
	clock   clock
	timeout time.Duration // how long a request may take
	closing chan struct{} // closed with the store

	wakeReads     chan struct{}
	wakeDeadlines chan struct{}

	mu        sync.Mutex
	writes    writes
	reads     reads
	leader    leadership // nil while there is none
	epoch     *epoch     // what the leader is being given
	lastEpoch uint64     // the ID of the newest
	closed    bool
	broken    error // why the store cannot go on
}

// answering is what the order of requests needs of the store: who answers.
type answering interface {
	// answer reads from the leader's state, which has been found fresh enough.
	answer(r *read, leader leadership) *Result
	// proved is called after a round by which the leader made sure that it still leads.
	proved(leader leadership, reads int, took time.Duration, err error)
	// outOfRoom says that no write can be committed, for want of room.
	outOfRoom() bool
	spawn(name string, fn func())
}

func newOrder(store answering, timeout time.Duration) *order {
	return &order{
		store: store, timeout: timeout, clock: clock{turned: time.Now()},
		closing: make(chan struct{}), wakeReads: make(chan struct{}, 1), wakeDeadlines: make(chan struct{}, 1),
	}
}

// serve begins to answer.
func (o *order) serve() {
	o.store.spawn("reads", o.readLoop)
	o.store.spawn("deadlines", o.deadlineLoop)
}

// Leader is the member that leads, "" if there is none.
func (o *order) Leader() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leader == nil {
		return ""
	}
	return o.leader.Member()
}

// current is the leader, nil while there is none, or why requests are not taken any more.
func (o *order) current() (leadership, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leader, o.refusal()
}

// leads is the leader, and the ID of the epoch in which it is given requests, 0 for none.
func (o *order) leads() (leader leadership, epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.epoch == nil {
		return o.leader, 0
	}
	return o.leader, o.epoch.id
}

// still reports whether somebody leads still, and the store is open. Then fn is called,
// if there is one, before another leader is known.
func (o *order) still(leader leadership, fn func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || !sameLeader(leader, o.leader) {
		return false
	}
	if fn != nil {
		fn()
	}
	return true
}

// again has an epoch start over: it lost a write on its way.
func (o *order) again(epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.renew(epoch)
}

// someLeader is the leader. It waits for one a little: there may be an election.
func (o *order) someLeader() (leadership, error) {
	return o.awaitLeader(o.clock.now()+4*member.ElectionTimeout, rpctypes.ErrGRPCNoLeader)
}

func (o *order) awaitLeader(deadline time.Duration, late error) (leadership, error) {
	for {
		leader, err := o.current()
		switch {
		case err != nil:
			return nil, err
		case leader != nil:
			return leader, nil
		case o.clock.now() >= deadline:
			return nil, late
		}
		o.sleep(5 * time.Millisecond)
	}
}

// request is that of a number that took effect, nil if it is from an earlier run.
func (o *order) request(number uint64) *pb.InternalRaftRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes.applied(number)
}

// end ends the write of a number, which the caller then tells its caller; nil if it has
// ended before, or is from an earlier run.
func (o *order) end(number uint64, revision int64) *write {
	o.mu.Lock()
	w := o.writes.byNumber[number]
	o.mu.Unlock()
	if w == nil || !o.settle(w, revision) {
		return nil
	}
	return w
}

// endUpTo ends the writes up to a number with an error: what became of them is not known.
func (o *order) endUpTo(number uint64, err error) {
	o.mu.Lock()
	var over []*write
	for w := o.writes.head; w != nil; w = w.next {
		if !w.settled && w.number <= number {
			over = append(over, w)
		}
	}
	o.mu.Unlock()
	for _, w := range over {
		if o.settle(w, 0) {
			w.done(&Result{Err: err})
		}
	}
}

// goOn has numbers, lease IDs and epochs begin above those of an earlier driver.
func (o *order) goOn(lastNumber uint64, firstLease int64, epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes.last, o.writes.leases, o.lastEpoch = lastNumber, firstLease, epoch
}

// close takes no more requests. It reports false if they were not taken before.
func (o *order) close() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.closed = true
	close(o.closing)
	o.endEpoch()
	return true
}

// wake checks the clock again: it is running again.
func (o *order) wake() { poke(o.wakeDeadlines) }

// broke has every request to come end with an error.
func (o *order) broke(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = err
}

// forgetHistory has no read be as of what is history no more.
func (o *order) forgetHistory() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget()
}

// sleep waits in real time, or until the store is closed.
func (o *order) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.closing:
	}
}
