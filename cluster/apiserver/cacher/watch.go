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
	Console   bool   // a command of the console waits for its events
	From      int64  // the revision after which it begins; 0: with what there is
	Streaming bool   // it begins with what there is in any case
	Bookmarks bool
	Limit     time.Duration // after which it ends; 0 never
	Cause     trace.ID      // of what it begins with
}

// Watch makes a watch and says how it begins (cacher.go Watch). It is open from here on;
// [Watcher.Begin] records it in the trace.
func (c *Cache) Watch(want *Selector, o WatchOptions) (w *Watcher, how string, err error) {
	first, err := c.initial(want, o)
	if err != nil {
		return nil, "", err
	}
	if first.looks > LongChoice && !o.Component {
		first.keep()
	}
	w = c.cfg.Wires.open(&Watcher{want: want, client: o.Client, from: o.From, bookmarks: o.Bookmarks, first: first, choosing: true, patience: choiceWait}, o.Component)
	if o.Console {
		w.patience = 0
	}
	_, used := want.trigger()
	w.buffer = c.window.chanSize(c.Kind.Trigger != "", used)
	w.sent = max(o.From, c.Current())
	c.watchers.add(w)
	if o.Limit > 0 {
		c.cfg.Process.Kernel().After(o.Limit, func() { w.end("its time was over, the client asked for a limit") })
	}
	return w, first.how(o), nil
}

// how says how a watch begins.
func (b *beginning) how(o WatchOptions) string {
	switch {
	case b.present != nil && b.own:
		return "The watch begins with what it selects of " + registry.Count(len(b.present), b.want.kind) + ", then whatever changes."
	case b.own:
		return fmt.Sprintf("The watch begins after revision %d, with what it selects of %s that happened since.", o.From, countEvents(len(b.past)))
	}
	b.chosen = b.choose()
	if o.Streaming || o.From == 0 {
		return "The watch begins with the present state: " + registry.Count(len(b.chosen)-len(b.last), b.want.kind) + ", then whatever changes."
	}
	return fmt.Sprintf("The watch begins after revision %d; %s of it happened since.", o.From, countEvents(len(b.chosen)))
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
	w.begin()
}

// initial is what a new watcher's first events are chosen from: the present objects, or
// what happened since its revision.
func (c *Cache) initial(want *Selector, o WatchOptions) (*beginning, error) {
	b := &beginning{want: want, cause: o.Cause}
	if o.Streaming || o.From == 0 {
		b.present, b.looks = c.Present(want, 0)
		if o.Streaming && o.Bookmarks {
			b.last = append(b.last, bookmarkOf(c.Kind, c.Current(), true))
		}
		return b, nil
	}
	var err error
	if b.past, err = c.window.since(o.From); err != nil {
		return nil, err
	}
	for _, ch := range b.past {
		b.looks += want.looks(ch.now, ch.prev)
	}
	return b, nil
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
