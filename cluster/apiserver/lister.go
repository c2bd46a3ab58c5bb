package apiserver

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// lister reads objects from the watch caches, for those stages that live in packages of
// their own ([admission.Lister]).
type lister struct{ s *Server }

// Get is an object of a kind's watch cache; nil where it is not there.
func (l lister) Get(r client.Resource, namespace, name string) runtime.Object {
	k := registry.KindFor(r.GroupVersionResource)
	if en := l.s.cacheOf(k).Get(k.Key(namespace, name)); en != nil {
		return en.Object
	}
	return nil
}

// Each calls fn for the objects of a namespace ("" for all), until it returns false.
func (l lister) Each(r client.Resource, namespace string, fn func(runtime.Object) bool) {
	l.s.cacheOf(registry.KindFor(r.GroupVersionResource)).Scan(namespace, func(_ string, en *cacher.Entry) bool { return fn(en.Object) })
}

// Live is an object as the store has it; nil where there is none.
func (l lister) Live(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	k := registry.KindFor(r.GroupVersionResource)
	return l.s.store.Live(t, k, k.Key(namespace, name))
}

// Newest is what is known of the kind in the namespace, by key, counting
// what has become visible and is not taken in by the watch cache yet. Of a kind that
// nobody has used, or where there is nothing, it costs a look.
func (l lister) Newest(t *sim.Task, r client.Resource, namespace string) (all []runtime.Object, err error) {
	k := registry.KindFor(r.GroupVersionResource)
	if k.OnDemand && !l.s.InUse(k) {
		return nil, nil
	}
	return l.newest(t, k, namespace)
}

func (l lister) newest(t *sim.Task, k *registry.Kind, namespace string) (all []runtime.Object, err error) {
	cache := l.s.cacheOf(k)
	if !cache.Wait(t, 0, etcd3.TooNewWait) {
		return nil, errors.New("not yet ready to handle request")
	}
	cache.Newest(namespace, func(obj runtime.Object) { all = append(all, obj) })
	return all, nil
}
