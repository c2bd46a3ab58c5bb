package raftstore

import (
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// write is a request that changes the store, on its way through the log.
type write struct {
	number   uint64 // in call order
	req      *pb.InternalRaftRequest
	data     []byte
	done     func(*Result)
	deadline time.Duration // on the store's clock

	settled  bool
	revision int64 // after it; 0 if it failed
	offered  int   // how many leaders have been given it
	next     *write
	readers  []*read // reads called after it that wait for its end
}

// writes is the list of writes whose end is not known, in call order.
type writes struct {
	last       uint64 // number of the newest
	head, tail *write // tail may be settled: reads look at it
	byNumber   map[uint64]*write
	givenUp    map[uint64]*pb.InternalRaftRequest // settled before their end was known
	leases     int64                              // lease IDs given out
}

func (w *writes) push(n *write) {
	w.last++
	n.number = w.last
	if w.byNumber == nil {
		w.byNumber = map[uint64]*write{}
	}
	w.byNumber[n.number] = n
	if w.tail != nil {
		w.tail.next = n
	}
	w.tail = n
	if w.head == nil {
		w.head = n
	}
}

// forget has reads, those that wait already too, not be as of the last write any more:
// it is of a history that is gone. Call with mu held.
func (o *order) forget() {
	if t := o.writes.tail; t != nil && t.settled {
		t.revision = 0
	}
	for _, r := range slices.Concat(o.reads.waiting, o.reads.turn) {
		r.pinned = 0
	}
}

// write queues a request for the leader.
func (s *Replicated) write(req *pb.InternalRaftRequest, done func(*Result)) {
	w := &write{req: req, done: done, deadline: s.order.clock.now() + s.cfg.RequestTimeout}
	req, err := prepared(req, s.AuthStore, s.order.leaseID)
	if err != nil {
		done(&Result{Err: err})
		return
	}
	// Marshalling can be slow and needs no lock; the number, which decides the
	// order, is appended under the lock.
	data, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 0, proto.Size(req)+16), req)
	if err != nil {
		done(&Result{Err: err})
		return
	}
	if len(data) > MaxRequestBytes {
		done(&Result{Err: rpctypes.ErrGRPCRequestTooLarge})
		return
	}
	switch leader, err := s.order.take(w, data); {
	case errors.Is(err, errNoRoom):
		s.full(leader.Member(), func() { done(&Result{Err: rpctypes.ErrGRPCNoSpace}) })
	case err != nil:
		done(&Result{Err: err})
	}
}

// errNoRoom is why a write is not taken that the leader has no room for.
var errNoRoom = errors.New("the leader has no room")

// take puts a write at the end of those under way, which gives it its number. data is
// its request; on errNoRoom the leader is given too.
func (o *order) take(w *write, data []byte) (leadership, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.refusal(); err != nil {
		return nil, err
	}
	if o.store.outOfRoom() {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	if o.leader != nil && !o.leader.Available(w.req) { // without a leader there is nobody to ask
		return o.leader, errNoRoom
	}
	if o.writes.head == nil {
		poke(o.wakeDeadlines)
	}
	o.writes.push(w)
	w.data = appendHeader(data, w.number)
	o.epoch.wake()
	return o.leader, nil
}

// leaseID draws the ID of a lease that was requested without one.
func (o *order) leaseID() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes.leases++
	return firstLeaseID + o.writes.leases
}

// giveUp notes that a write may still take effect after its caller got an error.
func (w *writes) giveUp(n *write) {
	if w.givenUp == nil {
		w.givenUp = map[uint64]*pb.InternalRaftRequest{}
	}
	w.givenUp[n.number] = n.req
}

// applied is the request of a number that took effect, nil if it is from an
// earlier run. No request with a lower number can still take effect.
func (w *writes) applied(number uint64) *pb.InternalRaftRequest {
	req := w.givenUp[number]
	if n := w.byNumber[number]; n != nil {
		req = n.req
	}
	for old := range w.givenUp {
		if old <= number {
			delete(w.givenUp, old)
		}
	}
	return req
}

// refusal is why requests are not taken any more. Call with mu held.
func (o *order) refusal() error {
	if o.broken != nil {
		return o.broken
	}
	if o.closed {
		return rpctypes.ErrGRPCStopped
	}
	return nil
}

// appendHeader sets the marshalled request's Header.ID. Protobuf merges a
// message that occurs twice, so the request itself is not touched.
func appendHeader(data []byte, id uint64) []byte {
	data = protowire.AppendTag(data, 100, protowire.BytesType)
	data = protowire.AppendVarint(data, uint64(1+protowire.SizeVarint(id)))
	data = protowire.AppendTag(data, 1, protowire.VarintType)
	return protowire.AppendVarint(data, id)
}

// settle ends a write, once. It reports false if it had ended before. The
// caller then tells w.done, without holding mu.
func (o *order) settle(w *write, revision int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.settled {
		return false
	}
	w.settled, w.revision, w.data = true, revision, nil
	delete(o.writes.byNumber, w.number)
	for o.writes.head != nil && o.writes.head.settled {
		o.writes.head = o.writes.head.next
	}
	if len(w.readers) > 0 {
		for _, r := range w.readers {
			r.pinned = revision
		}
		o.reads.waiting = append(o.reads.waiting, w.readers...)
		w.readers = nil
		poke(o.wakeReads)
	}
	return true
}

// poke wakes a loop that may be awake already.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
