package apiserver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watch is the verb watch (apiserver pkg/storage/cacher/cacher.go Watch).
func (c *call) watch() *Response {
	opts := &c.req.List
	if err := validWatch(opts); err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	want, err := newSelector(c.kind, c.req.Namespace, c.req.Name, opts)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	from, err := object.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", request.PlainError(err))}
	}
	if c.cache().lost != nil {
		return &Response{Err: c.notReady()}
	}
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if streaming {
		if _, err := c.freshen(opts.ResourceVersion); err != nil {
			return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
		}
	} else if !c.cache().wait(c.Task, 0, tooNewWait) {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", apierrors.NewTooManyRequests("storage is (re)initializing", 1))}
	}
	// From here to the watcher's registration no other task runs.
	first, how, err := c.initial(want, opts, from, streaming)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
	}
	w := c.openWatcher(want, opts, from)
	c.Pass(trace.StageStorage, "watch cache", how, nil)
	w.opened = c.s.k.Emit(trace.Event{
		Lane: c.Task.Lane(), Kind: trace.WatchOpened, Object: c.Ref, Causes: []trace.ID{c.Last},
		Payload: &trace.Watch{Watch: w.number, Resource: c.kind.GroupVersionResource.Resource, Custom: c.kind.CustomName(), Client: w.client, From: from, Selector: want.String(), Buffer: w.Room()},
	})
	if w.began = len(first); w.began > 0 {
		c.cache().watchers.later(c.s, func() {
			for _, d := range first {
				w.send(d)
			}
		})
	}
	return &Response{Watch: w}
}

func (c *call) openWatcher(want *selector, opts *metav1.ListOptions, from int64) *watcher {
	c.s.peers.watches++
	w := &watcher{number: c.s.peers.watches, s: c.s, want: want, client: c.req.sender(), from: from, bookmarks: opts.AllowWatchBookmarks}
	name := w.wireName()
	if c.req.System {
		c.s.peers.informers[name] = true
	}
	w.wire = c.s.peers.wires[name]
	_, used := want.trigger()
	w.buffer = c.cache().window.chanSize(c.kind.Trigger != "", used)
	w.sent = max(from, c.cache().current())
	c.cache().watchers.add(w)
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		c.s.k.After(time.Duration(*opts.TimeoutSeconds)*time.Second, func() { w.end("its time was over, the client asked for a limit") })
	}
	return w
}

// initial is what a new watcher gets first: the present objects, or what
// happened since its revision.
func (c *call) initial(want *selector, opts *metav1.ListOptions, from int64, streaming bool) (first []delivery, how string, err error) {
	cache := c.cache()
	if streaming || from == 0 {
		cache.scan(want.namespace, func(_ string, en *entry) bool {
			if want.matches(en.obj) {
				first = append(first, delivery{kind: watch.Added, obj: en.obj, ref: refOf(c.kind, en.obj), revision: en.revision, cause: c.Last})
			}
			return true
		})
		how = "The watch begins with the present state: " + countOf(len(first), c.kind) + ", then whatever changes."
		if streaming && opts.AllowWatchBookmarks {
			first = append(first, c.s.bookmark(c.kind, cache.current(), true))
		}
		return first, how, nil
	}
	missed, err := cache.window.since(from)
	if err != nil {
		return nil, "", err
	}
	pretend := &watcher{want: want}
	for _, ch := range missed {
		if d, ok := pretend.see(ch); ok {
			d.ref = refOf(c.kind, ch.obj)
			first = append(first, d)
		}
	}
	how = "The watch begins after revision " + object.FormatRevision(from) + "; " + plural(len(first), "event", "events") + " of it happened since."
	return first, how, nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return object.FormatRevision(int64(n)) + " " + many
}

// bookmark is an event that only tells a revision.
func (s *Server) bookmark(k *registry.Kind, revision int64, initialEnd bool) delivery {
	obj := k.New()
	obj.GetObjectKind().SetGroupVersionKind(k.GVK())
	m := object.Meta(obj)
	m.SetResourceVersion(object.FormatRevision(revision))
	if initialEnd {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return delivery{kind: watch.Bookmark, obj: obj, ref: trace.Ref{APIVersion: k.APIVersion, Kind: k.Kind}, revision: revision}
}

// keepFresh sends bookmarks, so that a watcher that has nothing to hear keeps a
// revision it can resume from (cacher.go bookmarkFrequency).
func (s *Server) keepFresh(t *sim.Task) {
	for {
		t.Sleep(s.cfg.Bookmarks)
		for _, cache := range s.openCaches() {
			k := cache.kind
			now := cache.current()
			var mark *delivery
			for _, w := range cache.watchers.all() {
				if !w.bookmarks || w.sent >= now {
					continue
				}
				if mark == nil {
					d := s.bookmark(k, now, false)
					mark = &d
				}
				w.sent = now
				d, to := *mark, w
				cache.watchers.later(s, func() { to.put(d) })
			}
		}
	}
}

// validWatch is k8s.io/apimachinery
// pkg/apis/meta/internalversion/validation.ValidateListOptions for watches.
func validWatch(opts *metav1.ListOptions) error {
	var errs field.ErrorList
	if opts.SendInitialEvents != nil {
		if opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
			errs = append(errs, field.Forbidden(field.NewPath("resourceVersionMatch"), "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
		}
	} else if opts.ResourceVersionMatch != "" {
		errs = append(errs, field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", errs)
	}
	return nil
}
