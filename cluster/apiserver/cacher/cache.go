// Package cacher is the watch cache (apiserver pkg/storage/cacher): for each kind the
// newest state of every object and the recent events, from which lists and watches are
// served. It is the only watcher of its prefix at the store, however many clients watch
// the kind.
//
// [Config] says what feeds it: a connection to the store, and how values are encrypted.
// Start reading at [Cache.Run]; a watch begins in [Cache.Watch].
//
// Simplified: while upstream waits for a slow watcher, no watcher of that kind gets
// anything; here the others go on.
package cacher

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/tidwall/btree"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "while the watch cache waits for a slow watcher the others go on, where upstream lets all watchers of the kind wait",
})

// Cache is the watch cache of one kind.
type Cache struct {
	cfg  *Config
	Kind *registry.Kind
	feed *storage.Watch

	items    btree.Map[string, *Entry] // by key without the prefix: "demo/web-1"
	bytes    int64                     // of the items' values
	revision int64                     // of the newest event (or of the initial list)
	synced   bool
	lost     error         // a value cannot be decrypted; see locked.go
	lostAt   time.Duration // since when
	lostBy   trace.ID      // the event of it
	busy     bool          // objects of a revision are being converted
	dropped  bool          // its kind is served no longer
	moved    sim.Cond      // revision or synced changed

	window   window
	watchers watcherSet

	// Hub is the cache of the kind as which the objects are stored, of a kind that
	// has the same fields in another version; else nil. See version.go.
	Hub *Cache

	// decoded holds objects that a commit brought and that the cache's task has
	// not taken in yet, so that a value is decoded once.
	decoded map[string]*Entry
	// writing are transactions of components under way: the object they write
	// need not be decoded again from the same bytes.
	writing map[string]*pending
	// Changed is called after an event was taken in.
	Changed func(key string, obj runtime.Object)
}

// pending is what a transaction under way writes, and the bytes of it.
type pending struct {
	Entry
	stored []byte
}

// change is one event in the window.
type change struct {
	key       string
	now, prev *Entry // now is the last state for deletions, with their revision; prev nil for what is new
	kind      watch.EventType
	revision  int64
	at        time.Duration
	id        trace.ID // its api.watchcache event
	left      runtime.Object
	before    *change            // of the same object, while both may be decoded; see cold.go
	known     map[*asked]verdict // until the watches are found that it goes to; see asked.go
}

// New makes the cache of a kind. Nothing is in it before its task runs.
func New(cfg *Config, k *registry.Kind) *Cache {
	c := &Cache{cfg: cfg, Kind: k, decoded: map[string]*Entry{}, writing: map[string]*pending{}}
	c.window.init(cfg.Size)
	c.watchers = watcherSet{kind: k, p: cfg.Process, deliver: cfg.Deliver, indexed: map[string][]*Watcher{}}
	return c
}

// Run fills the cache and then follows the store; it is a task of the server. A watch
// that the store cancelled because its history was compacted is restarted with a list
// (cacher.go startCaching, every second until it works).
func (c *Cache) Run(t *sim.Task) {
	if c.dropped {
		return
	}
	c.feed = c.cfg.Store.Watch(c.WatchName(), c.Kind.Prefix, t.Process().Began())
	t.OnEnd(func() { c.feed.Stop(t.Process().Ended()) })
	c.fill(t)
	for {
		c.follow(t)
		ended, compacted := c.feed.Ended()
		if compacted == 0 || c.dropped {
			return
		}
		c.beginAnew(t, ended, "its own watch at the store was cancelled")
	}
}

// WatchName is what faults call the cache's watch at the store: the resource, of
// a custom one with its group, of another version with both.
func (c *Cache) WatchName() string {
	if c.Kind.Hub != nil {
		return c.Kind.GroupVersionResource.Resource + "." + c.Kind.Version + "." + c.Kind.Group
	}
	if c.Kind.Custom != nil {
		return c.Kind.GroupResource().String()
	}
	return c.Kind.GroupVersionResource.Resource
}

// follow takes in what the watch tells until it ends.
func (c *Cache) follow(t *sim.Task) {
	for {
		b, ok := c.feed.Mailbox.Recv(t)
		if !ok {
			return
		}
		if b.Revision > c.revision {
			var broken *sim.PanicError
			if c.convert(t, b) {
				broken = t.HandleCrashOn(c.first(b), "the watch cache of "+c.WatchName(), func() { c.take(t, b) })
			}
			if bad := conversionError(nil); errors.As(c.lost, &bad) {
				c.beginAnew(t, c.lostBy, "a value cannot be converted")
			} else if c.lost != nil {
				c.beginAnew(t, c.lostBy, "a value cannot be decrypted")
			} else if broken != nil {
				c.busy = false
				c.beginAnew(t, t.Causes()[0], "it panicked at an object")
			}
		} else { // the list had it
			for _, e := range b.Events {
				delete(c.decoded, c.key(e.Kv.Key))
			}
		}
		c.moved.Broadcast()
	}
}

// listAgain is how long it is until a cache lists again (cacher.go startCaching, which is
// tried every second).
const listAgain = time.Second

// beginAnew ends every watch, because their clients would miss what the cache
// has missed, and fills the cache again.
func (c *Cache) beginAnew(t *sim.Task, ended trace.ID, reason string) {
	was := c.revision
	t.SetCauses(ended)
	c.synced = false
	for _, w := range c.watchers.all() {
		w.end("the watch cache starts again: "+reason, ended)
	}
	t.Sleep(listAgain)
	if c.dropped {
		return
	}
	if _, compacted := c.feed.Ended(); compacted != 0 {
		c.feed = c.cfg.Store.Watch(c.WatchName(), c.Kind.Prefix, ended)
	}
	clear(c.decoded)
	if c.fill(t); c.dropped {
		return
	}
	t.Emit(trace.Event{Kind: trace.WatchCacheListed, Causes: []trace.ID{ended}, Payload: &trace.CacheList{
		Resource: c.Kind.GroupVersionResource.Resource, Custom: c.Kind.CustomName(), Revision: c.revision, Was: was, Objects: c.items.Len(),
	}})
}

// fill lists the kind from the store. What cannot be decoded, a definition spoiled
// past the API server, is not there then, though [Cache.apply] leaves what was before
// such an event: the list has no before.
func (c *Cache) fill(t *sim.Task) {
	var resp *pb.RangeResponse
	var kvs []*mvccpb.KeyValue
	var entries []*Entry
	for {
		var err error
		var y Tally
		if resp, err = c.cfg.Store.Range(t, &pb.RangeRequest{Key: []byte(c.Kind.Prefix), RangeEnd: PrefixEnd(c.Kind.Prefix)}); err == nil {
			kvs, y, err = c.unlock(t, resp.Kvs)
		}
		if err == nil {
			entries, err = c.decodeAll(t, kvs)
		}
		if err == nil {
			c.regain(t, y)
			break
		}
		t.Sleep(listAgain) // the store has no leader, or a key is missing; reflectors retry as well
		if c.dropped {
			return
		}
	}
	gone := c.items.Copy()
	for i, kv := range kvs {
		en := entries[i]
		if en == nil {
			continue
		}
		gone.Delete(c.key(kv.Key))
		c.put(c.key(kv.Key), en)
		c.tell(t, c.key(kv.Key), en.Object)
	}
	gone.Scan(func(key string, _ *Entry) bool {
		c.drop(key)
		c.tell(t, key, nil)
		return true
	})
	c.revision = resp.Header.Revision
	c.window.start(c.revision)
	c.synced = true
	c.moved.Broadcast()
}

// put takes an entry in and gives the one it replaces.
func (c *Cache) put(key string, en *Entry) (old *Entry, had bool) {
	c.bytes += int64(len(en.Value))
	if old, had = c.items.Set(key, en); had {
		c.bytes -= int64(len(old.Value))
	}
	return old, had
}

// drop takes an entry out and gives it.
func (c *Cache) drop(key string) (old *Entry, had bool) {
	if old, had = c.items.Delete(key); had {
		c.bytes -= int64(len(old.Value))
	}
	return old, had
}

func (c *Cache) key(full []byte) string { return string(full[len(c.Kind.Prefix):]) }

// take brings one revision into the cache and sends it on.
func (c *Cache) take(t *sim.Task, b storage.Batch) {
	c.busy = true
	changes := c.incoming(t, b)
	c.watchers.judge(t, changes)
	c.busy = false
	c.revision = b.Revision
	for _, ch := range changes {
		c.apply(ch)
		targets := c.watchers.targets(ch)
		ch.known = nil
		ch.at = t.Elapsed()
		c.window.add(ch)
		c.cool()
		oldest, kept := c.window.left()
		ch.id = t.Emit(trace.Event{
			Kind: trace.WatchCacheEvent, Object: refOf(c.Kind, ch.now.Object), Causes: whyTaken(b),
			Payload: &trace.CacheUpdate{
				Resource: c.Kind.GroupVersionResource.Resource, Custom: c.Kind.CustomName(), Type: string(ch.kind), Revision: b.Revision, Watchers: len(targets),
				Oldest: oldest, Kept: kept,
			},
		})
		c.watchers.send(ch, targets)
		if c.Changed != nil {
			if ch.kind == watch.Deleted {
				c.tell(t, ch.key, nil)
			} else {
				c.tell(t, ch.key, ch.now.object())
			}
		}
	}
}

// tell calls Changed, if there is one. A panic there is of one object.
func (c *Cache) tell(t *sim.Task, key string, obj runtime.Object) {
	if c.Changed == nil {
		return
	}
	if broken := t.HandleCrash(func() { c.Changed(key, obj) }); broken != nil {
		t.TellCrash(c.refOfKey(key), "what follows the watch cache of "+c.WatchName(), broken)
	}
}

// first is the first object of a revision.
func (c *Cache) first(b storage.Batch) trace.Ref {
	if len(b.Events) == 0 {
		return trace.Ref{}
	}
	return c.refOfKey(c.key(b.Events[0].Kv.Key))
}

// whyTaken is why the cache takes in a revision: the commit, and what let it
// come if it had to wait.
func whyTaken(b storage.Batch) []trace.ID {
	if b.Late.IsZero() {
		return []trace.ID{b.Commit}
	}
	return []trace.ID{b.Commit, b.Late}
}

// incoming are the changes that a revision brings.
func (c *Cache) incoming(t *sim.Task, b storage.Batch) (changes []*change) {
	for _, e := range b.Events {
		key := c.key(e.Kv.Key)
		ch := &change{key: key, revision: b.Revision}
		var old *Entry
		var had bool
		if !e.IsCreate() { // else there is nothing to be found, and most of a large cluster's changes are new Events
			old, had = c.items.Get(key)
		}
		if had && old.by != nil {
			ch.key = old.by.key // the same bytes, once
		}
		if e.Type == mvccpb.DELETE {
			if !had {
				continue
			}
			ch.kind, ch.prev, ch.now = watch.Deleted, old, &Entry{Object: withRevision(old.object(), b.Revision)}
			changes = append(changes, ch)
			continue
		}
		en := c.decoded[key]
		if en == nil || en.Revision != b.Revision {
			en = c.ofHub(key, b.Revision)
		}
		if en == nil || c.cfg.Transformer(c.Kind).Configured() && !c.Kind.MayConvert() {
			var err error
			if en, err = c.openEvent(t, b.Commit, e.Kv); err != nil {
				if c.lost == nil {
					c.undecodable(t, e.Kv, err)
				}
				c.forget(key, b.Revision)
				continue
			}
		}
		ch.kind, ch.now = watch.Added, en
		if had {
			ch.kind, ch.prev = watch.Modified, old
		}
		changes = append(changes, ch)
	}
	return changes
}

// forget drops what was decoded of a revision that is taken in; something newer may have
// become visible meanwhile.
func (c *Cache) forget(key string, revision int64) {
	if en := c.decoded[key]; en != nil && en.Revision <= revision {
		delete(c.decoded, key)
	}
}

// apply changes items.
func (c *Cache) apply(ch *change) {
	c.forget(ch.key, ch.revision)
	if ch.prev != nil {
		ch.before, ch.prev.by = ch.prev.by, nil
	}
	if ch.kind == watch.Deleted {
		c.drop(ch.key)
		return
	}
	c.put(ch.key, ch.now)
	ch.now.by = ch
}

// withRevision is a copy of the object with another resourceVersion.
func withRevision(obj runtime.Object, revision int64) runtime.Object {
	o := obj.DeepCopyObject()
	object.Meta(o).SetResourceVersion(object.FormatRevision(revision))
	return o
}

// Describe decodes what a commit wrote, for the trace, and keeps it for the
// cache.
func (c *Cache) Describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	key := c.key(e.Kv.Key)
	if e.Type == mvccpb.DELETE {
		if en, ok := c.items.Get(key); ok && !c.lags() {
			return refOf(c.Kind, en.named()), nil
		}
		if e.PrevKv != nil {
			if en, _, err := Open(nil, c.cfg.Transformer(c.Kind), c.Kind, e.PrevKv); err == nil {
				return refOf(c.Kind, en.Object), nil
			}
		}
		return c.refOfKey(key), nil
	}
	en, err := c.decode(key, e.Kv)
	if err != nil {
		return c.refOfKey(key), nil
	}
	if c.feed != nil {
		c.decoded[key] = en
	}
	return refOf(c.Kind, en.Object), trace.Obj(en.Object)
}

// decode is the object of a commit.
func (c *Cache) decode(key string, kv *mvccpb.KeyValue) (*Entry, error) {
	w := c.writing[key]
	if w == nil || !bytes.Equal(w.stored, kv.Value) {
		en, _, err := Open(nil, c.cfg.Transformer(c.Kind), c.Kind, kv)
		return en, err
	}
	delete(c.writing, key)
	object.Meta(w.Object).SetResourceVersion(object.FormatRevision(kv.ModRevision))
	value := kv.Value // the store keeps these bytes in any case
	if trace.Encrypted(value) {
		value = w.Value
	}
	return &Entry{Object: w.Object, Value: value, Revision: kv.ModRevision}, nil
}

func (c *Cache) refOfKey(key string) trace.Ref {
	ref := trace.Ref{APIVersion: c.Kind.GroupVersion().String(), Kind: c.Kind.Kind, Name: key}
	if ns, name, ok := strings.Cut(key, "/"); ok {
		ref.Namespace, ref.Name = ns, name
	}
	return ref
}

// Close ends every watch: the server is gone.
func (c *Cache) Close() {
	for _, w := range c.watchers.all() {
		w.end("the API server stopped")
	}
}

// refOf names an object for the trace.
func refOf(k *registry.Kind, obj runtime.Object) trace.Ref {
	m := object.Meta(obj)
	return trace.Ref{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}
}

// PrefixEnd is the end of the range of keys that begin with a prefix.
func PrefixEnd(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// Expect announces what a transaction in flight writes, so that the object need not
// be decoded again from the stored bytes when it comes back.
func (c *Cache) Expect(key string, obj runtime.Object, value, stored []byte) *pending {
	w := &pending{Entry{Object: obj, Value: value}, stored}
	c.writing[key] = w
	return w
}

// Forget ends expect: the transaction is over.
func (c *Cache) Forget(key string, w *pending) {
	if c.writing[key] == w {
		delete(c.writing, key)
	}
}

// End ends the cache of a kind that is served no longer, and why its watches.
func (c *Cache) End(why string) {
	c.dropped = true
	for _, w := range c.watchers.all() {
		w.end(why)
	}
	if c.feed != nil {
		c.feed.Stop(c.cfg.Process.Kernel().Last())
	}
}
