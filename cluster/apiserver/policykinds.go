package apiserver

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
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
)

// policyKinds are the kinds that are served, as admission policies name them
// ([policy.Kinds]).
type policyKinds struct{ s *Server }

// Params is [policy.Kinds].
func (p policyKinds) Params(gvk schema.GroupVersionKind) (_ policy.Params, namespaced, ok bool) {
	for _, k := range p.s.Resources() {
		if k.GVK() == gvk && k.Stored() {
			return paramReader{s: p.s, kind: k}, k.Namespaced, true
		}
	}
	return nil, false, false
}

// GetTypeConverter is [policy.Kinds].
func (p policyKinds) GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	for _, k := range p.s.Resources() {
		if k.Custom != nil && k.GVK() == gvk {
			types, err := crd.Of(k).Definition().Types()
			if err != nil {
				return nil
			}
			return types
		}
	}
	return p.s.fields.Builtin()
}

// paramReader is the watch cache of a kind of parameters.
type paramReader struct {
	s         *Server
	kind      *registry.Kind
	namespace string
}

// Wait is [policy.Params].
func (p paramReader) Wait(t *sim.Task) { p.s.cacheOf(p.kind).Wait(t, 0, etcd3.TooNewWait) }

// ByNamespace is cache.GenericLister.
func (p paramReader) ByNamespace(namespace string) clientcache.GenericNamespaceLister {
	p.namespace = namespace
	return p
}

// Get is cache.GenericNamespaceLister.
func (p paramReader) Get(name string) (runtime.Object, error) {
	if en := p.s.cacheOf(p.kind).Get(p.kind.Key(p.namespace, name)); en != nil {
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
