package raftstore

import (
	"hash/fnv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/member"
)

// applied hears every member's state machine and tells the world of each
// entry once: when the first member has applied it. Members apply in log
// order, so the world hears in log order.
func (s *Replicated) applied(id string, batch []member.Applied) {
	s.front.Lock()
	defer s.front.Unlock()
	for i := range batch {
		if a := &batch[i]; a.Index > s.reported {
			s.reported = a.Index
			s.foremost.Store(&id)
			s.report(id, a)
		} else {
			s.overQuota(id, a)
		}
	}
}

func (s *Replicated) report(id string, a *member.Applied) {
	switch a.Outcome {
	case member.OutOfOrder:
		s.order.again(a.Ticket.Epoch)
		return
	case member.Duplicate:
		return // whoever asked was answered at its first place in the log
	}
	if s.cfg.Applied != nil {
		s.cfg.Applied(a.Index, a.Request)
	}
	req := s.order.request(a.Ticket.Number)
	r := &Result{Response: a.Result.Response, Err: a.Result.Err, Index: a.Index, Revision: a.Result.Revision, Events: a.Result.Events, Request: req}
	if len(r.Events) > 0 && s.onCommit != nil && a.Term > s.bootTerm {
		s.onCommit(r)
	}
	if s.onUpkeep != nil && isUpkeep(r) && a.Term > s.bootTerm {
		s.onUpkeep(r)
	}
	s.leases.note(id, a)
	if len(r.Events) > 0 {
		s.recent.add(r.Revision, r.Events)
	}
	w := s.order.end(a.Ticket.Number, r.Revision)
	if w == nil {
		s.overQuota(id, a)
		return // it timed out, or was asked for before the store was reopened
	}
	s.fillHeader(HeaderOf(r.Response), id, a.Term)
	if a.OverQuota {
		s.full(id, func() { w.done(r) })
		return
	}
	w.done(r)
}

// fillHeader adds to a response's header what the state machine does not know.
func (s *Replicated) fillHeader(h *pb.ResponseHeader, id string, term uint64) {
	if h != nil {
		h.ClusterId, h.MemberId, h.RaftTerm = s.ClusterID(), MemberID(id), term
	}
}

// MemberID is a member's ID in response headers.
func MemberID(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte("kviz/" + id))
	return h.Sum64()
}
