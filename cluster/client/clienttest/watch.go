package clienttest

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watcher is an open watch.
type watcher struct {
	id    uint64
	kind  *kind
	match func(runtime.Object) bool
	box   sim.Mailbox[record]
}

func (c *conn) Watch(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) (client.Watch, error) {
	if err := c.enter(t, "watch", r, namespace, ""); err != nil {
		return nil, err
	}
	match, err := selects(r, namespace, opts)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	k := c.kind(r)
	c.watches++
	w := &watcher{id: c.watches, kind: k, match: match}
	switch {
	case opts.SendInitialEvents != nil && *opts.SendInitialEvents:
		if c.NoWatchList {
			return nil, apierrors.NewInvalid(r.GVK().GroupKind(), "", nil)
		}
		for _, obj := range k.items.Values() {
			w.offer(record{kind: watch.Added, obj: obj, revision: revisionOf(obj)})
		}
		w.box.Send(record{kind: watch.Bookmark, obj: bookmark(r, c.revision), revision: c.revision})
	case opts.ResourceVersion == "" || opts.ResourceVersion == "0":
		for _, obj := range k.items.Values() {
			w.offer(record{kind: watch.Added, obj: obj, revision: revisionOf(obj)})
		}
	default:
		from, err := strconv.ParseInt(opts.ResourceVersion, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if from < k.floor {
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, k.floor))
		}
		for _, rec := range k.history {
			if rec.revision > from {
				w.offer(rec)
			}
		}
	}
	k.watches = append(k.watches, w)
	return w, nil
}

// offer sends a change as this watch sees it: an object that begins to match
// is ADDED, one that no longer does is DELETED.
func (w *watcher) offer(rec record) {
	now := rec.kind != watch.Deleted && (rec.kind == watch.Bookmark || w.match(rec.obj))
	before := rec.prev != nil && w.match(rec.prev)
	switch {
	case now && !before && rec.kind != watch.Bookmark:
		rec.kind = watch.Added
	case now && before:
		rec.kind = watch.Modified
	case before:
		rec.kind = watch.Deleted
	case rec.kind != watch.Bookmark:
		return
	}
	w.box.Send(rec)
}

func (w *watcher) Recv(t *sim.Task) (client.WatchEvent, bool) {
	rec, ok := w.box.Recv(t)
	if !ok {
		return client.WatchEvent{}, false
	}
	id := t.Emit(trace.Event{
		Kind: trace.WatchDelivered, Object: client.RefOf(rec.obj), Causes: append([]trace.ID{}, rec.why...),
		Payload: &trace.WatchEvent{Watch: w.id, Client: t.Lane().String(), Type: string(rec.kind), Revision: rec.revision, Object: trace.Obj(rec.obj)},
	})
	return client.WatchEvent{Type: rec.kind, Object: rec.obj, Revision: rec.revision, ID: id}, true
}

func (w *watcher) Stop() {
	w.box.Close()
	for n, o := range w.kind.watches {
		if o == w {
			w.kind.watches = append(w.kind.watches[:n:n], w.kind.watches[n+1:]...)
			return
		}
	}
}

func revisionOf(obj runtime.Object) int64 {
	n, _ := strconv.ParseInt(mustMeta(obj).GetResourceVersion(), 10, 64)
	return n
}

func bookmark(r client.Resource, revision int64) runtime.Object {
	obj := newObject(r)
	m := mustMeta(obj)
	m.SetResourceVersion(fmt.Sprint(revision))
	m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return obj
}
