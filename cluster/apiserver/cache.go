package apiserver

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
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// cache is the watch cache of one kind (apiserver pkg/storage/cacher): the
// newest state of every object, and the recent events. It is the only watcher
// of its prefix at the store, however many clients watch the kind.
type cache struct {
	s    *Server
	kind *registry.Kind
	feed *storage.Watch

	items    btree.Map[string, *entry] // by key without the prefix: "demo/web-1"
	bytes    int64                     // of the items' values
	revision int64                     // of the newest event (or of the initial list)
	synced   bool
	lost     error         // a value cannot be decrypted; see cache_locked.go
	lostAt   time.Duration // since when
	lostBy   trace.ID      // the event of it
	busy     bool          // objects of a revision are being converted
	dropped  bool          // its kind is served no longer
	moved    sim.Cond      // revision or synced changed

	window   window
	watchers watcherSet

	// decoded holds objects that a commit brought and that the cache's task has
	// not taken in yet, so that a value is decoded once.
	decoded map[string]*entry
	// writing are transactions of components under way: the object they write
	// need not be decoded again from the same bytes.
	writing map[string]*pending
	// changed is called after an event was taken in.
	changed func(key string, obj runtime.Object)
}

// entry is one object in the cache.
type entry struct {
	obj      runtime.Object // shared: never changed
	value    []byte         // what the store holds, decrypted
	revision int64
}

// pending is what a transaction under way writes, and the bytes of it.
type pending struct {
	entry
	stored []byte
}

// change is one event in the window.
type change struct {
	key       string
	obj, prev runtime.Object // obj is the last state for deletions, with their revision
	kind      watch.EventType
	revision  int64
	at        time.Duration
	id        trace.ID // its api.watchcache event
	left      runtime.Object
}

func newCache(s *Server, k *registry.Kind) *cache {
	c := &cache{s: s, kind: k, decoded: map[string]*entry{}, writing: map[string]*pending{}}
	c.window.init(s.cfg.CacheSize)
	c.watchers.init(k)
	return c
}

// run fills the cache and then follows the store; it is a task of the server.
// A watch that the store cancelled, because its history was compacted, is begun
// anew with a list (cacher.go startCaching, every second until it works).
func (c *cache) run(t *sim.Task) {
	if c.dropped {
		return
	}
	c.feed = c.s.st.Watch(c.watchName(), c.kind.Prefix, t.Process().Began())
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

// watchName is what faults call the cache's watch at the store: the resource, of
// a custom one with its group, of another version with both.
func (c *cache) watchName() string {
	if c.kind.Hub != nil {
		return c.kind.GroupVersionResource.Resource + "." + c.kind.Version + "." + c.kind.Group
	}
	if c.kind.Custom != nil {
		return c.kind.GroupResource().String()
	}
	return c.kind.GroupVersionResource.Resource
}

// follow takes in what the watch tells until it ends.
func (c *cache) follow(t *sim.Task) {
	for {
		b, ok := c.feed.Mailbox.Recv(t)
		if !ok {
			return
		}
		if b.Revision > c.revision {
			if c.convert(t, b) {
				c.take(t, b)
			}
			if bad := (*unconverted)(nil); errors.As(c.lost, &bad) {
				c.beginAnew(t, c.lostBy, "a value cannot be converted")
			} else if c.lost != nil {
				c.beginAnew(t, c.lostBy, "a value cannot be decrypted")
			}
		} else { // the list had it
			for _, e := range b.Events {
				delete(c.decoded, c.key(e.Kv.Key))
			}
		}
		c.moved.Broadcast()
	}
}

// beginAnew ends every watch, because their clients would miss what the cache
// has missed, and fills the cache again.
func (c *cache) beginAnew(t *sim.Task, ended trace.ID, reason string) {
	was := c.revision
	t.SetCauses(ended)
	c.synced = false
	for _, w := range c.watchers.all() {
		w.end("the watch cache begins anew: "+reason, ended)
	}
	t.Sleep(time.Second)
	if c.dropped {
		return
	}
	if _, compacted := c.feed.Ended(); compacted != 0 {
		c.feed = c.s.st.Watch(c.watchName(), c.kind.Prefix, ended)
	}
	clear(c.decoded)
	if c.fill(t); c.dropped {
		return
	}
	t.Emit(trace.Event{Kind: trace.WatchCacheListed, Causes: []trace.ID{ended}, Payload: &trace.CacheList{
		Resource: c.kind.GroupVersionResource.Resource, Custom: c.kind.CustomName(), Revision: c.revision, Was: was, Objects: c.items.Len(),
	}})
}

// fill lists the kind from the store. What cannot be decoded, a definition spoiled
// past the API server, is not there then, though [cache.apply] leaves what was before
// such an event: the list has no before.
func (c *cache) fill(t *sim.Task) {
	var resp *pb.RangeResponse
	var kvs []*mvccpb.KeyValue
	var entries []*entry
	for {
		var err error
		var y tally
		if resp, err = c.s.st.Range(t, &pb.RangeRequest{Key: []byte(c.kind.Prefix), RangeEnd: prefixEnd(c.kind.Prefix)}); err == nil {
			kvs, y, err = c.unlock(t, resp.Kvs)
		}
		if err == nil {
			entries, err = c.decodeAll(t, kvs)
		}
		if err == nil {
			c.regain(t, y)
			break
		}
		t.Sleep(time.Second) // the store has no leader, or a key is missing; reflectors retry as well
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
		if c.changed != nil {
			c.changed(c.key(kv.Key), en.obj)
		}
	}
	gone.Scan(func(key string, _ *entry) bool {
		c.drop(key)
		if c.changed != nil {
			c.changed(key, nil)
		}
		return true
	})
	c.revision = resp.Header.Revision
	c.window.start(c.revision)
	c.synced = true
	c.moved.Broadcast()
}

func (c *cache) put(key string, en *entry) {
	c.bytes += int64(len(en.value))
	if old, had := c.items.Set(key, en); had {
		c.bytes -= int64(len(old.value))
	}
}

func (c *cache) drop(key string) {
	if old, had := c.items.Delete(key); had {
		c.bytes -= int64(len(old.value))
	}
}

func (c *cache) key(full []byte) string { return string(full[len(c.kind.Prefix):]) }

// take brings one revision into the cache and sends it on.
func (c *cache) take(t *sim.Task, b storage.Batch) {
	c.revision = b.Revision
	for _, e := range b.Events {
		ch, ok := c.apply(t, b, e)
		if !ok {
			continue
		}
		targets := c.watchers.targets(ch)
		ch.at = t.Elapsed()
		c.window.add(ch)
		oldest, kept := c.window.left()
		ch.id = t.Emit(trace.Event{
			Kind: trace.WatchCacheEvent, Object: refOf(c.kind, ch.obj), Causes: whyTaken(b),
			Payload: &trace.CacheUpdate{
				Resource: c.kind.GroupVersionResource.Resource, Custom: c.kind.CustomName(), Type: string(ch.kind), Revision: b.Revision, Watchers: len(targets),
				Oldest: oldest, Kept: kept,
			},
		})
		c.watchers.send(c.s, ch, targets)
		if c.changed != nil {
			if ch.kind == watch.Deleted {
				c.changed(ch.key, nil)
			} else {
				c.changed(ch.key, ch.obj)
			}
		}
	}
}

// whyTaken is why the cache takes in a revision: the commit, and what let it
// come if it had to wait.
func whyTaken(b storage.Batch) []trace.ID {
	if b.Late.IsZero() {
		return []trace.ID{b.Commit}
	}
	return []trace.ID{b.Commit, b.Late}
}

// apply changes items by one event.
func (c *cache) apply(t *sim.Task, b storage.Batch, e *mvccpb.Event) (*change, bool) {
	key := c.key(e.Kv.Key)
	old, had := c.items.Get(key)
	ch := &change{key: key, revision: b.Revision}
	if had {
		ch.prev = old.obj
	}
	if e.Type == mvccpb.DELETE {
		if !had {
			return nil, false
		}
		c.drop(key)
		ch.kind, ch.obj = watch.Deleted, withRevision(old.obj, b.Revision)
		return ch, true
	}
	en := c.decoded[key]
	delete(c.decoded, key)
	if en == nil || en.revision != b.Revision || c.s.transformer(c.kind).Configured() && !c.kind.MayConvert() {
		var err error
		if en, err = c.openEvent(t, b.Commit, e.Kv); err != nil {
			return nil, false
		}
	}
	c.put(key, en)
	ch.kind, ch.obj = watch.Added, en.obj
	if had {
		ch.kind = watch.Modified
	}
	return ch, true
}

// withRevision is a copy of the object with another resourceVersion.
func withRevision(obj runtime.Object, revision int64) runtime.Object {
	o := obj.DeepCopyObject()
	object.Meta(o).SetResourceVersion(object.FormatRevision(revision))
	return o
}

// describe decodes what a commit wrote, for the trace, and keeps it for the
// cache.
func (c *cache) describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	key := c.key(e.Kv.Key)
	if e.Type == mvccpb.DELETE {
		if en, ok := c.items.Get(key); ok && !c.lags() {
			return refOf(c.kind, en.obj), nil
		}
		if e.PrevKv != nil {
			if en, _, err := c.s.open(nil, c.kind, e.PrevKv); err == nil {
				return refOf(c.kind, en.obj), nil
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
	return refOf(c.kind, en.obj), trace.Obj(en.obj)
}

// decode is the object of a commit.
func (c *cache) decode(key string, kv *mvccpb.KeyValue) (*entry, error) {
	w := c.writing[key]
	if w == nil || !bytes.Equal(w.stored, kv.Value) {
		en, _, err := c.s.open(nil, c.kind, kv)
		return en, err
	}
	delete(c.writing, key)
	object.Meta(w.obj).SetResourceVersion(object.FormatRevision(kv.ModRevision))
	value := kv.Value // the store keeps these bytes in any case
	if trace.Encrypted(value) {
		value = w.value
	}
	return &entry{obj: w.obj, value: value, revision: kv.ModRevision}, nil
}

func (c *cache) refOfKey(key string) trace.Ref {
	ref := trace.Ref{APIVersion: c.kind.GroupVersion().String(), Kind: c.kind.Kind, Name: key}
	if ns, name, ok := strings.Cut(key, "/"); ok {
		ref.Namespace, ref.Name = ns, name
	}
	return ref
}

// written is the object a transaction has just made visible.
func (c *cache) written(key string, revision int64) runtime.Object {
	if en := c.decoded[key]; en != nil && en.revision == revision {
		return en.obj
	}
	if en, ok := c.items.Get(key); ok && en.revision == revision {
		return en.obj
	}
	return nil
}

// get is the newest object the cache knows, counting what has become visible
// and is not taken in yet, unless its watch lags.
func (c *cache) get(key string) *entry {
	if en := c.decoded[key]; en != nil && !c.lags() {
		return en
	}
	en, _ := c.items.Get(key)
	return en
}

// lags reports whether the store has still to tell the cache something that it
// cannot take yet.
func (c *cache) lags() bool { return c.feed != nil && c.feed.Waiting() > c.feed.Mailbox.Len() }

// current is the revision the cache stands for: with nothing waiting to be
// taken in, everything the store has shown.
func (c *cache) current() int64 {
	if c.synced && c.feed.Waiting() == 0 && !c.busy {
		return max(c.revision, c.s.st.Revision())
	}
	return c.revision
}

// wait waits until the cache stands for a revision; it reports false after
// limit of virtual time.
func (c *cache) wait(t *sim.Task, revision int64, limit time.Duration) bool {
	deadline := t.Elapsed() + limit
	for !c.synced || c.current() < revision {
		left := deadline - t.Elapsed()
		if left <= 0 {
			return false
		}
		c.moved.WaitTimeout(t, min(left, 50*time.Millisecond))
	}
	return true
}

// scan calls fn for the objects of a namespace ("" for all), in key order,
// until it returns false.
func (c *cache) scan(namespace string, fn func(key string, en *entry) bool) {
	from := ""
	if namespace != "" && c.kind.Namespaced {
		from = namespace + "/"
	}
	c.items.Ascend(from, func(key string, en *entry) bool {
		if !strings.HasPrefix(key, from) {
			return false
		}
		return fn(key, en)
	})
}

// close ends every watch: the server is gone.
func (c *cache) close() {
	for _, w := range c.watchers.all() {
		w.end("the API server stopped")
	}
}

func refOf(k *registry.Kind, obj runtime.Object) trace.Ref {
	m := object.Meta(obj)
	return trace.Ref{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}
}

func prefixEnd(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// decodeKV is the object at a key, with what it was decoded from.
func decodeKV(k *registry.Kind, kv *mvccpb.KeyValue) (*entry, error) {
	obj, err := registry.Decode(k, kv.Value, kv.ModRevision)
	if err != nil {
		return nil, err
	}
	return &entry{obj: obj, value: kv.Value, revision: kv.ModRevision}, nil
}
