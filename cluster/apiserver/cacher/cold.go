package cacher

import (
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// Of a large cluster the window remembers thousands of states of objects, which nobody
// asks for unless a watch begins in the past, and the cache every Event of the last hour,
// which nobody asks for unless somebody lists them. Decoded they are a fifth of all that
// the collector has to go through, again and again. So what so many changes lie behind
// keeps its bytes, which the store has in any case, and is decoded when somebody looks.

// warm is how many changes of a kind are kept decoded: as many as a small window holds.
const warm = windowDefault

// cool lets go of the objects of a change that has just become old. Whoever was given an
// entry keeps it whole: the entries that take its place are others.
func (c *Cache) cool() {
	ch := c.window.behind(warm)
	if ch == nil || c.Kind.Custom != nil { // how a custom object is read can change
		return
	}
	if cold := ch.prev.cold(c.Kind); cold != nil {
		if ch.before != nil {
			ch.before.now = cold
		}
		ch.prev, ch.left = cold, nil
	}
	ch.before = nil
	if c.seldomRead() {
		if cold := ch.now.cold(c.Kind); cold != nil && ch.now.by == ch { // the newest state
			cold.by = ch
			c.items.Set(ch.key, cold)
			ch.now = cold
		}
	}
}

// seldomRead reports whether nobody in the cluster follows the kind.
func (c *Cache) seldomRead() bool {
	r := c.Kind.GroupVersionResource
	return r == client.Events.GroupVersionResource || r == client.NewEvents.GroupVersionResource
}

// cold is the entry with its bytes only; nil if it has none (a deleted object's last
// state has not), or has no object already.
func (en *Entry) cold(k *registry.Kind) *Entry {
	if en == nil || en.Object == nil || len(en.Value) == 0 {
		return nil
	}
	return &Entry{Value: en.Value, Revision: en.Revision, as: k}
}
