package caches

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientcache "k8s.io/client-go/tools/cache"

	"kviz/cluster/apiserver/admission/policy"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
)

// PolicyKinds are the kinds that are served, as admission policies name them
// ([policy.Kinds]).
type PolicyKinds struct {
	*Caches
	Builtin func() managedfields.TypeConverter // of the built-in kinds
}

// Params is [policy.Kinds].
func (p PolicyKinds) Params(gvk schema.GroupVersionKind) (_ policy.Params, namespaced, ok bool) {
	for _, k := range p.Resources() {
		if k.GVK() == gvk && k.Stored() {
			return paramReader{c: p.Caches, kind: k}, k.Namespaced, true
		}
	}
	return nil, false, false
}

// GetTypeConverter is [policy.Kinds].
func (p PolicyKinds) GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	for _, k := range p.Resources() {
		if k.Custom != nil && k.GVK() == gvk {
			types, err := crd.Of(k).Definition().Types()
			if err != nil {
				return nil
			}
			return types
		}
	}
	return p.Builtin()
}

// paramReader is the watch cache of a kind of parameters.
type paramReader struct {
	c         *Caches
	kind      *registry.Kind
	namespace string
}

// Wait is [policy.Params].
func (p paramReader) Wait(t *sim.Task) { p.c.WaitFresh(t, p.kind) }

// ByNamespace is cache.GenericLister.
func (p paramReader) ByNamespace(namespace string) clientcache.GenericNamespaceLister {
	p.namespace = namespace
	return p
}

// Get is cache.GenericNamespaceLister.
func (p paramReader) Get(name string) (runtime.Object, error) {
	if en := p.c.Of(p.kind).Get(p.kind.Key(p.namespace, name)); en != nil {
		return en.Object, nil
	}
	return nil, apierrors.NewNotFound(p.kind.GroupResource(), name)
}

// List is cache.GenericNamespaceLister.
func (p paramReader) List(selector labels.Selector) ([]runtime.Object, error) {
	var out []runtime.Object
	p.c.Of(p.kind).Scan(p.namespace, func(_ string, en *cacher.Entry) bool {
		if selector.Matches(labels.Set(object.Meta(en.Object).GetLabels())) {
			out = append(out, en.Object)
		}
		return true
	})
	return out, nil
}
