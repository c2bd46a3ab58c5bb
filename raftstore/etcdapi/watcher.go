package etcdapi

import (
	"bytes"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// watcher is one watch of a stream.
type watcher struct {
	id       int64
	key, end []byte // end: nil for the key alone, empty for every key from it on
	start    int64  // the revision that the client asked for
	next     int64  // the first revision it has not been told of

	prevKV, noPut, noDelete bool
	fragment                bool
	notify                  bool // wants to hear of progress from time to time
	quiet                   bool // was sent nothing since the last time

	pending [][]byte // events to send, as bytes
}

// What etcd's mvcc answers, in its words.
var (
	errEmptyRange  = errors.New("mvcc: watcher range is empty")
	errDuplicateID = errors.New("mvcc: duplicate watch ID provided on the WatchStream")
)

func newWatcher(r *pb.WatchCreateRequest, current int64) (*watcher, error) {
	w := &watcher{key: r.Key, start: r.StartRevision, next: r.StartRevision, prevKV: r.PrevKv, fragment: r.Fragment, notify: r.ProgressNotify, quiet: true}
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

// wants reports whether the watcher is to be sent an event.
func (w *watcher) wants(e *mvccpb.Event) bool { return !w.filtered(e) && w.covers(e.Kv.Key) }

func (w *watcher) filtered(e *mvccpb.Event) bool {
	return e.Type == mvccpb.Event_PUT && w.noPut || e.Type == mvccpb.Event_DELETE && w.noDelete
}

func (w *watcher) covers(key []byte) bool {
	switch {
	case w.end == nil:
		return bytes.Equal(key, w.key)
	case len(w.end) == 0:
		return bytes.Compare(key, w.key) >= 0
	}
	return bytes.Compare(key, w.key) >= 0 && bytes.Compare(key, w.end) < 0
}

// watchers are those of a stream that are up to date: by key the ones that watch
// one, in a list the ones that watch a range. So an event costs what it
// concerns, however many keys the stream watches.
type watchers struct {
	all    map[int64]*watcher
	keys   map[string][]*watcher
	ranges []*watcher
}

func (ws *watchers) add(w *watcher) {
	if ws.all == nil {
		ws.all, ws.keys = map[int64]*watcher{}, map[string][]*watcher{}
	}
	ws.all[w.id] = w
	if w.end == nil {
		ws.keys[string(w.key)] = append(ws.keys[string(w.key)], w)
	} else {
		ws.ranges = append(ws.ranges, w)
	}
}

func (ws *watchers) remove(w *watcher) {
	delete(ws.all, w.id)
	if w.end != nil {
		ws.ranges = without(ws.ranges, w)
		return
	}
	if rest := without(ws.keys[string(w.key)], w); len(rest) > 0 {
		ws.keys[string(w.key)] = rest
	} else {
		delete(ws.keys, string(w.key))
	}
}

func without(list []*watcher, w *watcher) []*watcher {
	for i, other := range list {
		if other == w {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// concerned calls fn with every watcher that wants an event.
func (ws *watchers) concerned(e *mvccpb.Event, fn func(*watcher)) {
	for _, w := range ws.keys[string(e.Kv.Key)] {
		if !w.filtered(e) {
			fn(w)
		}
	}
	for _, w := range ws.ranges {
		if w.wants(e) {
			fn(w)
		}
	}
}
