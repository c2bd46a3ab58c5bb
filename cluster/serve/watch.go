package serve

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// minWatch is the shortest time after which the server ends a watch that set
// no limit of its own; the time is drawn between it and twice as much
// (kube-apiserver --min-request-timeout).
const minWatch = 30 * time.Minute

// stream carries watch events from the simulation to an HTTP response. It is
// unbounded, so a slow reader does not hold the cluster up; the watch of one that
// takes nothing ends, see [stream.stuck].
type stream struct {
	watch  client.Watch
	h      *Handler
	number uint64 // of the request
	feed   *Feed  // of its sender, who may be nobody
	over   bool   // the watch has ended; kernel's goroutine, as what follows
	unread bool   // nobody reads

	mu      sync.Mutex
	events  []timed
	bytes   int // that wait, about
	ended   bool
	dropped bool // nobody takes any more
	wake    chan struct{}
	wrote   atomic.Int64 // while there is something to write: when the connection took something last, in the machine's time
}

// stuckAfter is how long, in the machine's time, a connection may take nothing while
// more events wait than the watcher's buffer holds. Upstream has 100 ms for that;
// here the machine may just be busy with the simulation.
const stuckAfter = time.Second

// bounded is a watch that can be ended because its client is too slow.
type bounded interface {
	Room() int // how many events may wait
	TooSlow(waiting int, waited time.Duration)
}

// Of a watch whose connection takes nothing so many bytes may wait, beside what the
// watcher's buffer holds, and so many of all watches: old states of objects, that nobody else
// may have any more.
const (
	mostWaiting     = 16 << 20
	mostWaitingEach = 1 << 20 // once all have too many
)

// stuck reports whether the connection takes nothing though too much waits, and how long it
// has not. The machine's time is the connection's; the simulation hears of the end only.
func (s *stream) stuck(room int) (waiting int, waited time.Duration, stuck bool) {
	s.mu.Lock()
	waiting = len(s.events)
	many := waiting > room || s.bytes > mostWaiting || s.bytes > mostWaitingEach && s.h.unread.waiting() > mostUnread
	s.mu.Unlock()
	since := s.wrote.Load()
	if since == 0 || !many {
		return waiting, 0, false
	}
	waited = time.Since(time.Unix(0, since))
	return waiting, waited, waited > stuckAfter
}

// Of the events that a watch begins with so many are taken before others have their turns, in
// the modelled time of each.
const (
	atOnce   = 256
	perEvent = 5 * time.Microsecond
)

// beginning reports whether events wait that a watch begins with.
func beginning(w client.Watch) bool {
	b, ok := w.(interface{ Beginning() bool })
	return ok && b.Beginning()
}

type timed struct {
	client.WatchEvent
	now time.Time // virtual
}

// feed starts a task that takes events from w into a stream, until the watch
// ends or its time (virtual) is over. A caller that waits is somebody for whom time
// has to pass until then.
func (h *Handler) feed(t *sim.Task, w client.Watch, req *request.Request, caller Caller, number uint64) *stream {
	s := &stream{watch: w, h: h, number: number, feed: caller.Feed, wake: make(chan struct{}, 1)}
	limit := minWatch + time.Duration(t.Rand().Int64N(int64(minWatch)))
	if n := req.List.TimeoutSeconds; n != nil && *n > 0 {
		limit = time.Duration(*n) * time.Second
	}
	if caller.Most > 0 {
		limit = caller.Most
	}
	timer := t.Kernel().After(limit, w.Stop)
	causes := t.Causes()
	task := t.Process().Go("watch "+req.Resource.Resource, func(t *sim.Task) {
		defer s.end()
		defer func() { s.over = true }()
		defer timer.Cancel()
		t.SetCauses(causes...)
		if broken := t.HandleCrashOn(trace.Ref{}, "a watch of "+req.Resource.Resource, func() { s.follow(t) }); broken != nil {
			w.Stop() // the client watches again
		}
	})
	k := t.Kernel()
	if caller.Waits {
		k.AddDemand(1)
	}
	task.OnEnd(func() {
		if caller.Waits {
			k.AddDemand(-1)
		}
		caller.Feed.add(0, true)
	})
	return s
}

// follow takes what the watch tells until it ends.
func (s *stream) follow(t *sim.Task) {
	for n := 1; ; n++ {
		e, ok := s.watch.Recv(t)
		if !ok {
			return
		}
		if n%atOnce == 0 && beginning(s.watch) {
			t.Sleep(atOnce * perEvent)
		}
		if s.unread {
			continue
		}
		s.put(timed{e, t.Now()})
		s.feed.add(1, false)
		if b, ok := s.watch.(bounded); ok {
			if n, waited, stuck := s.stuck(b.Room()); stuck {
				b.TooSlow(n, waited)
			}
		}
	}
}

// expired is the stream of a watch that begins too long ago: 200, and then an
// ERROR event that says 410 Gone (cacher.go newErrWatcher). A client whose watch
// was open finds out in the same way.
func expired(t *sim.Task, err error) *stream {
	s := &stream{wake: make(chan struct{}, 1)}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		object := status.Status()
		s.put(timed{client.WatchEvent{Type: watch.Error, Object: &object}, t.Now()})
	}
	s.end()
	return s
}

func (s *stream) put(e timed) {
	s.mu.Lock()
	if !s.dropped {
		s.events = append(s.events, e)
		s.count(e.Size)
	}
	s.mu.Unlock()
	s.ring()
}

// count counts bytes that wait, or wait no longer.
func (s *stream) count(n int) {
	if s.bytes += n; s.h != nil && n != 0 {
		s.h.unread.count(n)
	}
}

func (s *stream) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.ring()
}

func (s *stream) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take gives the next event, if one waits; ended is true when nothing more will.
func (s *stream) take() (e timed, waits, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return e, false, s.ended
	}
	e = s.events[0]
	s.events[0] = timed{}
	if s.events = s.events[1:]; len(s.events) == 0 {
		s.events = nil
	}
	s.count(-e.Size)
	return e, true, false
}

// drop forgets what waits: the connection has gone.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(-s.bytes)
	s.events, s.dropped = nil, true
}

// writeWatch sends a stream as a chunked response until it ends or the client
// leaves (apiserver pkg/endpoints/handlers/watch.go HandleHTTP).
func (h *Handler) writeWatch(w http.ResponseWriter, r *http.Request, req *request.Request, out output, feed *stream, resp *request.Response) {
	defer feed.drop()
	defer feed.stop()
	if out.info.StreamSerializer == nil || out.info.StreamSerializer.Framer == nil {
		writeStatus(w, r, notAcceptable("only the following media types are accepted: application/json;stream=watch, application/yaml;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"))
		return
	}
	mediaType := out.info.MediaType
	if mediaType != runtime.ContentTypeJSON {
		mediaType += ";stream=watch"
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(http.StatusOK)
	to := h.patiently(w)
	defer to.end()
	to.Flush()
	frames := out.info.StreamSerializer.Framer.NewFrameWriter(to)
	for {
		e, waits, ended := feed.take()
		if waits {
			feed.wrote.Store(time.Now().UnixNano())
			if h.writeEvent(frames, resp.Kind, &out, e) != nil {
				return
			}
			continue
		}
		if feed.wrote.Load() != 0 {
			to.Flush()
			feed.wrote.Store(0)
		}
		if ended {
			return
		}
		to.end()
		select {
		case <-feed.wake:
		case <-r.Context().Done():
			return
		}
	}
}

// writeEvent writes one event as the client asked for it, in bytes that are shared with other
// watchers.
func (h *Handler) writeEvent(frames io.Writer, k *registry.Kind, out *output, e timed) error {
	if out.convert != nil || e.Type == watch.Error { // a table tells ages, and its columns once
		b, err := h.encodeEvent(k, out, e)
		if err == nil {
			_, err = frames.Write(b)
		}
		return err
	}
	f := form{object: e.Object, kind: e.Type, mediaType: out.info.MediaType, pretty: out.info.Serializer == out.info.PrettySerializer}
	b, done, err := h.encoded.of(f, func() ([]byte, error) { return h.encodeEvent(k, out, e) })
	defer done()
	if err == nil {
		_, err = frames.Write(b)
	}
	return err
}

// encodeEvent is one event as the client asked for it. In a watch of tables
// only the first one says its columns.
func (h *Handler) encodeEvent(k *registry.Kind, out *output, e timed) ([]byte, error) {
	h.turns.take()
	defer h.turns.give()
	obj := e.Object
	if s, ok := obj.(*metav1.Status); ok || e.Type == watch.Error {
		if ok {
			s = s.DeepCopy()
			s.Kind, s.APIVersion = "Status", "v1"
			obj = s
		}
	} else {
		converted, status := h.singleObject(k, *out, obj, e.now)
		if status != nil {
			e.Type, converted = watch.Error, status
		}
		obj = converted
		out.table.NoHeaders = true
	}
	var inner, outer bytes.Buffer
	if err := out.info.Serializer.Encode(obj, &inner); err != nil {
		return nil, err
	}
	event := &metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: inner.Bytes()}}
	if err := out.info.StreamSerializer.Serializer.Encode(event, &outer); err != nil {
		return nil, err
	}
	return outer.Bytes(), nil
}
