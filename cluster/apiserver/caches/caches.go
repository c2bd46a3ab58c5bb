// Package caches holds the watch caches of one API server, one per kind, and serves those
// who read objects without going to the store: admission, the authorizers, the policies. In
// Kubernetes each kind's registry.Store has its own cacher, and other readers have shared
// informers, fed by the server's watches on itself; here all of them read the same cache
// (cluster/apiserver/cacher).
//
// Kinds that nobody uses must cost nothing: a kind's cache starts when its objects are first
// asked for ([Caches.Of]), and whoever follows all kinds (the garbage collector, the
// namespace controller) is told of a kind when its first object is written ([Usage]). Start
// reading at [Caches.Of].
package caches

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Config is what the caches have of their server.
type Config struct {
	Cacher      *cacher.Config // what each of them has
	Definitions *crd.Definitions
	Live        Live
	// Follow returns what is called with every change of a kind, from the start of its
	// cache on; nil if nothing is.
	Follow func(client.Resource) func(key string, obj runtime.Object)
	// Opened is called when a cache has been opened.
	Opened func(*registry.Kind)
}

// Live reads an object from the store; nil where there is none.
type Live func(t *sim.Task, k *registry.Kind, key string) (runtime.Object, error)

// Caches are the watch caches of one server. They live as long as its process:
// [Caches.Begin] makes new ones.
type Caches struct {
	Usage *Usage

	cfg  Config
	open map[*registry.Kind]*cacher.Cache // of built-in kinds; a custom kind has its own
}

// Always are the built-in kinds whose caches are always open.
func Always() (kinds []*registry.Kind) {
	for _, k := range registry.Kinds {
		if k.Stored() && !k.OnDemand {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Begin makes the caches of a new process, none of which watches yet. end closes them, when
// the process has ended.
func (c *Caches) Begin(cfg Config) (end func()) {
	open := map[*registry.Kind]*cacher.Cache{}
	c.cfg, c.open = cfg, open
	for _, k := range Always() {
		open[k] = c.make(k)
	}
	return func() {
		for _, k := range registry.Kinds {
			if cache := open[k]; cache != nil {
				cache.Close()
			}
		}
		for _, cache := range cfg.Definitions.Open() {
			cache.Close()
		}
	}
}

// Fill starts the caches that are always open, and waits until they have what is in the
// store.
func (c *Caches) Fill(t *sim.Task) {
	for _, k := range Always() {
		c.cfg.Cacher.Process.Go("watch-cache/"+k.GroupVersionResource.Resource, c.open[k].Run)
	}
	for _, k := range Always() {
		c.open[k].AwaitFilled(t)
	}
}

// Of is the watch cache of a kind. That of a kind on demand, or of a custom one, starts to
// fill when it is first requested.
func (c *Caches) Of(k *registry.Kind) *cacher.Cache {
	if cache := c.Opened(k); cache != nil {
		return cache
	}
	cache := c.make(k)
	name := k.GroupVersionResource.Resource
	if k.Custom != nil {
		crd.Of(k).Cache = cache
		name = k.GroupResource().String() + "/" + k.Version
	} else {
		c.open[k] = cache
		if k.Hub != nil {
			name = k.GroupResource().String() + "/" + k.Version
		}
	}
	c.cfg.Cacher.Process.Go("watch-cache/"+name, cache.Run)
	c.cfg.Opened(k)
	return cache
}

// make makes the watch cache of a kind.
func (c *Caches) make(k *registry.Kind) *cacher.Cache {
	cache := cacher.New(c.cfg.Cacher, k)
	cache.Changed = c.cfg.Follow(k.Resource)
	if k.SameFields {
		cache.Hub = c.Of(k.Hub)
	}
	return cache
}

// Opened is the watch cache of a kind if it is open, else nil.
func (c *Caches) Opened(k *registry.Kind) *cacher.Cache {
	if k.Custom != nil {
		return crd.Of(k).Cache
	}
	return c.open[k]
}

// OfResource is [Caches.Of] a built-in kind, by its resource.
func (c *Caches) OfResource(r client.Resource) *cacher.Cache {
	return c.Of(registry.KindFor(r.GroupVersionResource))
}

// All are those that watch the store.
func (c *Caches) All() []*cacher.Cache {
	var out []*cacher.Cache
	for _, k := range registry.Kinds {
		if cache := c.open[k]; cache != nil {
			out = append(out, cache)
		}
	}
	return append(out, c.cfg.Definitions.Open()...)
}

// Watchers are the open watches of all of them.
func (c *Caches) Watchers() (all []*cacher.Watcher) {
	for _, cache := range c.All() {
		all = append(all, cache.Watchers()...)
	}
	return all
}

// Bookmark sends bookmarks, so that a watcher that has nothing to hear keeps a revision it
// can resume from (cacher.go bookmarkFrequency).
func (c *Caches) Bookmark() {
	for _, cache := range c.All() {
		cache.Bookmark()
	}
}

// KindFor is the kind served as a resource now; nil if none is.
func (c *Caches) KindFor(r schema.GroupVersionResource) *registry.Kind {
	if k := registry.KindFor(r); k != nil {
		return k
	}
	return c.cfg.Definitions.KindFor(r)
}

// Resources lists what the server serves: the built-in kinds in the order of
// kubectl api-resources, then the custom ones.
func (c *Caches) Resources() []*registry.Kind {
	if c.cfg.Definitions.IsEmpty() {
		return registry.Kinds
	}
	return slices.Concat(registry.Kinds, c.cfg.Definitions.Served())
}

// InUse reports whether there are, or were, objects of a kind on demand.
func (c *Caches) InUse(k *registry.Kind) bool { return c.Usage.has(k) }
