package cacher

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// WatchOptions are a client's options for a watch.
type WatchOptions struct {
	Client    string // as the trace names it
	Component bool   // of this process
	From      int64  // the revision after which it begins; 0: with what there is
	Streaming bool   // it begins with what there is in any case
	Bookmarks bool
	Limit     time.Duration // after which it ends; 0 never
	Cause     trace.ID      // of what it begins with
}

// Watch makes a watch and says how it begins (cacher.go Watch). It is open from here on;
// [Watcher.Begin] records it in the trace.
func (c *Cache) Watch(want *Selector, o WatchOptions) (w *Watcher, how string, err error) {
	first, how, err := c.initial(want, o)
	if err != nil {
		return nil, "", err
	}
	w = c.cfg.Wires.open(&Watcher{want: want, client: o.Client, from: o.From, bookmarks: o.Bookmarks, first: first}, o.Component)
	_, used := want.trigger()
	w.buffer = c.window.chanSize(c.Kind.Trigger != "", used)
	w.sent = max(o.From, c.Current())
	c.watchers.add(w)
	if o.Limit > 0 {
		c.cfg.Process.Kernel().After(o.Limit, func() { w.end("its time was over, the client asked for a limit") })
	}
	return w, how, nil
}

// Begin records the watch in the trace, and sends its initial events.
func (w *Watcher) Begin(t *sim.Task, ref trace.Ref, cause trace.ID) {
	kind := w.want.kind
	w.opened = w.set.p.Kernel().Emit(trace.Event{
		Lane: t.Lane(), Kind: trace.WatchOpened, Object: ref, Causes: []trace.ID{cause},
		Payload: &trace.Watch{
			Watch: w.Number, Resource: kind.GroupVersionResource.Resource, Custom: kind.CustomName(), Client: w.client, From: w.from,
			Selector: w.want.String(), Buffer: w.Room(),
		},
	})
	first := w.first
	if w.began, w.first = len(first), nil; w.began > 0 {
		w.set.later(func() {
			for _, d := range first {
				w.send(d)
			}
		})
	}
}

// initial is what a new watcher gets first: the present objects, or what
// happened since its revision.
func (c *Cache) initial(want *Selector, o WatchOptions) (first []delivery, how string, err error) {
	if o.Streaming || o.From == 0 {
		c.Scan(want.namespace, func(_ string, en *Entry) bool {
			if want.Matches(en.Object) {
				first = append(first, delivery{kind: watch.Added, obj: en.Object, ref: refOf(c.Kind, en.Object), revision: en.Revision, cause: o.Cause})
			}
			return true
		})
		how = "The watch begins with the present state: " + registry.Count(len(first), c.Kind) + ", then whatever changes."
		if o.Streaming && o.Bookmarks {
			first = append(first, bookmarkOf(c.Kind, c.Current(), true))
		}
		return first, how, nil
	}
	missed, err := c.window.since(o.From)
	if err != nil {
		return nil, "", err
	}
	pretend := &Watcher{want: want}
	for _, ch := range missed {
		if d, ok := pretend.see(ch); ok {
			d.ref = refOf(c.Kind, ch.now.named())
			first = append(first, d)
		}
	}
	return first, fmt.Sprintf("The watch begins after revision %d; %s of it happened since.", o.From, countEvents(len(first))), nil
}

func countEvents(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// bookmarkOf is an event that only tells a revision.
func bookmarkOf(k *registry.Kind, revision int64, initialEnd bool) delivery {
	obj := k.New()
	obj.GetObjectKind().SetGroupVersionKind(k.GVK())
	m := object.Meta(obj)
	m.SetResourceVersion(object.FormatRevision(revision))
	if initialEnd {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return delivery{kind: watch.Bookmark, obj: obj, ref: trace.Ref{APIVersion: k.APIVersion, Kind: k.Kind}, revision: revision}
}

// Bookmark sends a bookmark to the watchers that want them and have nothing newer, so
// that they have a recent revision from which they can resume.
func (c *Cache) Bookmark() {
	now := c.Current()
	var mark *delivery
	for _, w := range c.watchers.all() {
		if !w.bookmarks || w.sent >= now {
			continue
		}
		if mark == nil {
			d := bookmarkOf(c.Kind, now, false)
			mark = &d
		}
		w.sent = now
		d, to := *mark, w
		c.watchers.later(func() { to.put(d) })
	}
}

// Watchers are the watchers, in the order in which they were opened.
func (c *Cache) Watchers() []*Watcher { return c.watchers.all() }

// Interested is an estimate of how many watches a write of an object goes to.
func (c *Cache) Interested(namespace, name string) int { return c.watchers.interested(namespace, name) }
