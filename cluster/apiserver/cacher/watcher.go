package cacher

import (
	"fmt"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Watcher is one open watch (apiserver pkg/storage/cacher/cache_watcher.go).
// Events wait in its own mailbox, so that a slow client holds up nobody.
type Watcher struct {
	Number    uint64
	set       *watcherSet
	want      *Selector
	client    string
	bookmarks bool
	box       sim.Mailbox[delivery]
	from      int64 // the revision asked for: what is not after it is not sent
	sent      int64 // newest revision sent
	closed    bool
	buffer    int           // how many events each of its two channels holds; see Room
	began     int           // events of its beginning that still wait
	stuck     stuck         // while its buffer is full
	wire      *wire         // nil while nothing was ever wrong with it
	first     *beginning    // what it begins with, until that is chosen
	choosing  bool          // nothing is sent yet
	early     []delivery    // what came while it was chosen
	patience  time.Duration // see choiceWait
	asked     *asked        // its selector, among those of the kind
	held      []delivery    // what waits on the wire, oldest first
	behind    *delivery     // what arrives behind the next one
	turn      uint64        // counts what was planned for them: an older plan is void
	opened    trace.ID      // the event of its opening
	ended     trace.ID      // and of its end
	whenEnded func()        // nil, or what else its end does
}

// delivery is one event on its way to a client.
type delivery struct {
	kind     watch.EventType
	obj      runtime.Object
	ref      trace.Ref
	revision int64
	cause    trace.ID
	prev     *Entry    // the object before, nil for what is new
	size     int       // about how many bytes it keeps that the cache does not
	late     trace.ID  // what let it go on, if it had to wait
	told     bool      // that it waits
	after    *delivery // that was to come after it, and arrived before
}

// Recv waits for the next event; see [client.Watch].
func (w *Watcher) Recv(t *sim.Task) (client.WatchEvent, bool) {
	d, ok := w.box.Recv(t)
	if !ok {
		return client.WatchEvent{ID: w.ended}, false
	}
	w.received()
	payload := &trace.WatchEvent{Watch: w.Number, Client: w.client, Type: string(d.kind), Revision: d.revision}
	if d.ofObject() {
		payload.Object = trace.Obj(d.obj)
	}
	if d.after != nil {
		payload.Behind = true
		if d.after.ref == d.ref {
			payload.Newer, payload.Unknown = d.after.revision, d.unknown()
		}
	}
	cause := d.cause
	if cause.IsZero() { // what there was when it began, or a bookmark
		cause = w.opened
	}
	causes := []trace.ID{cause}
	if !d.late.IsZero() {
		causes = append(causes, d.late)
	}
	id := t.Emit(trace.Event{Kind: trace.WatchDelivered, Object: d.ref, Causes: causes, Payload: payload})
	return client.WatchEvent{Type: d.kind, Object: d.obj, Revision: d.revision, Size: d.size, ID: id}, true
}

// Stop ends the watch from the client's side.
func (w *Watcher) Stop() { w.end("the client closed it") }

// end ends the watch; more are causes beside its opening.
func (w *Watcher) end(why string, more ...trace.ID) {
	if w.closed {
		return
	}
	w.unstick()
	w.closed, w.held, w.behind, w.early = true, nil, nil, nil
	if w.first != nil {
		w.first.gone.Store(true)
	}
	w.turn++
	w.set.remove(w)
	causes := append([]trace.ID{w.opened}, more...)
	if dead := w.set.p.Kernel().Silenced(w.set.p.Lane); !dead.IsZero() {
		causes = append(causes, dead)
	}
	w.ended = w.set.p.Kernel().Emit(trace.Event{Lane: w.set.p.Lane, Kind: trace.WatchClosed, Causes: causes, Payload: &trace.Watch{
		Watch: w.Number, Resource: w.want.kind.GroupVersionResource.Resource, Custom: w.want.kind.CustomName(), Client: w.client, From: w.sent, Selector: w.want.String(), Reason: why,
	}})
	w.box.Close()
	if w.whenEnded != nil {
		w.whenEnded()
	}
}

// OnEnd has fn called when the watch ends.
func (w *Watcher) OnEnd(fn func()) { w.whenEnded = fn }

// Len is how many events have arrived for the client and are not received yet.
func (w *Watcher) Len() int { return w.box.Len() }

// Closed reports whether the watch has ended.
func (w *Watcher) Closed() bool { return w.closed }

// put hands a delivery over.
func (w *Watcher) put(d delivery) {
	if w.closed {
		return
	}
	if d.kind == watch.Bookmark && w.waiting() >= w.Room() {
		return // it says nothing that is not repeated (cache_watcher.go nonblockingAdd)
	}
	if w.choosing {
		w.early = append(w.early, d)
	} else {
		w.send(d)
	}
	w.mayFill()
}

// TooSlow ends the watch of a client for which n events wait, after so long a wait.
func (w *Watcher) TooSlow(n int, waited time.Duration) {
	w.end(fmt.Sprintf("the client was too slow: %s waited for it, its buffer holds %d (two channels of %d), and after %s the server stopped waiting",
		countEvents(n), w.Room(), w.buffer, waited.Round(100*time.Microsecond)))
}

// verdict is whether an object is selected after a change, and whether it was before.
type verdict struct{ now, was bool }

// verdict asks about a change.
func (s *Selector) verdict(c *change) verdict {
	return verdict{
		now: c.kind != watch.Deleted && s.Matches(c.now.object()),
		was: c.prev != nil && s.Matches(c.prev.object()),
	}
}

// size is about how many bytes the state is that a change brings.
func (c *change) size() int {
	if c.kind == watch.Deleted && c.prev != nil {
		return len(c.prev.Value)
	}
	return len(c.now.Value)
}

// see is what a change means to this watcher: an object that begins to match
// is ADDED, one that ceases to is DELETED (cache_watcher.go
// convertToWatchEvent).
func (w *Watcher) see(c *change, v verdict) (delivery, bool) {
	if c.revision <= w.from || !v.now && !v.was { // asked for before it was there (process)
		return delivery{}, false
	}
	cur, old := v.now, v.was
	d := delivery{obj: c.now.object(), revision: c.revision, cause: c.id, prev: c.prev, size: c.size()}
	switch {
	case cur && old:
		d.kind = watch.Modified
	case cur:
		d.kind = watch.Added
	default:
		d.kind = watch.Deleted
		if c.kind != watch.Deleted {
			if c.left == nil {
				c.left = withRevision(c.prev.object(), c.revision)
			}
			d.obj = c.left
		}
	}
	return d, true
}

// watcherSet is the open watches of a kind. Those that ask for one value of
// the kind's indexed field (a kubelet: the pods of its node) are found by it.
type watcherSet struct {
	kind    *registry.Kind
	p       *sim.Process // the server's
	deliver time.Duration
	plain   []*Watcher
	indexed map[string][]*Watcher
	budget  budget
	last    time.Duration // when the newest delivery falls due
	spare   [][]addressed // empty, for the next changes: see send
	asks    asks
	looked  int      // how many requirements were asked on the kernel
	chooses bool     // the first events of a watch are being chosen beside it
	turn    sim.Cond // others wait for that
}

func (ws *watcherSet) add(w *Watcher) {
	w.set = ws
	ws.asks.join(w)
	if v, ok := w.want.trigger(); ok {
		ws.indexed[v] = append(ws.indexed[v], w)
		return
	}
	ws.plain = append(ws.plain, w)
}

func (ws *watcherSet) remove(w *Watcher) {
	ws.asks.leave(w)
	if v, ok := w.want.trigger(); ok {
		if ws.indexed[v] = without(ws.indexed[v], w); len(ws.indexed[v]) == 0 {
			delete(ws.indexed, v)
		}
		return
	}
	ws.plain = without(ws.plain, w)
}

func without(list []*Watcher, w *Watcher) []*Watcher {
	for i, o := range list {
		if o == w {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// all lists the open watches in the order they were opened.
func (ws *watcherSet) all() []*Watcher {
	out := append([]*Watcher(nil), ws.plain...)
	for _, list := range ws.indexed {
		out = append(out, list...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}

// fewTargets is up to how many targets, of how many changes on their way, are reused for
// the next changes: enough for a cluster's own components, not for thousands of watchers.
const fewTargets = 32

// addressed is a delivery and whom it is for.
type addressed struct {
	to *Watcher
	delivery
}

// targets are the watchers that a change goes to.
func (ws *watcherSet) targets(c *change) []addressed {
	var out []addressed
	ws.asks.now++
	ws.concerned(c, func(list []*Watcher) {
		for _, w := range list {
			if d, ok := w.see(c, ws.verdict(w, c)); ok {
				w.sent = c.revision
				if n := len(ws.spare); out == nil && n > 0 {
					out, ws.spare = ws.spare[n-1], ws.spare[:n-1]
				}
				out = append(out, addressed{w, d})
			}
		}
	})
	return out
}

// concerned calls fn for the watchers that a change may go to.
func (ws *watcherSet) concerned(c *change, fn func([]*Watcher)) {
	fn(ws.plain)
	if len(ws.indexed) == 0 {
		return
	}
	v, _ := ws.kind.Field(c.now.object(), ws.kind.Trigger)
	fn(ws.indexed[v])
	if c.prev != nil {
		if was, _ := ws.kind.Field(c.prev.object(), ws.kind.Trigger); was != v {
			fn(ws.indexed[was])
		}
	}
}

// send delivers a change after the modelled delay, in order.
func (ws *watcherSet) send(c *change, targets []addressed) {
	if len(targets) == 0 {
		return
	}
	ref := refOf(ws.kind, c.now.Object)
	for i := range targets {
		targets[i].ref = ref
		targets[i].cause = c.id
	}
	ws.later(func() {
		for _, a := range targets {
			a.to.put(a.delivery)
		}
		if cap(targets) <= fewTargets && len(ws.spare) < fewTargets {
			clear(targets)
			ws.spare = append(ws.spare, targets[:0])
		}
	})
}

// later runs fn after the modelled delay, never before what was to come
// earlier.
func (ws *watcherSet) later(fn func()) {
	k := ws.p.Kernel()
	ws.last = max(k.Elapsed()+ws.deliver, ws.last)
	k.After(ws.last-k.Elapsed(), func() {
		if ws.p.Alive() {
			fn()
		}
	})
}

// interested estimates how many watches a write goes to: those of the whole kind, of
// the namespace, and of the object. Watches of one value of an indexed field, such as
// a kubelet's of its pods, are not counted (flowcontrol/watch_tracker.go
// GetInterestedWatchCount).
func (ws *watcherSet) interested(namespace, name string) (n int) {
	count := func(all []*Watcher) {
		for _, w := range all {
			only := w.want.only
			switch {
			case only == "" && (w.want.namespace == "" || w.want.namespace == namespace),
				only != "" && only == name && w.want.namespace == namespace:
				n++
			}
		}
	}
	count(ws.plain)
	if name != "" && ws.kind.Trigger == "metadata.name" {
		count(ws.indexed[name])
	}
	return n
}
