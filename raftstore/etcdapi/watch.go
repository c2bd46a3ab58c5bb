package etcdapi

import (
	"cmp"
	"errors"
	"io"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/status"
)

// watchServer is etcd's Watch service.
type watchServer struct {
	pb.UnimplementedWatchServer
	*face
}

// watchStream is one connection's watchers.
//
// Those that are up to date share one position in the store's history and are
// served together, as etcd's synced watchers; one that starts in the past, or
// whose client was slow, reads the history by itself until it has caught up.
// No events are queued: a client that does not read costs nothing.
//
// Mirrors etcd server/etcdserver/api/v3rpc/watch.go serverWatchStream and
// server/storage/mvcc/watchable_store.go.
type watchStream struct {
	*face
	stream   pb.Watch_WatchServer
	position int64      // the next revision of those that are up to date
	synced   []*watcher // by ID; may start in the future
	behind   []*watcher // by ID
	nextID   int64
	progress bool // was asked for
}

// noWatch is the ID in answers that are not about one watcher.
const noWatch = -1

// Watch serves one stream until the client or the server ends it.
func (w *watchServer) Watch(stream pb.Watch_WatchServer) error {
	s := &watchStream{face: w.face, stream: stream, position: w.server.history.Revision() + 1}
	requests, ended := w.receive(stream)
	for {
		more, err := s.advance()
		if err != nil {
			return err
		}
		select {
		case r := <-requests:
			err = s.request(r)
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-more:
			if !s.up() {
				return rpctypes.ErrGRPCStopped
			}
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-w.server.closing:
			return rpctypes.ErrGRPCStopped
		}
		if err != nil {
			return err
		}
	}
}

// receive reads requests on a goroutine that ends with the stream.
func (w *watchServer) receive(stream pb.Watch_WatchServer) (<-chan *pb.WatchRequest, <-chan error) {
	requests, ended := make(chan *pb.WatchRequest), make(chan error, 1)
	w.server.running.Go(func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- r:
			case <-stream.Context().Done():
				return
			}
		}
	})
	return requests, ended
}

func (s *watchStream) request(r *pb.WatchRequest) error {
	switch u := r.RequestUnion.(type) {
	case *pb.WatchRequest_CreateRequest:
		if u.CreateRequest != nil {
			return s.create(u.CreateRequest)
		}
	case *pb.WatchRequest_CancelRequest:
		if u.CancelRequest != nil && s.remove(u.CancelRequest.WatchId) {
			return s.stream.Send(&pb.WatchResponse{Header: s.now(), WatchId: u.CancelRequest.WatchId, Canceled: true})
		}
	case *pb.WatchRequest_ProgressRequest:
		s.progress = len(s.synced)+len(s.behind) > 0
	}
	return nil
}

func (s *watchStream) now() *pb.ResponseHeader { return s.header(s.server.history.Revision()) }

// create adds a watcher. Its answer comes before its first event.
func (s *watchStream) create(r *pb.WatchCreateRequest) error {
	header := s.now()
	w, err := newWatcher(r, header.Revision)
	if err == nil {
		err = s.name(w, r.WatchId)
	}
	if err != nil {
		return s.stream.Send(&pb.WatchResponse{Header: header, WatchId: noWatch, Created: true, Canceled: true, CancelReason: err.Error()})
	}
	if err := s.stream.Send(&pb.WatchResponse{Header: header, WatchId: w.id, Created: true}); err != nil {
		return err
	}
	if compacted := s.server.history.CompactRevision(); r.StartRevision > 0 && r.StartRevision < compacted {
		return s.compacted(w, compacted)
	}
	if w.next < s.position {
		s.behind = insert(s.behind, w)
	} else {
		s.synced = insert(s.synced, w)
	}
	return nil
}

// name gives the watcher the ID that the client wants, or the next free one.
func (s *watchStream) name(w *watcher, want int64) error {
	if want != 0 {
		if s.has(want) {
			return errDuplicateID
		}
		w.id = want
		return nil
	}
	for s.has(s.nextID) {
		s.nextID++
	}
	w.id = s.nextID
	s.nextID++
	return nil
}

func (s *watchStream) has(id int64) bool {
	is := func(w *watcher) bool { return w.id == id }
	return slices.ContainsFunc(s.synced, is) || slices.ContainsFunc(s.behind, is)
}

func (s *watchStream) remove(id int64) bool {
	there := s.has(id)
	is := func(w *watcher) bool { return w.id == id }
	s.synced, s.behind = slices.DeleteFunc(s.synced, is), slices.DeleteFunc(s.behind, is)
	return there
}

func insert(list []*watcher, w *watcher) []*watcher {
	i, _ := slices.BinarySearchFunc(list, w.id, func(w *watcher, id int64) int { return cmp.Compare(w.id, id) })
	return slices.Insert(list, i, w)
}

// compacted cancels a watcher whose start is not there any more.
func (s *watchStream) compacted(w *watcher, rev int64) error {
	s.remove(w.id)
	return s.stream.Send(&pb.WatchResponse{Header: s.now(), WatchId: w.id, Canceled: true, CompactRevision: rev})
}
