package apiserver

import (
	"slices"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Kinds that nobody uses must not cost anything: their watch caches begin when
// somebody first asks for an object of theirs, and those who follow all kinds
// (the garbage collector, the namespace controller) are told of a kind when its
// first object is written.

// cacheOf is the watch cache of a kind. That of a kind on demand, or of a custom
// one, begins to fill when it is first asked for.
func (s *Server) cacheOf(k *registry.Kind) *cacher.Cache {
	if c := s.openCache(k); c != nil {
		return c
	}
	c := s.newCache(k)
	name := k.GroupVersionResource.Resource
	if k.Custom != nil {
		crd.Of(k).Cache = c
		name = k.GroupResource().String() + "/" + k.Version
	} else {
		s.caches[k] = c
		if k.Hub != nil {
			name = k.GroupResource().String() + "/" + k.Version
		}
	}
	s.p.Go("watch-cache/"+name, c.Run)
	s.openAtPeers(k)
	return c
}

// newCache makes the watch cache of a kind.
func (s *Server) newCache(k *registry.Kind) *cacher.Cache {
	c := cacher.New(s.cacheConfig(), k)
	c.Changed = s.authorizers.Follow(k.Resource)
	if k.SameFields {
		c.Hub = s.cacheOf(k.Hub)
	}
	return c
}

// openCache is the watch cache of a kind if it is open, else nil.
func (s *Server) openCache(k *registry.Kind) *cacher.Cache {
	if k.Custom != nil {
		return crd.Of(k).Cache
	}
	return s.caches[k]
}

// openCaches are those that watch the store.
func (s *Server) openCaches() []*cacher.Cache {
	var out []*cacher.Cache
	for _, k := range registry.Kinds {
		if c := s.caches[k]; c != nil {
			out = append(out, c)
		}
	}
	return append(out, s.customs.Open()...)
}

// usage is which kinds on demand have had objects. It outlives the server's
// process: what was used once may still be.
type usage struct {
	kinds []*registry.Kind // in the order in which they came into use
	more  sim.Cond

	custom map[string]bool // the custom kinds with objects, as "plural.group"
	state  uint64          // how often the custom kinds or their use have changed
}

// note takes down that an object of the kind was written, or found, at a key. The default
// ServiceCIDR, which every cluster has, is no use of its kind.
func (s *Server) note(k *registry.Kind, key []byte) {
	switch {
	case k.Custom != nil:
		if name := k.GroupResource().String(); !s.usage.custom[name] {
			s.usage.custom[name] = true
			s.CustomKindsMoved()
		}
	case k.OnDemand && !s.InUse(k) && !isServiceCIDR(key):
		s.usage.kinds = append(s.usage.kinds, k)
		s.usage.more.Broadcast()
	}
}

// InUse reports whether there are, or were, objects of a kind on demand.
func (s *Server) InUse(k *registry.Kind) bool { return slices.Contains(s.usage.kinds, k) }

// AwaitCustomKinds is [client.Usage.AwaitCustomKinds]. While the server is not
// ready it does not know them.
func (c *connection) AwaitCustomKinds(t *sim.Task, since uint64) ([]client.CustomKind, uint64) {
	s := c.s.peers.ready()
	for ; s == nil || s.usage.state == since; s = c.s.peers.ready() {
		c.s.usage.more.Wait(t)
	}
	return s.customs.InUse(s.usage.custom), s.usage.state
}

// UsedKinds is [client.Usage.UsedKinds].
func (c *connection) UsedKinds() []client.Resource {
	out := make([]client.Resource, len(c.s.usage.kinds))
	for i, k := range c.s.usage.kinds {
		out[i] = k.Resource
	}
	return out
}

// AwaitUse is [client.Usage.AwaitUse].
func (c *connection) AwaitUse(t *sim.Task, known int) []client.Resource {
	for len(c.s.usage.kinds) <= known {
		c.s.usage.more.Wait(t)
	}
	return c.UsedKinds()[known:]
}
