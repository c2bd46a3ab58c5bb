package etcdapi

import (
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
)

// advance sends every watcher what it has not been sent yet, as far as one reading of
// the history goes. There may be more when more is closed.
func (s *watchStream) advance() (more <-chan struct{}, err error) {
	for _, w := range slices.Clone(s.behind) {
		if err := s.catchUp(w); err != nil {
			return nil, err
		}
	}
	c, err := s.changes(s.position)
	if errors.Is(err, rpctypes.ErrGRPCCompacted) {
		return ready, s.overtaken()
	}
	if err != nil {
		return nil, err
	}
	if err := s.tellAll(c); err != nil {
		return nil, err
	}
	s.position = c.UpTo + 1
	if len(s.behind) > 0 {
		return ready, nil
	}
	select {
	case <-c.More:
		return ready, nil
	default:
	}
	if s.progress {
		s.progress = false
		return c.More, s.tellProgress()
	}
	return c.More, nil
}

var ready = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// lookAgain is how often a member that is cut off looks whether it still is.
const lookAgain = 50 * time.Millisecond

// changes reads the history from a revision on, as far as this member may tell
// of it: if it is cut off, as far as it has come itself.
func (s *watchStream) changes(from int64) (raftstore.Changes, error) {
	c, err := s.server.store.Changes(from)
	if err == nil && c.Era != s.era {
		// Another history stands in the store now: in etcd the members would have
		// been started again with it.
		s.shown.Store(0)
		return c, rpctypes.ErrGRPCStopped
	}
	if err != nil || s.reaches() {
		return c, err
	}
	limit := max(s.revision(), from-1)
	i := len(c.List)
	for i > 0 && c.List[i-1].Revision > limit {
		i--
	}
	c.List, c.UpTo, c.More = c.List[:i], min(c.UpTo, limit), s.lookLater()
	return c, nil
}

// lookLater is closed in a while.
func (s *watchStream) lookLater() <-chan struct{} {
	later := make(chan struct{})
	if s.look != nil {
		s.look.Stop()
	}
	s.look = time.AfterFunc(lookAgain, func() { close(later) })
	return later
}

// tellAll sends those that are up to date their part of the changes: whole
// revisions, in one response a watcher.
func (s *watchStream) tellAll(c raftstore.Changes) error {
	if len(s.synced.all) == 0 || len(c.List) == 0 {
		return nil
	}
	touched := s.touched[:0]
	for _, ch := range c.List {
		bytes := s.server.events.of(ch)
		for i, e := range ch.Events {
			s.synced.concerned(e, func(w *watcher) {
				if ch.Revision < w.next {
					return
				}
				if len(w.pending) == 0 {
					touched = append(touched, w)
				}
				w.pending = append(w.pending, bytes.form(w.prevKV)[i])
			})
		}
	}
	s.touched = touched
	if len(touched) == 0 {
		return nil
	}
	header := s.header(c.UpTo)
	for _, w := range touched {
		if err := s.deliver(w, header); err != nil {
			return err
		}
	}
	return nil
}

// catchUp brings a watcher that is behind one reading further.
func (s *watchStream) catchUp(w *watcher) error {
	c, err := s.changes(w.next)
	if errors.Is(err, rpctypes.ErrGRPCCompacted) {
		return s.compacted(w, s.server.store.CompactRevision())
	}
	if err != nil {
		return err
	}
	// etcd reads the former value at the revision before, when it sends the event:
	// of one that happened at the compaction it is gone, and clients rely on being
	// told that they ask for too old a revision.
	compacted := s.server.store.CompactRevision()
	for _, ch := range c.List {
		bytes := s.server.events.of(ch)
		prev := w.prevKV && ch.Revision > compacted
		for i, e := range ch.Events {
			if ch.Revision >= w.next && w.wants(e) {
				w.pending = append(w.pending, bytes.form(prev)[i])
			}
		}
	}
	w.next = max(w.next, c.UpTo+1)
	if len(w.pending) > 0 {
		if err := s.deliver(w, s.header(c.UpTo)); err != nil {
			return err
		}
	}
	if len(c.List) == 0 {
		// Nothing newer has been sent yet. The position can be ahead of that when
		// the member that had come furthest went down.
		s.position = min(s.position, w.next)
	}
	if w.next >= s.position {
		i, _ := byID(s.behind, w.id)
		s.behind = slices.Delete(s.behind, i, i+1)
		s.numbers.SlowWatch.Dec()
		s.synced.add(w)
	}
	return nil
}

// overtaken cancels the watchers whose next revision was compacted because
// their client did not read for long; those that start later stay.
func (s *watchStream) overtaken() error {
	rev := s.server.store.CompactRevision()
	for _, w := range s.sorted() {
		if max(w.next, s.position) < rev {
			if err := s.compacted(w, rev); err != nil {
				return err
			}
		}
	}
	s.position = max(s.position, rev)
	return nil
}

func (s *watchStream) sorted() []*watcher {
	list := make([]*watcher, 0, len(s.synced.all))
	for _, w := range s.synced.all {
		list = insert(list, w)
	}
	return list
}

// tellProgress says that all watchers of the stream have heard of everything up
// to a revision; not while one of them has not begun.
//
// Mirrors etcd server/storage/mvcc/watchable_store.go progressIfSync.
func (s *watchStream) tellProgress() error {
	for _, w := range s.synced.all {
		if w.start >= s.position {
			return nil
		}
	}
	return s.stream.Send(&pb.WatchResponse{Header: s.header(s.position - 1), WatchId: noWatch})
}

// tick sends progress notifications to the watchers that want them, have been sent
// nothing for a while and are up to date.
func (s *watchStream) tick() error {
	for _, w := range s.sorted() {
		quiet := w.quiet
		w.quiet = true
		if !w.notify || !quiet || w.start >= s.position {
			continue
		}
		if err := s.stream.Send(&pb.WatchResponse{Header: s.header(s.position - 1), WatchId: w.id}); err != nil {
			return err
		}
	}
	for _, w := range s.behind {
		w.quiet = true
	}
	return nil
}

// deliver sends what a watcher has pending, in pieces if it wants that and the
// whole is larger than a request may be.
//
// Mirrors etcd server/etcdserver/api/v3rpc/watch.go sendFragments.
func (s *watchStream) deliver(w *watcher, h *pb.ResponseHeader) error {
	events := w.pending
	w.pending = w.pending[:0]
	w.quiet = false
	s.numbers.Events.Add(float64(len(events)))
	most := s.server.cfg.MaxRequestBytes + grpcOverhead
	head := responseHead(h, w.id, false)
	if !w.fragment || len(events) < 2 || len(head)+sum(events) < most {
		return s.send(response(head, events))
	}
	for len(events) > 0 {
		n, size := 1, len(head)+2+len(events[0])
		for n < len(events) && size+len(events[n]) < most {
			size += len(events[n])
			n++
		}
		piece := responseHead(h, w.id, n < len(events))
		if err := s.send(response(piece, events[:n])); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// send sends a response that is bytes already; whoever looks at the stream from
// outside gets to see a message.
func (s *watchStream) send(e *encoded) error {
	if s.server.cfg.Stream == nil {
		return s.stream.SendMsg(e)
	}
	r := &pb.WatchResponse{}
	if err := proto.Unmarshal(e.Materialize(), r); err != nil {
		return err
	}
	return s.stream.Send(r)
}

func sum(list [][]byte) (n int) {
	for _, b := range list {
		n += len(b)
	}
	return n
}

// responseHead is a WatchResponse without its events.
func responseHead(h *pb.ResponseHeader, id int64, fragment bool) []byte {
	b := appendHeader(make([]byte, 0, 64), h)
	b = appendInt(b, 2, id)
	if fragment {
		b = appendInt(b, 7, 1)
	}
	return b
}

// copied is up to how many bytes a response is copied into one buffer, which is
// cheaper than sending it in parts.
const copied = 8 << 10

// response is a WatchResponse of its head and its events.
func response(head []byte, events [][]byte) *encoded {
	n := len(head) + sum(events)
	if n <= copied {
		pool := mem.DefaultBufferPool()
		buf := pool.Get(n)
		b := append((*buf)[:0], head...)
		for _, e := range events {
			b = append(b, e...)
		}
		*buf = b
		return &encoded{mem.BufferSlice{mem.NewBuffer(buf, pool)}}
	}
	parts := make(mem.BufferSlice, 0, 1+len(events))
	parts = append(parts, mem.SliceBuffer(head))
	for _, e := range events {
		parts = append(parts, mem.SliceBuffer(e))
	}
	return &encoded{parts}
}
