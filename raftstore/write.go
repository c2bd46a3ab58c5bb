package raftstore

import (
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
func (s *Replicated) forget() {
	if t := s.writes.tail; t != nil && t.settled {
		t.revision = 0
	}
	for _, r := range slices.Concat(s.reads.waiting, s.reads.turn) {
		r.pinned = 0
	}
}

// write queues a request for the leader.
func (s *Replicated) write(req *pb.InternalRaftRequest, done func(*Result)) {
	w := &write{req: req, done: done, deadline: s.clock.now() + s.cfg.RequestTimeout}
	req, err := prepared(req, s.AuthStore, s.leaseID)
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
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		done(&Result{Err: err})
		return
	}
	if s.outOfRoom() {
		s.mu.Unlock()
		done(&Result{Err: rpctypes.ErrGRPCNoSpace})
		return
	}
	if !s.available(req) {
		id := s.leader.Member()
		s.mu.Unlock()
		s.full(id, func() { done(&Result{Err: rpctypes.ErrGRPCNoSpace}) })
		return
	}
	idle := s.writes.head == nil
	s.writes.push(w)
	w.data = appendHeader(data, w.number)
	s.epoch.wake()
	s.mu.Unlock()
	if idle {
		poke(s.wakeDeadlines)
	}
}

// leaseID draws the ID of a lease that was asked for without one.
func (s *Replicated) leaseID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes.leases++
	return firstLeaseID + int64(s.bootTerm)<<32 + s.writes.leases
}

// giveUp notes that a write may still take effect after its end was told.
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
func (s *Replicated) refusal() error {
	if s.broken != nil {
		return s.broken
	}
	if s.closed {
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
func (s *Replicated) settle(w *write, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.settled {
		return false
	}
	w.settled, w.revision, w.data = true, revision, nil
	delete(s.writes.byNumber, w.number)
	for s.writes.head != nil && s.writes.head.settled {
		s.writes.head = s.writes.head.next
	}
	if len(w.readers) > 0 {
		for _, r := range w.readers {
			r.pinned = revision
		}
		s.reads.waiting = append(s.reads.waiting, w.readers...)
		w.readers = nil
		poke(s.wakeReads)
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
