package cacher

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/registry"
)

// The watch cache of a kind that is another one in a second version (events.k8s.io)
// hears of every object of that one, most of which nobody ever reads in this version:
// a cluster writes far more Events than anything else. So it takes the object that the
// hub's cache has, in the hub's version, which says whose it is, and decodes the bytes
// when somebody looks: a component's object is not quite what was stored, for its times
// have more than seconds.

// ofHub is what the hub's cache has of a revision, still to be decoded; nil if it has
// nothing of just that, or if how values are encrypted must be told of each.
func (c *Cache) ofHub(key string, revision int64) *Entry {
	if c.Hub == nil || c.Hub.lost != nil || c.cfg.Transformer(c.Kind).Configured() {
		return nil
	}
	en := c.Hub.decoded[key]
	if en == nil || en.Revision != revision {
		en, _ = c.Hub.items.Get(key)
	}
	if en == nil || en.Revision != revision {
		return nil
	}
	return &Entry{Object: en.named(), Value: en.Value, Revision: revision, as: c.Kind}
}

// whole is the entry with its object in the cache's version; nil stays nil.
func (en *Entry) whole() *Entry {
	if en == nil || en.as == nil {
		return en
	}
	obj, err := registry.Decode(en.as, en.Value, en.Revision)
	if err != nil { // it was read before, or its fields are the same: see registry.Kind.SameFields
		panic(fmt.Sprintf("apiserver: an object of the kind %s cannot be read as %s: %v", en.as.Kind, en.as.APIVersion, err))
	}
	en.Object, en.as = obj, nil
	return en
}

// Whole is the object, decoded if it was not.
func (en *Entry) Whole() runtime.Object { return en.object() }

// named is an object that says whose entry it is, whichever version it is of.
func (en *Entry) named() runtime.Object {
	if en.Object == nil {
		return en.object()
	}
	return en.Object
}

// object is the object in the cache's version.
func (en *Entry) object() runtime.Object { return en.whole().Object }
