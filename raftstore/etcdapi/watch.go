package etcdapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
)

// watchServer is etcd's Watch service.
type watchServer struct {
	pb.UnimplementedWatchServer
	*frontend
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
	*frontend
	stream   pb.Watch_WatchServer
	position int64      // the next revision of those that are up to date
	synced   watchers   // may start in the future
	behind   []*watcher // by ID
	// lost are the IDs of those that a compaction canceled: as in etcd the client
	// has to cancel them too. Until then the ID is taken, and the stream tells no
	// progress.
	lost     map[int64]struct{}
	touched  []*watcher // those with something to send
	nextID   int64
	era      uint64      // of the store's history
	progress bool        // was asked for
	look     *time.Timer // while the member is cut off: when to look again
}

// noWatch is the ID in answers that are not about one watcher.
const noWatch = -1

// grpcOverhead is what gRPC may add to a request.
const grpcOverhead = 512 * 1024

// Watch serves one stream until the client, the server or the loss of the leader
// ends it.
func (w *watchServer) Watch(stream pb.Watch_WatchServer) error {
	open := w.open.Load()
	if open == nil {
		return rpctypes.ErrGRPCStopped
	}
	s := &watchStream{frontend: w.frontend, stream: stream, position: w.revision() + 1}
	now, err := w.server.store.Changes(s.position)
	if err != nil {
		return err
	}
	s.era = now.Era
	s.numbers.WatchStreams.Inc()
	defer s.end()
	ctx := stream.Context()
	requests, ended := receive(w.server, stream)
	interval := w.server.cfg.WatchProgressInterval
	ticker := time.NewTicker(interval + rand.N(interval/10))
	defer ticker.Stop()
	for {
		more, err := s.advance()
		if err != nil {
			return err
		}
		select {
		case r := <-requests:
			err = s.request(r)
		case err := <-ended:
			if !errors.Is(err, io.EOF) {
				return asCanceled(err)
			}
			ended = nil // it asks no more, and still listens
		case <-more:
		case <-ticker.C:
			err = s.tick()
		case <-ctx.Done():
			return asCanceled(ctx.Err())
		case <-open.done:
			return rpctypes.ErrGRPCStopped
		}
		if err != nil {
			return err
		}
	}
}

func asCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return rpctypes.ErrGRPCWatchCanceled
	}
	return err
}

// receive reads requests on a goroutine that ends with the stream.
func receive(server *Server, stream pb.Watch_WatchServer) (<-chan *pb.WatchRequest, <-chan error) {
	requests, ended := make(chan *pb.WatchRequest), make(chan error, 1)
	server.begin("receive watch requests", func() {
		err := errPanicked
		defer func() { ended <- err }()
		for {
			r, failed := stream.Recv()
			if failed != nil {
				err = failed
				return
			}
			select {
			case requests <- r:
			case <-stream.Context().Done():
				err = stream.Context().Err()
				return
			}
		}
	})
	return requests, ended
}

func (s *watchStream) end() {
	s.numbers.WatchStreams.Dec()
	s.numbers.Watchers.Sub(float64(len(s.synced.all) + len(s.behind)))
	s.numbers.SlowWatch.Sub(float64(len(s.behind)))
	if s.look != nil {
		s.look.Stop()
	}
}

func (s *watchStream) request(r *pb.WatchRequest) error {
	switch u := r.RequestUnion.(type) {
	case *pb.WatchRequest_CreateRequest:
		if u.CreateRequest != nil {
			return s.create(u.CreateRequest)
		}
	case *pb.WatchRequest_CancelRequest:
		if u.CancelRequest != nil && s.cancel(u.CancelRequest.WatchId) {
			return s.stream.Send(&pb.WatchResponse{Header: s.now(), WatchId: u.CancelRequest.WatchId, Canceled: true})
		}
	case *pb.WatchRequest_ProgressRequest:
		if u.ProgressRequest != nil {
			s.progress = len(s.synced.all)+len(s.behind) > 0 && len(s.lost) == 0
		}
	}
	return nil
}

func (s *watchStream) now() *pb.ResponseHeader { return s.header(s.revision()) }

// create adds a watcher. Its answer comes before its first event.
func (s *watchStream) create(r *pb.WatchCreateRequest) error {
	header := s.now()
	refuse := func(reason string) error {
		return s.stream.Send(&pb.WatchResponse{Header: header, WatchId: noWatch, Created: true, Canceled: true, CancelReason: reason})
	}
	w, err := newWatcher(r, header.Revision)
	if errors.Is(err, rpctypes.ErrCompacted) {
		return refuse(err.Error())
	}
	if refused := s.permit(r); refused != nil {
		return refuse(refused.Error())
	}
	if err == nil {
		err = s.name(w, r.WatchId)
	}
	if err != nil {
		return refuse(err.Error())
	}
	if err := s.stream.Send(&pb.WatchResponse{Header: header, WatchId: w.id, Created: true}); err != nil {
		return err
	}
	s.numbers.Watchers.Inc()
	if w.next < s.position {
		s.behind = insert(s.behind, w)
		s.numbers.SlowWatch.Inc()
	} else {
		s.synced.add(w)
	}
	if compacted := s.server.store.CompactRevision(); r.StartRevision > 0 && r.StartRevision < compacted {
		return s.compacted(w, compacted)
	}
	return nil
}

// permit refuses a watcher whose keys the caller may not read.
//
// Mirrors etcd server/etcdserver/api/v3rpc/watch.go isWatchPermitted.
func (s *watchStream) permit(r *pb.WatchCreateRequest) error {
	key := r.Key
	if len(key) == 0 {
		key = []byte{0}
	}
	err := s.mayRead(s.stream.Context(), key, r.RangeEnd)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrInvalidAuthToken):
		return rpctypes.ErrGRPCInvalidAuthToken
	case errors.Is(err, auth.ErrAuthOldRevision):
		return rpctypes.ErrGRPCAuthOldRevision
	case errors.Is(err, auth.ErrUserEmpty):
		return rpctypes.ErrGRPCUserEmpty
	}
	return rpctypes.ErrGRPCPermissionDenied
}

// name gives the watcher the ID that the client wants, or the next free one.
func (s *watchStream) name(w *watcher, want int64) error {
	if want != 0 {
		if s.taken(want) {
			return errDuplicateID
		}
		w.id = want
		return nil
	}
	for s.taken(s.nextID) {
		s.nextID++
	}
	w.id = s.nextID
	s.nextID++
	return nil
}

func (s *watchStream) taken(id int64) bool {
	_, behind := byID(s.behind, id)
	_, lost := s.lost[id]
	return behind || lost || s.synced.all[id] != nil
}

// cancel takes a watcher away because its client wants that.
func (s *watchStream) cancel(id int64) bool {
	if _, lost := s.lost[id]; lost {
		delete(s.lost, id)
		return true
	}
	return s.remove(id)
}

func (s *watchStream) remove(id int64) bool {
	if i, ok := byID(s.behind, id); ok {
		s.behind = slices.Delete(s.behind, i, i+1)
		s.numbers.SlowWatch.Dec()
	} else if w := s.synced.all[id]; w != nil {
		s.synced.remove(w)
	} else {
		return false
	}
	s.numbers.Watchers.Dec()
	return true
}

func byID(list []*watcher, id int64) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(w *watcher, id int64) int { return cmp.Compare(w.id, id) })
}

func insert(list []*watcher, w *watcher) []*watcher {
	i, _ := byID(list, w.id)
	return slices.Insert(list, i, w)
}

// compacted cancels a watcher whose start is not there any more. As in etcd its
// header tells no revision.
func (s *watchStream) compacted(w *watcher, rev int64) error {
	s.remove(w.id)
	if s.lost == nil {
		s.lost = map[int64]struct{}{}
	}
	s.lost[w.id] = struct{}{}
	return s.stream.Send(&pb.WatchResponse{Header: s.header(0), WatchId: w.id, Canceled: true, CompactRevision: rev})
}
