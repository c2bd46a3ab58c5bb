// Package informer is client-go's tools/cache in virtual time: a client's own
// copy of one kind of object, kept up to date by a watch, with handlers that
// are notified of what changed.
//
// Every component of Kubernetes reads from such caches and writes to the API
// server. So what a controller decides on is always a little old, and every
// write can meet a conflict; level-triggered controllers live with both.
//
// The life of an informer (reflector.go ListAndWatch): one request for all
// objects and what follows (a WatchList; or, from a server that refuses it, a
// list and then a watch), events applied to the store one by one, and when the
// watch ends another from the last revision seen. A revision the server no
// longer has (410 Gone) means starting over: list everything, and tell the
// handlers of what vanished meanwhile. Now and then a resync tells them of
// everything in the store again.
//
// Simplified: no DeltaFIFO between reflector and store (the informer's task
// does both, so handlers see each event at once), no transformers, no paging.
// Start reading at [Informer.Start], then reflect.go.
package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Simplified,
	What: "no DeltaFIFO between reflector and store, so handlers see each event at once; no transformers, no paging",
})

// Options are what an informer watches of its kind. The zero value is
// everything, without resync.
type Options struct {
	LabelSelector string
	FieldSelector string
	// Resync is how often handlers get an Update of every object, with the
	// same object as old and new, unless they ask for another period (see
	// [Handler]). Zero: no handler ever does.
	Resync time.Duration
	// Crashed is called when a handler has panicked at an object; nil: the trace alone tells.
	Crashed func(t *sim.Task, object trace.Ref, broken *sim.PanicError)
}

// Handler is notified of what changed. Its functions run one after another in a task
// whose causes are the watch event (or the resync) and must not wait. Any of them
// may be nil. Objects are shared: copy before changing. One that panics at an object has not been
// told of this change, and is of the next (shared_informer.go processorListener.run).
type Handler struct {
	// Resync is this handler's own period (AddEventHandlerWithResyncPeriod):
	// zero is the informer's, [NoResync] none.
	Resync time.Duration

	Add    func(t *sim.Task, obj runtime.Object, why trace.ID)
	Update func(t *sim.Task, old, new runtime.Object, why trace.ID)
	Delete func(t *sim.Task, obj runtime.Object, why trace.ID)
}

// Informer is a cache of one kind in one process, as one of those has it who share it.
type Informer struct {
	*shared
	of    *Factory // that gave it; nil of one that nobody shares
	reads *Reads   // of the factory, nil where nobody counts
}

// shared is the cache itself, with the handlers of all.
type shared struct {
	process  *sim.Process
	owner    trace.Lane
	client   client.Interface
	resource client.Resource
	ns       string
	opts     Options

	store    *store
	handlers []*handler // replaced where one goes: somebody may be in the midst of them
	started  bool
	synced   bool
	syncCond sim.Cond
	next     *sim.Timer // of the next resync

	stopped bool
	watch   client.Watch // that is followed now

	revision int64 // newest revision seen: where the next watch starts
}

// New makes an informer of process p for the objects of kind r in namespace
// ("" for all). Its events, and the requests it sends, are those of owner.
func New(p *sim.Process, owner trace.Lane, c client.Interface, r client.Resource, namespace string, opts Options) *Informer {
	if owner == (trace.Lane{}) {
		owner = p.Lane
	}
	if owner != p.Lane {
		p = p.Child(owner)
	}
	return &Informer{shared: &shared{process: p, owner: owner, client: c, resource: r, ns: namespace, opts: opts, store: newStore()}}
}

// Resource is the kind the informer caches.
func (i *shared) Resource() client.Resource { return i.resource }

// Start begins listing and watching. Starting twice does nothing.
func (i *shared) Start() {
	if i.started {
		return
	}
	i.started = true
	i.process.Go("informer-"+i.resource.Resource, i.run)
	i.planResync()
}

// Stop ends listing and watching for good; what the store holds stays.
func (i *shared) Stop() {
	i.stopped = true
	i.planResync()
	if i.watch != nil {
		i.watch.Stop()
	}
}

// HasSynced reports whether the store holds a first complete list and the handlers
// have been called with it.
func (i *shared) HasSynced() bool { return i.synced }

// WaitForSync waits until HasSynced.
func (i *shared) WaitForSync(t *sim.Task) {
	for !i.synced {
		i.syncCond.Wait(t)
	}
}

// WaitForSyncWithin waits until HasSynced, for so long at most, and reports it.
func (i *shared) WaitForSyncWithin(t *sim.Task, limit time.Duration) bool {
	for until := t.Elapsed() + limit; !i.synced && t.Elapsed() < until; {
		i.syncCond.WaitTimeout(t, until-t.Elapsed())
	}
	return i.synced
}

// Revision is the newest revision the informer has seen.
func (i *shared) Revision() int64 { return i.revision }

// Len is how many objects the store holds.
func (i *shared) Len() int { return i.store.len() }

// Get gives the object of a key: "namespace/name", or "name" where the kind has
// no namespaces. The object is shared.
func (i *Informer) Get(key string) (runtime.Object, bool) { i.reads.count(); return i.store.get(key) }

// List gives all objects, sorted by key. They are shared; the slice is the
// caller's.
func (i *Informer) List() []runtime.Object { return i.ListNamespace("") }

// ListNamespace gives the objects of one namespace ("" for all), sorted by key.
func (i *Informer) ListNamespace(ns string) []runtime.Object {
	i.reads.count()
	if ns == "" {
		return i.store.list("")
	}
	return i.store.list(ns + "/")
}

// IndexFunc says under which values an object is found.
type IndexFunc func(obj runtime.Object) []string

// AddIndex adds an index. Adding a name again does nothing, so that everybody
// who needs an index of a shared informer can ask for it.
func (i *shared) AddIndex(name string, fn IndexFunc) { i.store.addIndex(name, fn) }

// ByIndex gives the objects that the named index files under value, sorted by
// key.
func (i *Informer) ByIndex(name, value string) []runtime.Object {
	i.reads.count()
	return i.store.byIndex(name, value)
}

// EachByIndex calls fn for what ByIndex gives, in the same order. fn must not
// wait.
func (i *Informer) EachByIndex(name, value string, fn func(runtime.Object)) {
	i.reads.count()
	i.store.eachByIndex(name, value, fn)
}
