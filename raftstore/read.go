package raftstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/member"
)

// read is a linearizable Range under way.
type read struct {
	req      *pb.RangeRequest
	who      *pb.RequestHeader // who asks
	done     func(*Result)
	deadline time.Duration // on the store's clock
	// pinned is the revision after the last write called before the read: the
	// answer is as of there, so that it does not depend on how far later writes
	// have come. 0 when there was none or it failed: the answer is as of now.
	pinned  int64
	settled bool
}

// reads are the reads that wait for their turn, and those of the turn.
type reads struct {
	waiting []*read
	turn    []*read
	cancel  context.CancelFunc // ends the turn's attempt
}

// restart makes the turn try again. Call with mu held.
func (r *reads) restart() {
	if r.cancel != nil {
		r.cancel()
	}
}

// read queues a linearizable Range behind the writes that were called before.
func (o *order) read(who *pb.RequestHeader, req *pb.RangeRequest, done func(*Result)) {
	r := &read{req: req, who: who, done: done, deadline: o.clock.now() + o.timeout}
	o.mu.Lock()
	if err := o.refusal(); err != nil {
		o.mu.Unlock()
		done(&Result{Err: err})
		return
	}
	if t := o.writes.tail; t != nil && !t.settled {
		t.readers = append(t.readers, r)
		o.mu.Unlock()
		return
	}
	if t := o.writes.tail; t != nil {
		r.pinned = t.revision
	}
	first := len(o.reads.waiting) == 0
	o.reads.waiting = append(o.reads.waiting, r)
	o.mu.Unlock()
	if first {
		poke(o.wakeReads)
		poke(o.wakeDeadlines)
	}
}

// readLoop is the goroutine that answers linearizable reads: one proof of
// leadership for all that wait, as etcd's linearizableReadLoop.
func (o *order) readLoop() {
	for {
		leader, ctx, ok := o.beginTurn()
		if !ok {
			return
		}
		if leader == nil {
			select {
			case <-o.wakeReads:
			case <-o.closing:
			}
			continue
		}
		began, waiting := time.Now(), o.turn()
		err := leader.ReadIndex(ctx)
		o.store.proved(leader, waiting, time.Since(began), err)
		for _, r := range o.endTurn(err == nil) {
			r.done(o.store.answer(r, leader))
		}
		if err != nil {
			o.pause(10 * time.Millisecond)
		}
	}
}

// turn is how many reads are being answered.
func (o *order) turn() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.reads.turn)
}

// proved reports a round in which the leader confirmed its leadership.
func (s *Replicated) proved(leader leadership, reads int, took time.Duration, err error) {
	if s.cfg.Events == nil {
		return
	}
	told := &member.Read{Term: leader.Term(), Reads: reads, Took: took}
	if m, e := s.membership.member(leader.Member()); e == nil {
		told.Index = m.Status().Commit
	}
	if err != nil {
		told.Error = err.Error()
	}
	s.tell(Event{Kind: member.KindRead, Member: leader.Member(), Read: told})
}

// pause waits a little, or until something changed.
func (o *order) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.wakeReads:
	case <-o.closing:
	}
}

// beginTurn takes what waits, if there is a leader to ask.
func (o *order) beginTurn() (leadership, context.Context, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, nil, false
	}
	if o.leader == nil || len(o.reads.waiting) == 0 {
		return nil, nil, true
	}
	o.reads.turn, o.reads.waiting = o.reads.waiting, nil
	ctx, cancel := context.WithCancel(context.Background())
	o.reads.cancel = cancel
	return o.leader, ctx, true
}

// endTurn gives the reads to answer now, or puts them back.
func (o *order) endTurn(success bool) []*read {
	o.mu.Lock()
	defer o.mu.Unlock()
	turn := o.reads.turn
	o.reads.cancel()
	o.reads.turn, o.reads.cancel = nil, nil
	unsettled := turn[:0]
	for _, r := range turn {
		if !r.settled {
			r.settled = success
			unsettled = append(unsettled, r)
		}
	}
	if success {
		return unsettled
	}
	o.reads.waiting = append(unsettled, o.reads.waiting...)
	return nil
}

// answer reads from the leader's state, which ReadIndex has found fresh enough.
func (s *Replicated) answer(r *read, leader leadership) *Result {
	if r.pinned > 0 && r.req.Revision > r.pinned {
		return &Result{Err: rpctypes.ErrGRPCFutureRev, Revision: r.pinned}
	}
	if err := s.mayRead(leader.Member(), r.who, r.req); err != nil {
		return &Result{Err: err}
	}
	resp, err := leader.Range(r.req)
	if err == nil && r.pinned > 0 && resp.Header.Revision != r.pinned && r.req.Revision == 0 {
		then := proto.Clone(r.req).(*pb.RangeRequest)
		then.Revision = r.pinned
		// Compacted meanwhile: the newer answer is as true.
		if old, err := leader.Range(then); err == nil {
			resp = old
			resp.Header.Revision = r.pinned
		}
	}
	if err != nil {
		return &Result{Err: err}
	}
	s.fillHeader(resp.Header, leader.Member(), leader.Term())
	return &Result{Response: resp, Revision: resp.Header.Revision}
}

// serializable answers a Range without asking anybody: from the leader if one
// is known, else from the member that has come furthest.
func (s *Replicated) serializable(who *pb.RequestHeader, req *pb.RangeRequest) *Result {
	leader, err := s.order.current()
	if err != nil {
		return &Result{Err: err}
	}
	var best peer
	for _, m := range s.membership.group().members {
		if !m.Up() {
			continue
		}
		if leader != nil && m.ID() == leader.Member() {
			best = m
			break
		}
		if best == nil || m.Status().Applied > best.Status().Applied {
			best = m
		}
	}
	if best == nil {
		return &Result{Err: rpctypes.ErrGRPCStopped}
	}
	if err := s.mayRead(best.ID(), who, req); err != nil {
		return &Result{Err: err}
	}
	resp, err := best.Range(req)
	if err != nil {
		return &Result{Err: err}
	}
	s.fillHeader(resp.Header, best.ID(), best.Glance().Term)
	return &Result{Response: resp, Revision: resp.Header.Revision}
}

// RangeAt answers a Range from one member's own state, however old that is: etcd's
// serializable read. It does not check permissions; see AuthStoreAt.
func (s *Replicated) RangeAt(id string, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	m, err := s.membership.member(id)
	if err != nil {
		return nil, err
	}
	resp, err := m.Range(req)
	if err != nil {
		return nil, err
	}
	s.fillHeader(resp.Header, id, m.Status().Term)
	return resp, nil
}
