package cacher

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/sim"
)

// What is read from a cache.

// Written is the object a transaction has just made visible.
func (c *Cache) Written(key string, revision int64) runtime.Object {
	if en := c.decoded[key]; en != nil && en.Revision == revision {
		return en.Object
	}
	if en, ok := c.items.Get(key); ok && en.Revision == revision {
		return en.object()
	}
	return nil
}

// Get is the newest object the cache knows, counting what has become visible
// and is not taken in yet, unless its watch lags.
func (c *Cache) Get(key string) *Entry {
	if en := c.decoded[key]; en != nil && !c.lags() {
		return en
	}
	en, _ := c.items.Get(key)
	return en.whole()
}

// lags reports whether the store has still to tell the cache something that it
// cannot take yet.
func (c *Cache) lags() bool { return c.feed != nil && c.feed.Waiting() > c.feed.Mailbox.Len() }

// Current is the revision that the cache represents: if nothing is waiting to be
// taken in, everything that the store has made visible.
func (c *Cache) Current() int64 {
	if c.synced && c.feed.Waiting() == 0 && !c.busy {
		return max(c.revision, c.cfg.Store.Revision())
	}
	return c.revision
}

// lookAgain is how often a waiter for a revision checks by itself: a cache that has nothing
// to take in does not notice that the store has got further.
const lookAgain = 50 * time.Millisecond

// Wait waits until the cache represents a revision; it reports false after limit of
// virtual time.
func (c *Cache) Wait(t *sim.Task, revision int64, limit time.Duration) bool {
	deadline := t.Elapsed() + limit
	for !c.synced || c.Current() < revision {
		left := deadline - t.Elapsed()
		if left <= 0 {
			return false
		}
		c.moved.WaitTimeout(t, min(left, lookAgain))
	}
	return true
}

// Scan calls fn for the objects of a namespace ("" for all), in key order,
// until it returns false.
func (c *Cache) Scan(namespace string, fn func(key string, en *Entry) bool) {
	c.scan(namespace, func(key string, en *Entry) bool { return fn(key, en.whole()) })
}

func (c *Cache) scan(namespace string, fn func(key string, en *Entry) bool) {
	from := ""
	if namespace != "" && c.Kind.Namespaced {
		from = namespace + "/"
	}
	c.items.Ascend(from, func(key string, en *Entry) bool {
		if !strings.HasPrefix(key, from) {
			return false
		}
		return fn(key, en)
	})
}

// Len is how many objects there are.
func (c *Cache) Len() int { return c.items.Len() }

// Taken is the object as the cache has taken it in; nil if there is none.
func (c *Cache) Taken(key string) runtime.Object {
	if en, ok := c.items.Get(key); ok {
		return en.object()
	}
	return nil
}

// Newest calls fn for what is known in a namespace ("" for all), by key, counting what
// has become visible and is not taken in yet.
func (c *Cache) Newest(namespace string, fn func(runtime.Object)) {
	if c.items.Len() == 0 && len(c.decoded) == 0 {
		return
	}
	found := map[string]runtime.Object{}
	c.Scan(namespace, func(key string, en *Entry) bool {
		found[key] = en.Object
		return true
	})
	if !c.lags() {
		for key, en := range c.decoded {
			if namespace == "" || strings.HasPrefix(key, namespace+"/") {
				found[key] = en.Object
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		fn(found[key])
	}
}

// Size is how many bytes the values of the objects are.
func (c *Cache) Size() int64 { return c.bytes }
