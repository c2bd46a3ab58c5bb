package caches

import (
	"bytes"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Usage is which kinds on demand have had objects: what discovery, asked again and again,
// tells the controllers upstream. It belongs to the store, not to a server, and outlives
// the servers' processes: what was used once may still be.
type Usage struct {
	given map[string]bool  // keys that every cluster has: no use of their kind while nobody has changed them
	kinds []*registry.Kind // in the order in which they came into use
	more  sim.Cond

	balanced bool // there may have been a Service of type LoadBalancer

	custom map[string]bool // the custom kinds with objects, as "plural.group"
	state  uint64          // how often the custom kinds or their use have changed
}

// NewUsage is that of a new cluster. given are the keys of kinds on demand that every
// cluster has, whose first versions are no use of their kind.
func NewUsage(given ...string) *Usage {
	u := &Usage{given: map[string]bool{}, custom: map[string]bool{}}
	for _, key := range given {
		u.given[key] = true
	}
	return u
}

func (u *Usage) has(k *registry.Kind) bool { return slices.Contains(u.kinds, k) }

// Note takes down that an object of the kind was written, or found, at a key. Without a
// version it has gone.
func (u *Usage) Note(k *registry.Kind, kv *mvccpb.KeyValue) {
	switch {
	case k.OnDemand && k.Is("IPAddress") && (kv.Version == 0 || bytes.Contains(kv.Value, []byte(service.ManagedBy))):
		// The allocator's own are no use: every Service has one, and nobody follows them.
	case k.Custom != nil:
		if name := k.GroupResource().String(); !u.custom[name] {
			u.custom[name] = true
			u.CustomKindsMoved()
		}
	case k.OnDemand && !u.has(k) && !(u.given[string(kv.Key)] && kv.Version == 1):
		u.kinds = append(u.kinds, k)
		u.more.Broadcast()
	}
}

// NoteService takes down whether the Service that was written asks for a load balancer, as
// its bytes say it. Of one that is encrypted nobody knows.
func (u *Usage) NoteService(value []byte) {
	if !u.balanced && (bytes.Contains(value, []byte(corev1.ServiceTypeLoadBalancer)) || trace.Encrypted(value)) {
		u.MayBeBalanced()
	}
}

// MayBeBalanced notes that there may have been a Service of type LoadBalancer.
func (u *Usage) MayBeBalanced() {
	u.balanced = true
	u.more.Broadcast()
}

// AwaitBalanced is [client.Balance.AwaitBalanced].
func (u *Usage) AwaitBalanced(t *sim.Task) {
	for !u.balanced {
		u.more.Wait(t)
	}
}

// CustomKindsMoved notes that the custom kinds are others, or that one came into use.
func (u *Usage) CustomKindsMoved() {
	u.state++
	u.more.Broadcast()
}

// CustomKindFound notes of a custom kind that it may have had objects.
func (u *Usage) CustomKindFound(stored *registry.Kind) {
	u.custom[stored.GroupResource().String()] = true
}

// Again has those who wait for the custom kinds look again.
func (u *Usage) Again() { u.more.Broadcast() }

// UsedKinds is [client.Usage.UsedKinds].
func (u *Usage) UsedKinds() []client.Resource {
	out := make([]client.Resource, len(u.kinds))
	for i, k := range u.kinds {
		out[i] = k.Resource
	}
	return out
}

// AwaitUse is [client.Usage.AwaitUse].
func (u *Usage) AwaitUse(t *sim.Task, known int) []client.Resource {
	for len(u.kinds) <= known {
		u.more.Wait(t)
	}
	return u.UsedKinds()[known:]
}

// AwaitCustomKinds is [client.Usage.AwaitCustomKinds], of the server that ready gives; while
// it is nil nobody knows them.
func (u *Usage) AwaitCustomKinds(t *sim.Task, since uint64, ready func() *Caches) ([]client.CustomKind, uint64) {
	c := ready()
	for ; c == nil || u.state == since; c = ready() {
		u.more.Wait(t)
	}
	return c.cfg.Definitions.InUse(u.custom), u.state
}

// Describe names the API object behind what a commit did to a key, for the trace, and
// notes the use of its kind. It may be asked while no process of the server lives, and
// opens no cache.
func (c *Caches) Describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	k := c.kindOf(e.Kv.Key)
	if k == nil {
		return trace.Ref{}, nil
	}
	c.Usage.Note(k, e.Kv)
	if k.Resource == client.Services {
		c.Usage.NoteService(e.Kv.Value)
	}
	cache := c.Opened(k)
	if cache == nil { // nobody watches it: there is only what the bytes say
		cache = cacher.New(c.cfg.Cacher, k)
	}
	return cache.Describe(e)
}

// kindOf is the kind a key at the store belongs to; nil if to none.
func (c *Caches) kindOf(key []byte) *registry.Kind {
	if k := registry.KindOfKey(key); k != nil {
		return k
	}
	return c.cfg.Definitions.KindOf(key)
}
