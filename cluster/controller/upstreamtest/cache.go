// Package upstreamtest is for tests that compare a controller with Kubernetes' own: it has
// what upstream's controllers need to run on objects that a test gives them, without an
// API server.
//
// Start reading at [Cache].
package upstreamtest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Cache is a shared informer that has in its cache what a test puts there.
type Cache struct {
	cache.SharedIndexInformer
	Indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

// NewCache makes an empty one.
func NewCache() *Cache {
	return &Cache{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// Hold makes the objects all that there is; no handler runs.
func (c *Cache) Hold(objs ...runtime.Object) {
	var list []any
	for _, o := range objs {
		list = append(list, o)
	}
	if err := c.Indexer.Replace(list, ""); err != nil {
		panic(err)
	}
}

// Came tells the handlers that an object was added.
func (c *Cache) Came(obj runtime.Object) {
	for _, h := range c.handlers {
		h.OnAdd(obj, false)
	}
}

// AddEventHandler is [cache.SharedIndexInformer].
func (c *Cache) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	c.handlers = append(c.handlers, h)
	return nil, nil
}

// HasSynced is [cache.SharedIndexInformer].
func (c *Cache) HasSynced() bool { return true }

// GetIndexer is [cache.SharedIndexInformer].
func (c *Cache) GetIndexer() cache.Indexer { return c.Indexer }

// GetStore is [cache.SharedInformer].
func (c *Cache) GetStore() cache.Store { return c.Indexer }

// AddIndexers is [cache.SharedIndexInformer].
func (c *Cache) AddIndexers(i cache.Indexers) error { return c.Indexer.AddIndexers(i) }
