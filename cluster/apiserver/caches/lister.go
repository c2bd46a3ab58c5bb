package caches

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Get is an object of a kind's watch cache; nil where it is not there.
func (c *Caches) Get(r client.Resource, namespace, name string) runtime.Object {
	k := registry.KindFor(r.GroupVersionResource)
	if en := c.Of(k).Get(k.Key(namespace, name)); en != nil {
		return en.Object
	}
	return nil
}

// Each calls fn for the objects of a namespace ("" for all), until it returns false.
func (c *Caches) Each(r client.Resource, namespace string, fn func(runtime.Object) bool) {
	c.OfResource(r).Scan(namespace, func(_ string, en *cacher.Entry) bool { return fn(en.Object) })
}

// Live is an object as the store has it; nil where there is none.
func (c *Caches) Live(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	k := registry.KindFor(r.GroupVersionResource)
	return c.cfg.Live(t, k, k.Key(namespace, name))
}

// Newest is what is known of the kind in the namespace, by key, including what has
// become visible but is not in the watch cache yet. For a kind that nobody has used,
// or where there is nothing, it costs one look-up.
func (c *Caches) Newest(t *sim.Task, r client.Resource, namespace string) (all []runtime.Object, err error) {
	k := registry.KindFor(r.GroupVersionResource)
	if k.OnDemand && !c.InUse(k) {
		return nil, nil
	}
	if !c.WaitFresh(t, k) {
		return nil, errors.New("not yet ready to handle request")
	}
	c.Of(k).Newest(namespace, func(obj runtime.Object) { all = append(all, obj) })
	return all, nil
}

// WaitFresh waits until a kind's cache is filled, as long as a request waits for one
// (storage.ErrTooLargeResourceVersion). It reports whether it is.
func (c *Caches) WaitFresh(t *sim.Task, k *registry.Kind) bool {
	return c.Of(k).Wait(t, 0, etcd3.TooNewWait)
}
