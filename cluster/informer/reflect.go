package informer

import (
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// run lists and watches for as long as the process lives
// (reflector.go RunWithContext: ListAndWatch in a BackoffUntil loop).
func (i *shared) run(t *sim.Task) {
	wait := &backoff{}
	reason := "first start"
	t.SetCauses(i.process.Began())
	for !i.stopped {
		next, err := i.listAndWatch(t, reason, wait)
		reason = next
		if err != nil {
			t.Sleep(wait.next(t))
		}
	}
}

// listAndWatch fills the store and follows the watch until the server no
// longer knows the revision or refuses; it gives the reason to start over.
func (i *shared) listAndWatch(t *sim.Task, reason string, wait *backoff) (again string, err error) {
	t.SetCauses(i.emit(t, trace.InformerRelist, reason))
	w, err := i.watchList(t)
	if err != nil && !client.IsUnreachable(err) {
		// A server that does not know WatchList, or refuses it: the old way.
		w, err = nil, i.list(t)
	}
	if err != nil {
		return err.Error(), err
	}
	for !i.stopped {
		if w == nil {
			if w, err = i.open(t); err != nil {
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return "410 " + err.Error(), nil
				}
				// The server is away or too busy: its revision is still good.
				t.Sleep(wait.next(t))
				continue
			}
		}
		expired := i.follow(t, w, wait)
		w = nil
		if expired != nil {
			return "410 " + expired.Error(), nil
		}
	}
	if w != nil {
		w.Stop()
	}
	return "", nil
}

// open watches from the newest revision seen.
func (i *shared) open(t *sim.Task) (client.Watch, error) {
	opts := i.selectors()
	opts.ResourceVersion = strconv.FormatInt(i.revision, 10)
	opts.AllowWatchBookmarks = true
	return i.client.Watch(t, i.resource, i.ns, opts)
}

func (i *shared) selectors() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: i.opts.LabelSelector, FieldSelector: i.opts.FieldSelector}
}

// follow applies a watch's events until it ends (reflector.go
// handleAnyWatch). It gives an error when the watch cannot be resumed.
func (i *shared) follow(t *sim.Task, w client.Watch, wait *backoff) error {
	i.watch = w
	defer func() {
		i.watch = nil
		w.Stop()
	}()
	start, events := t.Elapsed(), 0
	for {
		e, ok := w.Recv(t)
		if !ok {
			t.SetCauses(e.ID)
			if !i.stopped && events == 0 && t.Elapsed()-start < time.Second {
				// "very short watch": do not spin.
				t.Sleep(wait.next(t))
			}
			return nil
		}
		if e.Type == watch.Error {
			t.SetCauses(e.ID)
			return apierrors.FromObject(e.Object)
		}
		events++
		wait.reset()
		i.apply(t, e)
	}
}

// apply takes one event into the store and tells the handlers.
func (i *shared) apply(t *sim.Task, e client.WatchEvent) {
	t.SetCauses(e.ID)
	if e.Revision > i.revision {
		i.revision = e.Revision
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		old, _ := i.store.set(t, KeyOf(e.Object), e.Object)
		i.notify(t, old, e.Object, e.ID)
	case watch.Deleted:
		key := KeyOf(e.Object)
		if _, had := i.store.remove(t, key); had {
			// The event holds the object as it was at its deletion.
			i.notify(t, e.Object, nil, e.ID)
		}
	}
}

// watchList asks for the present objects and everything after in one request
// (reflector.go watchList). The returned watch continues from there.
func (i *shared) watchList(t *sim.Task) (client.Watch, error) {
	opts := i.selectors()
	yes := true
	opts.SendInitialEvents = &yes
	opts.AllowWatchBookmarks = true
	opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	w, err := i.client.Watch(t, i.resource, i.ns, opts)
	if err != nil {
		return nil, err
	}
	var items []runtime.Object
	var why []trace.ID
	for {
		e, ok := w.Recv(t)
		switch {
		case !ok:
			return nil, client.ErrUnreachable
		case e.Type == watch.Error:
			w.Stop()
			return nil, apierrors.FromObject(e.Object)
		case e.Type == watch.Bookmark:
			m, err := meta.Accessor(e.Object)
			if err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				i.replace(t, items, why, e.Revision, e.ID)
				return w, nil
			}
		default:
			items, why = append(items, e.Object), append(why, e.ID)
		}
	}
}

// list asks for all objects (reflector.go list).
func (i *shared) list(t *sim.Task) error {
	opts := i.selectors()
	if i.revision == 0 {
		opts.ResourceVersion = "0" // the first list may be as old as the server's cache
	}
	items, revision, err := i.client.List(t, i.resource, i.ns, opts)
	if err != nil {
		return err
	}
	i.replace(t, items, nil, revision, trace.ID{})
	return nil
}

// replace makes the store hold exactly items, tells the handlers the
// difference, and so closes the gap in what the watch told
// (delta_fifo.go Replace, with its tombstones for what vanished unseen).
func (i *shared) replace(t *sim.Task, items []runtime.Object, why []trace.ID, revision int64, end trace.ID) {
	causes := t.Causes()
	cause := func(n int) trace.ID {
		if n < len(why) {
			return why[n]
		}
		if len(causes) > 0 {
			return causes[0]
		}
		return trace.ID{}
	}
	present := make(map[string]struct{}, len(items))
	for _, obj := range items {
		present[KeyOf(obj)] = struct{}{}
	}
	i.revision = max(revision, i.revision)
	// The whole list is in the store before the first handler runs, so that a
	// handler that looks around does not see half of it.
	var changes []change
	for _, key := range i.store.keys() {
		if _, ok := present[key]; !ok {
			old, _ := i.store.remove(t, key)
			changes = append(changes, change{old: old, why: cause(len(why))})
		}
	}
	tombstones := len(changes)
	for n, obj := range items {
		old, _ := i.store.set(t, KeyOf(obj), obj)
		changes = append(changes, change{old: old, new: obj, why: cause(n)})
	}
	if !end.IsZero() {
		t.SetCauses(end)
	}
	i.emitWith(t, trace.InformerSync, "", tombstones)
	for _, c := range changes {
		i.notify(t, c.old, c.new, c.why)
	}
	i.synced = true
	i.syncCond.Broadcast()
}

func (i *shared) emit(t *sim.Task, kind trace.Kind, reason string) trace.ID {
	return i.emitWith(t, kind, reason, 0)
}

func (i *shared) emitWith(t *sim.Task, kind trace.Kind, reason string, tombstones int) trace.ID {
	return t.Emit(trace.Event{
		Lane: i.owner, Kind: kind, Object: trace.Ref{APIVersion: i.resource.GroupVersion().String(), Kind: i.resource.Kind},
		Payload: &trace.Informer{
			Informer: i.owner.String(), Resource: i.resource.Resource, Revision: i.revision, Items: i.store.len(), Reason: reason,
			Tombstones: tombstones, Handlers: len(i.handlers),
		},
	})
}
