package etcdapi

import (
	"bytes"
	"errors"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
)

// watcher is one watch of a stream.
type watcher struct {
	id       int64
	key, end []byte // end: nil for the key alone, empty for every key from it on
	next     int64  // the first revision it has not been told of

	prevKV, noPut, noDelete bool
}

// What etcd's mvcc answers, in its words.
var (
	errEmptyRange  = errors.New("mvcc: watcher range is empty")
	errDuplicateID = errors.New("mvcc: duplicate watch ID provided on the WatchStream")
)

func newWatcher(r *pb.WatchCreateRequest, current int64) (*watcher, error) {
	w := &watcher{key: r.Key, next: r.StartRevision, prevKV: r.PrevKv}
	if len(w.key) == 0 {
		w.key = []byte{0} // the smallest key
	}
	switch {
	case r.StartRevision < 0:
		return nil, rpctypes.ErrCompacted
	case r.StartRevision == 0:
		w.next = current + 1
	}
	switch {
	case len(r.RangeEnd) == 1 && r.RangeEnd[0] == 0:
		w.end = []byte{}
	case len(r.RangeEnd) > 0:
		w.end = r.RangeEnd
		if bytes.Compare(w.key, w.end) >= 0 {
			return nil, errEmptyRange
		}
	}
	for _, f := range r.Filters {
		w.noPut = w.noPut || f == pb.WatchCreateRequest_NOPUT
		w.noDelete = w.noDelete || f == pb.WatchCreateRequest_NODELETE
	}
	return w, nil
}

func (w *watcher) wants(e *mvccpb.Event) bool {
	if e.Type == mvccpb.Event_PUT && w.noPut || e.Type == mvccpb.Event_DELETE && w.noDelete {
		return false
	}
	switch {
	case w.end == nil:
		return bytes.Equal(e.Kv.Key, w.key)
	case len(w.end) == 0:
		return bytes.Compare(e.Kv.Key, w.key) >= 0
	}
	return bytes.Compare(e.Kv.Key, w.key) >= 0 && bytes.Compare(e.Kv.Key, w.end) < 0
}

// events are those of the changes that the watcher wants, without what it did
// not ask for.
func (w *watcher) events(changes []raftstore.Change) []*mvccpb.Event {
	var list []*mvccpb.Event
	for _, c := range changes {
		if c.Revision < w.next {
			continue
		}
		for _, e := range c.Events {
			if !w.wants(e) {
				continue
			}
			if !w.prevKV && e.PrevKv != nil {
				e = &mvccpb.Event{Type: e.Type, Kv: e.Kv}
			}
			list = append(list, e)
		}
	}
	return list
}

// advance tells every watcher what it has not been told of, as far as one
// reading of the history goes. More may be there when more is closed.
func (s *watchStream) advance() (more <-chan struct{}, err error) {
	for _, w := range slices.Clone(s.behind) {
		if err := s.catchUp(w); err != nil {
			return nil, err
		}
	}
	c, err := s.server.history.Changes(s.position)
	if errors.Is(err, rpctypes.ErrGRPCCompacted) {
		return ready, s.overtaken()
	}
	if err != nil {
		return nil, err
	}
	header := s.header(c.UpTo)
	for _, w := range s.synced {
		if err := s.tell(w, c, header); err != nil {
			return nil, err
		}
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
		return c.More, s.stream.Send(&pb.WatchResponse{Header: s.header(s.position - 1), WatchId: noWatch})
	}
	return c.More, nil
}

var ready = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// tell sends a watcher its part of the changes: whole revisions, in one
// response.
func (s *watchStream) tell(w *watcher, c raftstore.Changes, h *pb.ResponseHeader) error {
	events := w.events(c.List)
	w.next = max(w.next, c.UpTo+1)
	if len(events) == 0 {
		return nil
	}
	return s.stream.Send(&pb.WatchResponse{Header: h, WatchId: w.id, Events: events})
}

// catchUp brings a watcher that is behind one reading further.
func (s *watchStream) catchUp(w *watcher) error {
	c, err := s.server.history.Changes(w.next)
	if errors.Is(err, rpctypes.ErrGRPCCompacted) {
		return s.compacted(w, s.server.history.CompactRevision())
	}
	if err != nil {
		return err
	}
	if err := s.tell(w, c, s.header(c.UpTo)); err != nil {
		return err
	}
	if len(c.List) == 0 {
		// Nothing newer was told of yet. The position can be ahead of that when
		// the member that had come furthest went down.
		s.position = min(s.position, w.next)
	}
	if w.next >= s.position {
		s.behind = slices.DeleteFunc(s.behind, func(other *watcher) bool { return other == w })
		s.synced = insert(s.synced, w)
	}
	return nil
}

// overtaken cancels the watchers whose next revision was compacted because
// their client did not read for long; those that start later stay.
func (s *watchStream) overtaken() error {
	rev := s.server.history.CompactRevision()
	for _, w := range slices.Clone(s.synced) {
		if max(w.next, s.position) < rev {
			if err := s.compacted(w, rev); err != nil {
				return err
			}
		}
	}
	s.position = max(s.position, rev)
	return nil
}
