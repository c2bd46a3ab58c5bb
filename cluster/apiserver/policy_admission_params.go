package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	clientcache "k8s.io/client-go/tools/cache"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
)

// paramReader is the watch cache of a kind of parameters, in the place of the
// informer that Kubernetes' policy code reads them from.
type paramReader struct {
	s         *Server
	kind      *registry.Kind
	namespace string
}

// Informer is informers.GenericInformer.
func (p paramReader) Informer() clientcache.SharedIndexInformer { return syncedInformer{} }

// Lister is informers.GenericInformer.
func (p paramReader) Lister() clientcache.GenericLister { return p }

// ByNamespace is cache.GenericLister.
func (p paramReader) ByNamespace(namespace string) clientcache.GenericNamespaceLister {
	p.namespace = namespace
	return p
}

// Get is cache.GenericNamespaceLister.
func (p paramReader) Get(name string) (runtime.Object, error) {
	if en := p.s.cacheOf(p.kind).Get(keyOf(p.kind, p.namespace, name)); en != nil {
		return en.Object, nil
	}
	return nil, apierrors.NewNotFound(p.kind.GroupResource(), name)
}

// List is cache.GenericNamespaceLister.
func (p paramReader) List(selector labels.Selector) ([]runtime.Object, error) {
	var out []runtime.Object
	p.s.cacheOf(p.kind).Scan(p.namespace, func(_ string, en *cacher.Entry) bool {
		if selector.Matches(labels.Set(object.Meta(en.Object).GetLabels())) {
			out = append(out, en.Object)
		}
		return true
	})
	return out, nil
}

// syncedInformer is an informer of which only one thing is asked: waitParams has
// waited before.
type syncedInformer struct {
	clientcache.SharedIndexInformer
}

// HasSynced is clientcache.SharedIndexInformer.
func (syncedInformer) HasSynced() bool { return true }

// waitParams waits until the caches of parameters are filled: those of custom
// kinds are opened by the first who asks.
func waitParams[P, B runtime.Object, E any](c *call, hooks []generic.PolicyHook[P, B, E]) {
	for _, h := range hooks {
		if p, ok := h.ParamInformer.(paramReader); ok {
			p.s.cacheOf(p.kind).Wait(c.Task, 0, tooNewWait)
		}
	}
}
